package dataflow

import (
	"cmp"
	"context"
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// keyJoin is a join whose condition is equality of keys alone, or that has no condition. Partners of a row are all rows of its
// key, so whether it has one is a property of the key.
//
//	d(A ⋈ B) = dA ⋈ B + (A + dA) ⋈ dB
//
// Rows given by themselves (padded, of a semi or anti join, marked), with E(B) = "B has rows of the key" as 0 or 1:
//
//	d(A · E(B)) = dA · E(B) + (A + dA) · (E(B + dB) - E(B))
//
// so one input is taken in after the other: its changes meet what the other side has; they are added to the state; then, for
// keys that got their first row or lost their last, the other side's rows change sides. With both sides kept (FULL) the two
// rules are one another's mirror image.
//
// A row whose key has a NULL that equals nothing has no partner, now or later: it passes through, and there is no state of it.
// A key behind the watermarks of both sides changes nothing any more and is let go (joinkeyclosing.go).
type keyJoin struct {
	sides [2]side
	rules [2]rule
	pairs bool
	asm   *assembler
	cur   state.Cursor
	other state.Cursor
	ends  *keyEnds // nil: keys stay
}

func newKeyJoin(name string, s JoinSpec, t Tables) (Loader, error) {
	j := &keyJoin{rules: s.Kind.rules(), pairs: s.Kind.pairs()}
	inputs := j.narrow(&s)
	right := inputs[1]
	if !j.pairs {
		right = nil
	}
	j.asm = newAssembler(inputs[0], right, s.Kind == JoinMark, s.Output)
	// Rows of which nothing is given are counted.
	if err := j.sides[0].open(name+".left", s.Left, s.NullSafe, len(inputs[0].Types) == 0, t); err != nil {
		return nil, err
	}
	if s.KeyClosing.Floor != nil {
		j.ends = newKeyEnds(s.KeyClosing, s.Left.Keys.Layout())
	}
	return j, j.sides[1].open(name+".right", s.Right, s.NullSafe, !j.pairs || len(inputs[1].Types) == 0, t)
}

// narrow drops the fields that are not given: keys are kept apart, and rows that differ in what nobody sees are equal. The
// output is made to refer to what is left.
func (j *keyJoin) narrow(s *JoinSpec) [2]*row.Layout {
	inputs := [2]*row.Layout{s.Left.Layout, s.Right.Layout}
	if s.Output == nil {
		return inputs
	}
	sides := inputs[:]
	if !j.pairs {
		sides = inputs[:1]
	}
	place, first, gone := map[int]int{}, 0, 0
	for n, l := range sides {
		fields := []int{} // not nil, which would be all
		for f := range l.Types {
			if slices.Contains(s.Output, first+f) {
				place[first+f] = first + f - gone
				fields = append(fields, f)
			} else {
				gone++
			}
		}
		first += len(l.Types)
		switch {
		case s.Sums[n]:
			j.sides[n].sums, j.sides[n].summary = newSums(l, fields), s.summaries[n]
			inputs[n] = j.sides[n].sums.layout
		case len(fields) < len(l.Types):
			inputs[n] = j.sides[n].keep(l, fields)
		}
	}
	place[first] = first - gone // the mark
	output := make([]int, len(s.Output))
	for i, f := range s.Output {
		output[i] = place[f]
	}
	s.Output = output
	return inputs
}

func (j *keyJoin) Layout() *row.Layout { return j.asm.layout }

// Cancels is true: a change of both sides may give a row and take it back, in pairs and in padding.
func (j *keyJoin) Cancels() bool { return true }

func (j *keyJoin) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	for s := range j.sides {
		if in[s].Len() == 0 {
			continue
		}
		if err := j.port(ctx, e, s, in[s], out); err != nil {
			return err
		}
	}
	if j.ends != nil {
		j.ends.letGo(ctx, &j.sides)
	}
	return stores(j.sides[0].table, j.sides[1].table)
}

func (j *keyJoin) port(ctx context.Context, e *Epoch, n int, in *zset.Batch, out *zset.Batch) error {
	s, o := &j.sides[n], &j.sides[1-n]
	if err := s.prepare(ctx, e, in); err != nil {
		return err
	}
	if l := s.loose; j.rules[n][unmatched] && l.Len() > 0 {
		j.asm.solo(out, n, l.Words, l.Len(), l.Weights, 1, l.Heap, unmatched)
	}
	s.others = o.table.FindAll(s.keys, s.others)
	if j.pairs || j.rules[n].watched() {
		j.meet(n, out)
	}
	s.take()
	if j.ends != nil {
		j.ends.note(s)
	}
	if r := j.rules[1-n]; r.watched() {
		s.flipped(func(i int, now bool) {
			if ref := s.others[i]; ref != state.None {
				j.turn(1-n, ref, now, out)
			}
		})
	}
	return s.finish()
}

