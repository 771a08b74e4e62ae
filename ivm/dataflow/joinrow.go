package dataflow

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// rowJoin is a join with a predicate P, with or without keys. Of each row of a side whose rows are given by themselves, the
// number of partners is kept: n(a) = the sum over b of its key of weight(b), where P(a, b) is true. Likewise, for a mark that
// is NULL, the number of those for which P is NULL.
//
//	d(A ⋈ B) = P(dA × B) + P((A + dA) × dB)
//	dn(a)    = the sum over b of P(a, b) · dB(b)
//	d(A · V(n)) = dA · V(n) + (A + dA) · (V(n + dn) - V(n)),  V: the verdict
//
// A row behind the watermarks of both sides changes nothing any more and is let go (joinclosing.go).
//
// As in keyJoin one input is taken in after the other. A row's counts are made from all pairs when it comes, and from the
// other side's changes from then on.
type rowJoin struct {
	sides  [2]side
	rules  [2]rule
	counts [2]*partners // nil: rows of the side are not given by themselves
	pairs  bool
	aware  bool
	asm    *assembler
	give   *assembler // from a whole pair
	cand   *candidates

	found    [][2]int64  // of each prepared row: partners, and those that are NULL
	closings [2]*closing // nil: rows of the side stay

	flips []uint64 // ref<<32 | number<<2 | verdict before
	mute  *zset.Batch
}

func newRowJoin(name string, s JoinSpec, t Tables) (Loader, error) {
	j := &rowJoin{rules: s.Kind.rules(), pairs: s.Kind.pairs(), aware: s.NullAware, asm: s.assembler(), cand: newCandidates(&s)}
	if j.pairs {
		j.give = newAssembler(j.cand.asm.layout, nil, false, s.Output)
	}
	j.mute = zset.New(j.asm.layout)
	for n, in := range []JoinSide{s.Left, s.Right} {
		suffix := []string{".left", ".right"}[n]
		if err := j.sides[n].open(name+suffix, in, s.NullSafe, false, t); err != nil {
			return nil, err
		}
		if j.rules[n].watched() {
			var err error
			if j.counts[n], err = newPartners(name+suffix+".partners", &s, n, t); err != nil {
				return nil, err
			}
		}
		if c := s.Closings[n]; c != nil {
			j.closings[n] = newClosing(c, in.Layout)
			if err := j.closings[n].open(&j.sides[n]); err != nil {
				return nil, err
			}
		}
	}
	return j, nil
}

func (j *rowJoin) Layout() *row.Layout { return j.asm.layout }

// Cancels is true: a change of both sides may give a row and take it back.
func (j *rowJoin) Cancels() bool { return true }

func (j *rowJoin) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	for s := range j.sides {
		if in[s].Len() == 0 {
			continue
		}
		if err := j.port(ctx, e, s, in[s], out, false); err != nil {
			return err
		}
	}
	for n, c := range j.closings {
		if c == nil {
			continue
		}
		if err := c.letGo(ctx, &j.sides[n], j.counts[n]); err != nil {
			return err
		}
	}
	return j.stored()
}

func (j *rowJoin) stored() error {
	tables := []*state.Table{j.sides[0].table, j.sides[1].table}
	for _, c := range j.counts {
		if c != nil {
			tables = append(tables, c.table)
		}
	}
	return stores(tables...)
}

func (j *rowJoin) port(ctx context.Context, e *Epoch, n int, in *zset.Batch, out *zset.Batch, loading bool) error {
	s, o := &j.sides[n], &j.sides[1-n]
	if err := s.prepare(ctx, e, in); err != nil {
		return err
	}
	if l := s.loose; j.rules[n][unmatched] && l.Len() > 0 {
		if loading {
			s.pending.AppendBatch(l)
		} else {
			j.asm.solo(out, n, l.Words, l.Len(), l.Weights, 1, l.Heap, unmatched)
		}
	}
	s.others = o.table.FindAll(s.keys, s.others)
	j.found = slices.Grow(j.found[:0], s.rows.Len())[:s.rows.Len()]
	clear(j.found)
	j.flips = j.flips[:0]
	counts := j.counts[1-n]
	err := j.cand.each(ctx, e, n, s.rows, s.others, o.table, true, func(p pair) {
		if p.verdict == matched {
			j.found[p.who][0] += p.theirs
			if j.pairs {
				j.join(out, p)
			}
		} else {
			j.found[p.who][1] += p.theirs
		}
		if counts != nil {
			j.partner(counts, 1-n, s.keys, p)
		}
	})
	if err != nil {
		return err
	}
	if counts != nil {
		j.settle(counts, 1-n, out)
	}
	if j.counts[n] != nil {
		j.arrive(n, out)
	}
	if c := j.closings[n]; c != nil {
		if err := c.note(ctx, s.rows); err != nil {
			return err
		}
	}
	s.take()
	return s.finish()
}

