package dataflow

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// ordering puts order fields in front of rows: the entries of a table whose keys' entries are in that order.
type ordering struct {
	program  Program // nil: entries are rows, ordered by themselves
	entry    *assembler
	cut      *assembler // the row of an entry
	fields   int
	at       int // first word of the order fields of an entry
	words    int // of the order fields
	computed *zset.Batch
	entries  *zset.Batch
	bad      []int
}

func newOrdering(p Program, l *row.Layout) *ordering {
	order := row.NewLayout()
	if p != nil {
		order = p.Layout()
	}
	o := &ordering{program: p, fields: len(order.Types), words: order.Words - order.Nulls}
	o.entry = newAssembler(order, l, false, nil)
	o.at = o.entry.layout.Nulls
	output := make([]int, len(l.Types))
	for i := range output {
		output[i] = o.fields + i
	}
	o.cut = newAssembler(o.entry.layout, nil, false, output)
	o.computed, o.entries = zset.New(order), zset.New(o.entry.layout)
	return o
}

// arrange turns the prepared rows of a side into entries. Rows whose order cannot be computed are errors; those with a NULL in it
// are loose if nulls is set.
func (o *ordering) arrange(ctx context.Context, e *Epoch, s *side, nulls bool) error {
	if o.program == nil {
		return nil
	}
	o.computed.Reset()
	o.entries.Reset()
	o.bad = o.bad[:0]
	rows, keys := s.rows, s.keys
	err := o.program.Run(ctx, rows, o.computed, func(i int, err error) {
		o.bad = append(o.bad, i)
		e.Fail(rows, i, err)
	})
	if err != nil {
		return err
	}
	slices.Sort(o.bad)
	loose := func(k int) bool {
		for _, w := range o.computed.Row(k)[:o.computed.Layout.Nulls] {
			if w != 0 {
				return nulls
			}
		}
		return false
	}
	whole := len(o.bad) == 0
	for k := 0; whole && k < o.computed.Len(); k++ {
		whole = !loose(k)
	}
	var kept, came *zset.Batch
	if !whole {
		kept = &zset.Batch{Layout: keys.Layout, Heap: keys.Heap}
		came = &zset.Batch{Layout: rows.Layout, Heap: rows.Heap}
	}
	k, b := 0, 0
	for i := range rows.Len() {
		if b < len(o.bad) && o.bad[b] == i {
			b++
			continue
		}
		if whole || !loose(k) {
			o.entry.pairs(o.entries, 0, o.computed.Row(k), o.computed.Heap, rows.Weights[i], rows.Row(i), 1, nil, rows.Heap)
			if kept != nil {
				pickRow(kept, keys, i)
				pickRow(came, rows, i)
			}
		} else {
			pickRow(s.loose, rows, i)
		}
		k++
	}
	if kept != nil {
		s.keys, s.whole = kept, came
	}
	s.rows = o.entries
	return nil
}

// compare orders two rows by their order fields, which begin at word i of a and at word j of b.
func (o *ordering) compare(a []uint64, i int, ha *row.Heap, b []uint64, j int, hb *row.Heap) int {
	l := o.computed.Layout
	if l.Fixed() {
		return row.CompareWords(a[i:i+o.words], b[j:j+o.words])
	}
	for f, t := range l.Types {
		at, n := l.Off[f]-l.Nulls, t.Words()
		var c int
		if t.Var() {
			c = row.CompareVar(a[i+at], a[i+at+1], ha, b[j+at], b[j+at+1], hb)
		} else {
			c = row.CompareWords(a[i+at:i+at+n], b[j+at:j+at+n])
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// next makes the order fields at words the least that are greater, long values going to h; false if there are none. Between a
// text and itself with a zero byte behind there is nothing.
func (o *ordering) next(words []uint64, h *row.Heap) bool {
	l := o.computed.Layout
	for f := len(l.Types) - 1; f >= 0; f-- {
		at := l.Off[f] - l.Nulls
		if l.Types[f].Var() {
			b := row.AppendVar(nil, words[at], words[at+1], h)
			words[at], words[at+1] = row.PutVar(append(b, 0), h)
			return true
		}
		for i := at + l.Types[f].Words() - 1; i >= at; i-- {
			if words[i]++; words[i] != 0 {
				return true
			}
		}
	}
	return false
}