// meet gives what the prepared rows of a side are together with the other side.
func (j *keyJoin) meet(n int, out *zset.Batch) {
	s, o := &j.sides[n], &j.sides[1-n]
	r, rows, w := j.rules[n], s.rows, s.layout.Words
	for i, ref := range s.others {
		one := rows.Words[i*w : i*w+w]
		if ref == state.None {
			if r[unmatched] {
				j.asm.solo(out, n, one, 1, nil, rows.Weights[i], rows.Heap, unmatched)
			}
			continue
		}
		if r[matched] {
			j.asm.solo(out, n, one, 1, nil, rows.Weights[i], rows.Heap, matched)
		}
		if !j.pairs {
			continue
		}
		for more := o.first(&j.cur, ref); more; more = o.next(&j.cur) {
			j.asm.pairs(out, n, one, rows.Heap, rows.Weights[i], j.cur.Rows, j.cur.N, j.cur.Weights, o.table.Heap())
		}
	}
}

// turn gives what changes for the rows of a key of side n when the other side got its first row or lost its last.
func (j *keyJoin) turn(n int, ref state.Ref, now bool, out *zset.Batch) {
	s, r := &j.sides[n], j.rules[n]
	sign := int64(-1)
	if now {
		sign = 1
	}
	for more := s.first(&j.cur, ref); more; more = s.next(&j.cur) {
		if r[unmatched] {
			j.asm.solo(out, n, j.cur.Rows, j.cur.N, j.cur.Weights, -sign, s.table.Heap(), unmatched)
		}
		if r[matched] {
			j.asm.solo(out, n, j.cur.Rows, j.cur.N, j.cur.Weights, sign, s.table.Heap(), matched)
		}
	}
}

func (j *keyJoin) Load(ctx context.Context, e *Epoch, i int, rows *zset.Batch) error {
	return j.sides[i].load(ctx, e, rows, j.rules[i][unmatched])
}

// emits is exact where keys have many rows; to find every key's partner is as dear as what it saves where they have few.
func (j *keyJoin) emits() int {
	left, right := &j.sides[0], &j.sides[1]
	packed(left.table, right.table)
	n := left.pending.Len() + right.pending.Len()
	if !j.pairs || left.table.Keys() > manyKeys {
		return n
	}
	left.table.Each(func(ref state.Ref) bool {
		if partner, has := right.table.Find(left.table.Key(ref), left.table.Heap()); has {
			n += left.size(ref) * right.size(partner)
		} else if j.rules[0][unmatched] {
			n += left.size(ref)
		}
		return true
	})
	if j.rules[1][unmatched] {
		right.table.Each(func(ref state.Ref) bool {
			if _, has := left.table.Find(right.table.Key(ref), right.table.Heap()); !has {
				n += right.size(ref)
			}
			return true
		})
	}
	return n
}

// manyKeys is from how many keys on what they are to emit is not counted.
const manyKeys = 1 << 18

func (j *keyJoin) Emit(_ context.Context, e *Epoch, out *zset.Batch) error {
	left, right := &j.sides[0], &j.sides[1]
	packed(left.table, right.table)
	if e.full == nil && cap(out.Weights) == 0 {
		roomFor(j, out)
	}
	for n := range j.sides {
		j.sides[n].emitPending(j.asm, n, out)
	}
	var err error
	left.table.Each(func(ref state.Ref) bool {
		partner, has := right.table.Find(left.table.Key(ref), left.table.Heap())
		v := unmatched
		if has {
			v = matched
		}
		if j.rules[0][v] {
			for more := left.first(&j.cur, ref); more; more = left.next(&j.cur) {
				j.asm.solo(out, 0, j.cur.Rows, j.cur.N, j.cur.Weights, 1, left.table.Heap(), v)
			}
		}
		if has && j.pairs {
			if left.size(ref) < right.size(partner) {
				j.product(0, ref, partner, out)
			} else {
				j.product(1, partner, ref, out)
			}
		}
		err = e.drain(out)
		return err == nil
	})
	if j.rules[1][unmatched] && err == nil {
		right.table.Each(func(ref state.Ref) bool {
			if _, has := left.table.Find(right.table.Key(ref), right.table.Heap()); !has {
				for more := right.first(&j.cur, ref); more; more = right.next(&j.cur) {
					j.asm.solo(out, 1, j.cur.Rows, j.cur.N, j.cur.Weights, 1, right.table.Heap(), unmatched)
				}
			}
			err = e.drain(out)
			return err == nil
		})
	}
	return cmp.Or(err, stores(left.table, right.table))
}

// product gives all pairs of a key: each of the rows of side n, which should be the fewer, with blocks of the other side's.
func (j *keyJoin) product(n int, ref, partner state.Ref, out *zset.Batch) {
	s, o := &j.sides[n], &j.sides[1-n]
	w := s.layout.Words
	for more := s.first(&j.cur, ref); more; more = s.next(&j.cur) {
		for i := range j.cur.N {
			weight := int64(1)
			if j.cur.Weights != nil {
				weight = j.cur.Weights[i]
			}
			one := j.cur.Rows[i*w:][:w]
			for more := o.first(&j.other, partner); more; more = o.next(&j.other) {
				j.asm.pairs(out, n, one, s.table.Heap(), weight, j.other.Rows, j.other.N, j.other.Weights, o.table.Heap())
			}
		}
	}
}