// join gives a pair.
func (j *rowJoin) join(out *zset.Batch, p pair) {
	c := j.cand.rows
	j.give.solo(out, 0, c.Row(p.i), 1, nil, p.mine*p.theirs, c.Heap, unmatched)
}

func (j *rowJoin) verdict(p []uint64) verdict {
	switch {
	case p[countMatched] != 0:
		return matched
	case j.aware && p[countUnknown] != 0:
		return unknown
	}
	return unmatched
}

// partner counts a pair for its row of side n, which is in the state. keys are those of the other side's rows, and the pair's.
func (j *rowJoin) partner(counts *partners, n int, keys *zset.Batch, p pair) {
	r, h := j.cand.half(p.i, n)
	ref := counts.of(keys.Row(p.who), keys.Heap, r, h)
	c := counts.table.Payload(ref)
	before := j.verdict(c)
	if p.verdict == matched {
		c[countMatched] += uint64(p.mine)
	} else {
		c[countUnknown] += uint64(p.mine)
	}
	if j.verdict(c) != before {
		j.flips = append(j.flips, uint64(ref)<<32|uint64(len(j.flips))<<2|uint64(before))
	}
}

// settle gives what changes for the rows of side n whose verdict has.
func (j *rowJoin) settle(counts *partners, n int, out *zset.Batch) {
	slices.Sort(j.flips)
	last := state.None
	for _, x := range j.flips {
		ref := state.Ref(x >> 32)
		if ref == last {
			continue
		}
		last = ref
		c := counts.table.Peek(ref)
		before, now := verdict(x&3), j.verdict(c)
		if before == now {
			continue
		}
		for _, v := range [2]struct {
			verdict verdict
			sign    int64
		}{{before, -1}, {now, 1}} {
			if j.rules[n][v.verdict] {
				counts.give(out, ref, v.sign*int64(c[countWeight]), v.verdict)
			}
		}
	}
}

// arrive keeps the counts of the prepared rows of side n, and gives the rows.
func (j *rowJoin) arrive(n int, out *zset.Batch) {
	s, counts := &j.sides[n], j.counts[n].table
	own := j.counts[n].all(s.keys, s.rows)
	gone := false
	for i, ref := range own {
		c := counts.Payload(ref)
		c[countWeight] += uint64(s.rows.Weights[i])
		c[countMatched], c[countUnknown] = uint64(j.found[i][0]), uint64(j.found[i][1])
		gone = gone || c[countWeight] == 0
		if v := j.verdict(c); j.rules[n][v] {
			j.asm.solo(out, n, s.rows.Row(i), 1, nil, s.rows.Weights[i], s.rows.Heap, v)
		}
	}
	if !gone {
		return
	}
	slices.Sort(own)
	for _, ref := range slices.Compact(own) {
		if counts.Peek(ref)[countWeight] == 0 {
			counts.Remove(ref)
		}
	}
}

// Load counts partners as a step does, against what is loaded of the other side.
func (j *rowJoin) Load(ctx context.Context, e *Epoch, i int, rows *zset.Batch) error {
	err := j.port(ctx, e, i, rows, j.mute, true)
	j.mute.Reset()
	if err != nil {
		return err
	}
	return j.stored()
}

func (j *rowJoin) Emit(ctx context.Context, e *Epoch, out *zset.Batch) error {
	for n := range j.sides {
		j.sides[n].emitPending(j.asm, n, out)
		counts := j.counts[n]
		if counts == nil {
			continue
		}
		counts.table.Each(func(ref state.Ref) bool {
			c := counts.table.Peek(ref)
			if v := j.verdict(c); j.rules[n][v] {
				counts.give(out, ref, int64(c[countWeight]), v)
			}
			return true
		})
	}
	if !j.pairs {
		return j.stored()
	}
	// The predicate's errors were reported when the rows were loaded.
	err := eachKey(&j.sides[0], &j.sides[1], func(rows *zset.Batch, refs []state.Ref) error {
		return j.cand.each(ctx, e, 0, rows, refs, j.sides[1].table, false, func(p pair) {
			if p.verdict == matched {
				j.join(out, p)
			}
		})
	})
	if err != nil {
		return err
	}
	return j.stored()
}

// eachKey calls f with all rows of a, in batches, and with the refs of their keys in b.
func eachKey(a, b *side, f func(rows *zset.Batch, refs []state.Ref) error) error {
	rows := zset.New(a.layout)
	var refs []state.Ref
	var cur state.Cursor
	var err error
	flush := func() {
		if err == nil && rows.Len() > 0 {
			err = f(rows, refs)
		}
		rows.Reset()
		refs = refs[:0]
	}
	a.table.Each(func(ref state.Ref) bool {
		partner, _ := b.table.Find(a.table.Key(ref), a.table.Heap())
		for a.table.Scan(&cur, ref); cur.Next(); {
			rows.Append(cur.Row(), a.table.Heap(), cur.Weight())
			if refs = append(refs, partner); len(refs) >= pairsAtOnce {
				flush()
			}
		}
		return err == nil
	})
	flush()
	return err
}
