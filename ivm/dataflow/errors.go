package dataflow

import (
	"cmp"
	"slices"
	"sync"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// RowError is a row or group that has no value now.
type RowError struct {
	Node    int    // of the graph
	Row     string // its fields as text
	Message string
	Count   int64 // copies of the row
}

// errorSet is the errors of a graph as a Z-set, so that an error is there as long as its row is. With them lies what else
// the graph itself remembers: the clock of its last step.
type errorSet struct {
	mu    sync.Mutex // shards find errors side by side
	table *state.Table
	key   *zset.Batch
}

var graphKey = row.ParseLayout("BIGINT", "VARCHAR", "VARCHAR") // node, row, message

// clockNode stands for the graph in place of a node.
const clockNode = -1

func newErrorSet() *errorSet {
	s, _ := openErrorSet(Memory{}) // memory does not fail
	return s
}

func openErrorSet(t Tables) (*errorSet, error) {
	table, err := t.Table("graph", state.Spec{Key: graphKey, Payload: 1})
	return &errorSet{table: table, key: zset.New(graphKey)}, err
}

// find gives a key's record, which is made if it is not there and create says so.
func (s *errorSet) find(node int, text, message string, create bool) (state.Ref, bool) {
	s.key.Reset()
	r := s.key.AppendRow(1)
	graphKey.Set(r, 0, uint64(int64(node)))
	graphKey.SetBytes(r, 1, []byte(text), s.key.Heap)
	graphKey.SetBytes(r, 2, []byte(message), s.key.Heap)
	if create {
		ref, _ := s.table.Upsert(r, s.key.Heap)
		return ref, true
	}
	return s.table.Find(r, s.key.Heap)
}

func (s *errorSet) add(node int, text, message string, weight int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ref, _ := s.find(node, text, message, true)
	p := s.table.Payload(ref)
	if p[0] += uint64(weight); p[0] == 0 {
		s.table.Remove(ref)
	}
}

// list is the errors that there are, in a fixed order.
func (s *errorSet) list() []RowError {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []RowError
	var buf [2][row.Inline]byte
	s.table.Each(func(ref state.Ref) bool {
		k, h := s.table.Key(ref), s.table.Heap()
		if node := int(int64(k[graphKey.Off[0]])); node != clockNode {
			text, message := graphKey.Bytes(k, 1, h, buf[0][:]), graphKey.Bytes(k, 2, h, buf[1][:])
			out = append(out, RowError{node, string(text), string(message), int64(s.table.Peek(ref)[0])})
		}
		return true
	})
	slices.SortFunc(out, func(a, b RowError) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Message, b.Message))
	})
	return out
}

// clock is that of the last step; ok is false before the first.
func (s *errorSet) clock() (now int64, ok bool) {
	ref, ok := s.find(clockNode, "", "", false)
	if !ok {
		return 0, false
	}
	return int64(s.table.Peek(ref)[0]), true
}

func (s *errorSet) setClock(now int64) {
	ref, _ := s.find(clockNode, "", "", true)
	if p := s.table.Peek(ref); p[0] != uint64(now) {
		s.table.Payload(ref)[0] = uint64(now)
	}
}
