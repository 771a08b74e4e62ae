package dataflow

import (
	"context"
	"errors"
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// single is the join of a scalar subquery. f(a) is a padded, a with its only partner, or, when it has several, the error that
// the subquery gives more than one row. The error has the weight of a: it heals when a goes or when at most one partner is left.
//
//	d(f(A, B)) = f(dA, B) + f(T, B + dB) - f(T, B)
//
// with T the rows of A + dA that dB may touch: those of its keys or, if there is a predicate, those that it is not false for.
type single struct {
	sides [2]side
	asm   *assembler
	give  *assembler  // from a whole pair
	cand  *candidates // nil without a predicate
	cur   state.Cursor

	touched *zset.Batch
	refs    []state.Ref
	found   []int64
	passed  []int32 // row of kept, -1 for none
	kept    *zset.Batch
}

var errSeveralRows = errors.New("More than one row returned by a subquery used as an expression")

func newSingle(name string, s JoinSpec, t Tables) (Loader, error) {
	j := &single{asm: s.assembler(), touched: zset.New(s.Left.Layout)}
	if s.Predicate != nil {
		j.cand = newCandidates(&s)
		j.give = newAssembler(j.cand.asm.layout, nil, false, s.Output)
		j.kept = zset.New(j.cand.asm.layout)
	}
	if err := j.sides[0].open(name+".left", s.Left, s.NullSafe, false, t); err != nil {
		return nil, err
	}
	return j, j.sides[1].open(name+".right", s.Right, s.NullSafe, false, t)
}

func (j *single) Layout() *row.Layout { return j.asm.layout }

// Cancels is true: rows that are touched are taken back and given again.
func (j *single) Cancels() bool { return true }

func (j *single) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	left, right := &j.sides[0], &j.sides[1]
	if in[0].Len() > 0 {
		if err := left.prepare(ctx, e, in[0]); err != nil {
			return err
		}
		if l := left.loose; l.Len() > 0 {
			j.asm.solo(out, 0, l.Words, l.Len(), l.Weights, 1, l.Heap, unmatched)
		}
		j.refs = right.table.FindAll(left.keys, j.refs)
		if err := j.content(ctx, e, left.rows, j.refs, 1, true, out); err != nil {
			return err
		}
		left.take()
		if err := left.finish(); err != nil {
			return err
		}
	}
	if in[1].Len() == 0 {
		return stores(left.table, right.table)
	}
	if err := right.prepare(ctx, e, in[1]); err != nil {
		return err
	}
	right.others = left.table.FindAll(right.keys, right.others)
	if err := j.touch(ctx, e); err != nil {
		return err
	}
	if err := j.again(ctx, e, -1, out); err != nil {
		return err
	}
	right.take()
	if err := right.finish(); err != nil {
		return err
	}
	if err := j.again(ctx, e, 1, out); err != nil {
		return err
	}
	return stores(left.table, right.table)
}

// touch collects the left rows that the prepared right rows may be partners of, each once with its weight.
func (j *single) touch(ctx context.Context, e *Epoch) error {
	left, right := &j.sides[0], &j.sides[1]
	j.touched.Reset()
	if j.cand == nil {
		slices.Sort(right.others)
		for _, ref := range slices.Compact(right.others) {
			if ref == state.None {
				continue
			}
			for left.table.Scan(&j.cur, ref); j.cur.Next(); {
				j.touched.Append(j.cur.Row(), left.table.Heap(), j.cur.Weight())
			}
		}
		return nil
	}
	err := j.cand.each(ctx, e, 1, right.rows, right.others, left.table, true, func(p pair) {
		if p.verdict == matched {
			r, h := j.cand.half(p.i, 0)
			j.touched.Append(r, h, 1)
		}
	})
	if err != nil {
		return err
	}
	j.touched.Consolidate()
	if err := left.prepare(ctx, e, j.touched); err != nil {
		return err
	}
	j.refs = left.table.FindAll(left.keys, j.refs)
	for i, ref := range j.refs {
		j.touched.Weights[i] = left.table.Weight(ref, j.touched.Row(i), j.touched.Heap)
	}
	return nil
}

// again gives the content of the touched rows, or takes it back.
func (j *single) again(ctx context.Context, e *Epoch, sign int64, out *zset.Batch) error {
	if j.touched.Len() == 0 {
		return nil
	}
	left := &j.sides[0]
	if err := left.prepare(ctx, e, j.touched); err != nil {
		return err
	}
	j.refs = j.sides[1].table.FindAll(left.keys, j.refs)
	return j.content(ctx, e, j.touched, j.refs, sign, false, out)
}

// content gives f of rows, whose keys are refs in the right side's table. report says that errors of the predicate are new.
func (j *single) content(ctx context.Context, e *Epoch, rows *zset.Batch, refs []state.Ref, sign int64, report bool, out *zset.Batch) error {
	t, w := j.sides[1].table, j.sides[0].layout.Words
	if j.cand != nil {
		j.found = slices.Grow(j.found[:0], rows.Len())[:rows.Len()]
		j.passed = slices.Grow(j.passed[:0], rows.Len())[:rows.Len()]
		clear(j.found)
		j.kept.Reset()
		err := j.cand.each(ctx, e, 0, rows, refs, t, report, func(p pair) {
			if p.verdict != matched {
				return
			}
			if j.found[p.who] += p.theirs; j.found[p.who] == 1 {
				j.passed[p.who] = int32(j.kept.Len())
				j.kept.Append(j.cand.rows.Row(p.i), j.cand.rows.Heap, 1)
			}
		})
		if err != nil {
			return err
		}
	}
	for i, ref := range refs {
		n := int64(0)
		if j.cand != nil {
			n = j.found[i]
		} else if ref != state.None {
			n = t.Total(ref)
		}
		one, weight := rows.Words[i*w:i*w+w], sign*rows.Weights[i]
		switch {
		case n == 0:
			j.asm.solo(out, 0, one, 1, nil, weight, rows.Heap, unmatched)
		case n > 1:
			e.FailGroup(rows.Layout.Format(one, rows.Heap), errSeveralRows, weight)
		case j.cand != nil:
			j.give.solo(out, 0, j.kept.Row(int(j.passed[i])), 1, nil, weight, j.kept.Heap, unmatched)
		default:
			only, _ := t.First(ref)
			j.asm.pairs(out, 0, one, rows.Heap, weight, only, 1, nil, t.Heap())
		}
	}
	return nil
}

func (j *single) Load(ctx context.Context, e *Epoch, i int, rows *zset.Batch) error {
	return j.sides[i].load(ctx, e, rows, i == 0)
}

// Emit reports the errors, too: they depend on both sides.
func (j *single) Emit(ctx context.Context, e *Epoch, out *zset.Batch) error {
	packed(j.sides[0].table, j.sides[1].table)
	j.sides[0].emitPending(j.asm, 0, out)
	err := eachKey(&j.sides[0], &j.sides[1], func(rows *zset.Batch, refs []state.Ref) error {
		return j.content(ctx, e, rows, refs, 1, true, out)
	})
	if err != nil {
		return err
	}
	return stores(j.sides[0].table, j.sides[1].table)
}
