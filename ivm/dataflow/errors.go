package dataflow

import (
	"cmp"
	"slices"
	"sync"
)

// RowError is a row or group that has no value now.
type RowError struct {
	Node    int    // of the graph
	Row     string // its fields as text
	Message string
	Count   int64 // copies of the row
}

// errorSet is the errors of a graph as a Z-set: an error is there as long as its row is.
type errorSet struct {
	mu     sync.Mutex         // shards find errors side by side
	counts map[RowError]int64 // Count is 0 in the key
}

func newErrorSet() *errorSet { return &errorSet{counts: map[RowError]int64{}} }

func (s *errorSet) add(node int, row, message string, weight int64) {
	k := RowError{Node: node, Row: row, Message: message}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.counts[k] + weight; n != 0 {
		s.counts[k] = n
	} else {
		delete(s.counts, k)
	}
}

// list is the errors that there are, in a fixed order.
func (s *errorSet) list() []RowError {
	out := make([]RowError, 0, len(s.counts))
	for k, n := range s.counts {
		k.Count = n
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b RowError) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Message, b.Message))
	})
	return out
}
