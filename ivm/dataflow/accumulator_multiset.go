package dataflow

import (
	"fmt"
	"slices"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// A multiset is, for each group, the ordered multiset of some fields of its rows: what min, max, DISTINCT, ordered and
// re-evaluated functions need, since no sum can tell what is left when the least value goes. Its delta rule is addition:
//
//	m(A + dA) = m(A) + π(dA)
//
// Functions that need the same fields in the same order share one.
type multiset struct {
	entry   *projection
	filters []cell
	skip    []cell // a row that has NULL here does not count
	watch   bool   // first and last copies are wanted (DISTINCT)

	table *state.Table
	own   bool        // it lies in the groups' own table
	refs  []state.Ref // of the touched groups
	row   []uint64
	says  []int   // the fields of a prepared row that are its own
	below int     // entries with a negative weight
	turns []int64 // of each row: 1 if an entry came with it, −1 if one went, else 0

	// of a load
	entries       zset.Batch
	others        []state.Ref // of each row's group in a table that is not the groups'
	chosen        []state.Ref
	chosenWeights []int64
}

func newMultiset(entry *projection, l *row.Layout, filters, skip []int) *multiset {
	m := &multiset{entry: entry, row: make([]uint64, entry.layout.Words)}
	for _, f := range filters {
		m.filters = append(m.filters, cellOf(l, f))
	}
	for _, f := range skip {
		m.skip = append(m.skip, cellOf(l, f))
	}
	return m
}

// spec is what tells multisets apart.
func (m *multiset) spec() string { return fmt.Sprint(m.entry.moves, m.filters, m.skip) }

func (m *multiset) counts(r []uint64) bool {
	for i := range m.filters {
		c := &m.filters[i]
		if r[c.null]>>c.bit&1 != 0 || r[c.src] == 0 {
			return false
		}
	}
	for i := range m.skip {
		if c := &m.skip[i]; r[c.null]>>c.bit&1 != 0 {
			return false
		}
	}
	return true
}

// open finds groups, whose refs in the groups' own table are given, and puts their refs in m's to refs.
func (m *multiset) open(keys *zset.Batch, own, refs []state.Ref) {
	if m.own {
		copy(refs, own)
		return
	}
	m.table.UpsertAll(keys, refs)
}

// apply takes the changes in.
func (m *multiset) apply(c *changes) {
	if m.watch {
		m.turns = slices.Grow(m.turns[:0], len(c.slots))[:len(c.slots)]
		clear(m.turns)
	}
	plain := len(m.filters)+len(m.skip) == 0
	for i, s := range c.slots {
		r := c.words[i*c.stride : i*c.stride+c.stride]
		w := c.weights[i]
		if w == 0 || !plain && !m.counts(r) {
			continue
		}
		m.entry.row(m.row, r)
		before, after := m.table.Add(m.refs[s], m.row, c.heap, w)
		if before < 0 {
			m.below--
		}
		if after < 0 {
			m.below++
		}
		if m.watch {
			m.turns[i] = sign(after) - sign(before)
		}
	}
}

func sign(n int64) int64 {
	if n > 0 {
		return 1
	}
	return 0
}

// check says which row of b was taken back more often than it came.
func (m *multiset) check(b *zset.Batch, slots []uint32) error {
	if m.below == 0 {
		return nil
	}
	for i, s := range slots {
		if r := b.Row(i); m.counts(r) {
			m.entry.row(m.row, r)
			if n := m.table.Weight(m.refs[s], m.row, b.Heap); n < 0 {
				return excessOf(m.says, b.Layout, r, b.Heap, n)
			}
		}
	}
	return fault.ExcessRetraction.Newf("a row was taken back more often than it had come")
}

func excess(l *row.Layout, r []uint64, h *row.Heap, n int64) error {
	return fault.ExcessRetraction.Newf("the row (%s) was taken back %d times more often than it had come", l.Format(r, h), -n)
}

// excessOf is excess for a prepared row, of which these fields are its own.
func excessOf(fields []int, l *row.Layout, r []uint64, h *row.Heap, n int64) error {
	own := project(l, fields...)
	shown := make([]uint64, own.layout.Words)
	own.row(shown, r)
	return excess(own.layout, shown, h, n)
}

// forget drops a group that is gone.
func (m *multiset) forget(slot int) {
	if !m.own {
		m.table.Remove(m.refs[slot])
	}
}

// nth is the entry that copy k lies in, counted from 0; distinct counts entries.
func (m *multiset) nth(c *state.Cursor, ref state.Ref, k int64, distinct bool) []uint64 {
	if n := m.table.Len(ref); distinct || int64(n) == m.table.Total(ref) {
		e, _ := m.table.At(ref, int(k))
		return e
	}
	m.table.Scan(c, ref)
	w := m.entry.layout.Words
	for c.NextBlock() {
		if c.Weights == nil {
			if k < int64(c.N) {
				return c.Rows[int(k)*w : int(k)*w+w]
			}
			k -= int64(c.N)
			continue
		}
		for i := range c.N {
			if k < c.Weights[i] {
				return c.Rows[i*w : i*w+w]
			}
			k -= c.Weights[i]
		}
	}
	return nil
}

// size is how many copies there are; distinct counts entries.
func (m *multiset) size(ref state.Ref, distinct bool) int64 {
	if distinct {
		return int64(m.table.Len(ref))
	}
	return m.table.Total(ref)
}
