package dataflow

import (
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// What is kept of a row with a predicate's partners.
const (
	countWeight = iota
	countMatched
	countUnknown
	countWords
)

// partners counts, of each row of one side of a join, its weight, its partners and those that are NULL. A row stands behind its
// key, which decides the key group: so its counts are where its key's rows are.
type partners struct {
	table *state.Table
	n     int        // the side
	keyed *assembler // key and row; nil without keys
	asm   *assembler // the join's output from them
	rows  *zset.Batch
	one   *zset.Batch
	refs  []state.Ref
}

func newPartners(name string, s *JoinSpec, n int, t Tables) (*partners, error) {
	in := [2]JoinSide{s.Left, s.Right}[n]
	c, spec := &partners{n: n, asm: s.assembler()}, state.Spec{Key: in.Layout, Payload: countWords}
	if in.Keys != nil {
		key := in.Keys.Layout()
		c.keyed = newAssembler(key, in.Layout, false, nil)
		c.rows, c.one = zset.New(c.keyed.layout), zset.New(c.keyed.layout)
		c.asm = s.behind(n, c.keyed.layout, len(c.asm.layout.Types))
		spec.Key, spec.Group = c.keyed.layout, len(key.Types)
	}
	var err error
	c.table, err = t.Table(name, spec)
	return c, err
}

// behind is the assembler of the output, which has so many fields, when the rows of side n stand behind something in l.
func (s *JoinSpec) behind(n int, l *row.Layout, fields int) *assembler {
	t := *s
	side, first := &t.Left, 0
	if n == 1 {
		side, first = &t.Right, len(s.Left.Layout.Types)
	}
	more := len(l.Types) - len(side.Layout.Types)
	side.Layout = l
	t.Output = make([]int, fields)
	for i := range t.Output {
		if t.Output[i] = i; s.Output != nil {
			t.Output[i] = s.Output[i]
		}
		if t.Output[i] >= first {
			t.Output[i] += more
		}
	}
	return t.assembler()
}

// of is a row's ref.
func (c *partners) of(key []uint64, hk *row.Heap, r []uint64, h *row.Heap) state.Ref {
	if c.keyed != nil {
		c.one.Reset()
		c.keyed.pairs(c.one, 0, key, hk, 1, r, 1, nil, h)
		r, h = c.one.Row(0), c.one.Heap
	}
	ref, _ := c.table.Upsert(r, h)
	return ref
}

// all are the refs of rows, valid until the next call.
func (c *partners) all(keys, rows *zset.Batch) []state.Ref {
	if c.keyed != nil {
		c.rows.Reset()
		for i := range rows.Len() {
			c.keyed.pairs(c.rows, 0, keys.Row(i), keys.Heap, 1, rows.Row(i), 1, nil, rows.Heap)
		}
		rows = c.rows
	}
	c.refs = c.table.UpsertAll(rows, c.refs)
	return c.refs
}

// give appends a row by itself to the output.
func (c *partners) give(out *zset.Batch, ref state.Ref, w int64, v verdict) {
	c.asm.solo(out, c.n, c.table.Key(ref), 1, nil, w, c.table.Heap(), v)
}
