package dataflow

import (
	"context"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// pairsAtOnce is how many candidate pairs a predicate is asked about in one call.
const pairsAtOnce = 2048

// candidates evaluates a join's predicate over pairs of rows.
type candidates struct {
	predicate Program
	asm       *assembler // of whole pairs
	cut       [2]*assembler
	rows      *zset.Batch // the candidates
	who       []int32     // which prepared row each is of
	mine      []int64     // that row's weight
	theirs    []int64     // the other row's weight
	answers   *zset.Batch
	cur       state.Cursor
	scratch   [2]*zset.Batch // one row of each side
}

// pair is a candidate that is not false.
type pair struct {
	i            int // in candidates.rows
	who          int
	mine, theirs int64
	verdict      verdict // matched or unknown
}

func newCandidates(s *JoinSpec) *candidates {
	c := &candidates{predicate: s.Predicate, asm: newAssembler(s.Left.Layout, s.Right.Layout, false, nil)}
	c.rows, c.answers = zset.New(c.asm.layout), zset.New(s.Predicate.Layout())
	n := len(s.Left.Layout.Types)
	for i, l := range []*row.Layout{s.Left.Layout, s.Right.Layout} {
		fields := make([]int, len(l.Types))
		for f := range fields {
			fields[f] = i*n + f
		}
		c.cut[i] = newAssembler(c.asm.layout, nil, false, fields)
		c.scratch[i] = zset.New(l)
	}
	return c
}

// each calls f for each pair of a row of side n and a row of its key in t that is not known not to join. refs are the keys. Pairs
// that the predicate has no answer for are errors if report is set.
func (c *candidates) each(ctx context.Context, e *Epoch, n int, rows *zset.Batch, refs []state.Ref, t *state.Table, report bool, f func(pair)) error {
	c.reset()
	for i, ref := range refs {
		if ref == state.None {
			continue
		}
		for t.Scan(&c.cur, ref); c.cur.NextBlock(); {
			c.asm.pairs(c.rows, n, rows.Row(i), rows.Heap, 1, c.cur.Rows, c.cur.N, c.cur.Weights, t.Heap())
			for range c.cur.N {
				c.who = append(c.who, int32(i))
				c.mine = append(c.mine, rows.Weights[i])
			}
			if c.rows.Len() >= pairsAtOnce {
				if err := c.ask(ctx, e, report, f); err != nil {
					return err
				}
				c.reset()
			}
		}
	}
	return c.ask(ctx, e, report, f)
}

func (c *candidates) reset() {
	c.rows.Reset()
	c.who, c.mine = c.who[:0], c.mine[:0]
}

// ask evaluates the predicate. A row's weight passes through a program, so that the pairs' numbers serve as weights.
func (c *candidates) ask(ctx context.Context, e *Epoch, report bool, f func(pair)) error {
	if c.rows.Len() == 0 {
		return nil
	}
	c.theirs = append(c.theirs[:0], c.rows.Weights...)
	for i := range c.rows.Weights {
		c.rows.Weights[i] = int64(i + 1)
	}
	c.answers.Reset()
	err := c.predicate.Run(ctx, c.rows, c.answers, func(i int, err error) {
		if report {
			e.FailGroup(c.asm.layout.Format(c.rows.Row(i), c.rows.Heap), err, c.mine[i]*c.theirs[i])
		}
	})
	if err != nil {
		return err
	}
	l := c.answers.Layout
	for k, at := range c.answers.Weights {
		r, i := c.answers.Row(k), int(at-1)
		v := unknown
		if !l.IsNull(r, 0) {
			if r[l.Off[0]] == 0 {
				continue
			}
			v = matched
		}
		f(pair{i: i, who: int(c.who[i]), mine: c.mine[i], theirs: c.theirs[i], verdict: v})
	}
	return nil
}

// half is the row of side n in candidate i, valid until the next call.
func (c *candidates) half(i, n int) ([]uint64, *row.Heap) {
	b := c.scratch[n]
	b.Words, b.Weights = b.Words[:0], b.Weights[:0]
	dst := c.cut[n].rows(b, 1)
	clear(dst)
	c.cut[n].parts[0].put(dst, c.rows.Row(i))
	return dst, c.rows.Heap
}
