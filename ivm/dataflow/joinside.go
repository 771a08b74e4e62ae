package dataflow

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// side is one input of a join: its rows by their keys.
type side struct {
	layout  *row.Layout
	program Program
	equal   []uint64     // null bits of the key fields in which NULL equals nothing
	table   *state.Table // entries are rows; if counted, the payload is their number
	counted bool
	sums    *sums // what is counted beside that; nil: nothing
	group   int   // state.Spec.Group of table
	number  [1]int64

	narrow *assembler // the fields of a row that are needed, if they are not all

	summary *Summary    // what the content of a side with sums can be loaded from; nil: its rows
	summed  *projection // the key of a row of it

	pending *zset.Batch // rows without key that were loaded and that Emit must give

	// Of the current step.
	rows   *zset.Batch // those with a key
	keys   *zset.Batch // theirs
	loose  *zset.Batch // those whose key equals nothing
	refs   []state.Ref // of keys in table
	others []state.Ref // of keys in the other side's table
	flips  []uint64    // ref<<32 | row<<1 | had rows before, when a key got its first row or lost its last
	dead   []state.Ref
	below  []int32 // rows whose weight was below zero for a moment

	computed, pickedRows, pickedKeys, looseRows zset.Batch
	narrowRows, narrowLoose                     *zset.Batch
	whole                                       *zset.Batch // rows as they came
	bad                                         []int
}

// open makes the side's table. counted is that only the number of rows of a key matters.
func (s *side) open(name string, in JoinSide, nullSafe []bool, counted bool, t Tables) (err error) {
	s.ready(in, nullSafe)
	switch {
	case s.sums != nil:
		s.layout, counted = s.sums.layout, true
		if s.summary != nil {
			s.summed = project(s.summary.Layout, upTo(len(s.computed.Layout.Types))...)
		}
	case s.narrow != nil:
		s.layout = s.narrow.layout
	}
	s.pending = zset.New(s.layout)
	spec := state.Spec{Key: s.computed.Layout, Entry: s.layout, Group: s.group}
	if s.counted = counted; counted {
		spec.Entry, spec.Payload = nil, 1
		if s.sums != nil {
			spec.Payload = s.sums.payload()
		}
	}
	s.table, err = t.Table(name, spec)
	return err
}

// ready makes the side without its table.
func (s *side) ready(in JoinSide, nullSafe []bool) {
	s.layout, s.program = in.Layout, in.Keys
	key := row.NewLayout()
	if in.Keys != nil {
		key = in.Keys.Layout()
		s.equal = make([]uint64, key.Nulls)
		for i, safe := range nullSafe {
			if !safe {
				s.equal[i>>6] |= 1 << (uint(i) & 63)
			}
		}
	}
	s.computed = *zset.New(key)
	s.pickedRows, s.pickedKeys, s.looseRows = zset.Batch{Layout: in.Layout}, zset.Batch{Layout: key}, zset.Batch{Layout: in.Layout}
	s.pending = zset.New(in.Layout)
}

// keep makes the rest of the join see these fields of the side's rows only, and in this order. It comes before open.
func (s *side) keep(l *row.Layout, fields []int) *row.Layout {
	s.narrow = newAssembler(l, nil, false, fields)
	s.narrowRows, s.narrowLoose = zset.New(s.narrow.layout), zset.New(s.narrow.layout)
	return s.narrow.layout
}

// prepare readies a change: rows, keys and loose rows.
func (s *side) prepare(ctx context.Context, e *Epoch, in *zset.Batch) error {
	if err := s.compute(ctx, e, in); err != nil {
		return err
	}
	s.whole = s.rows
	switch {
	case s.sums != nil:
		s.rows, s.loose = s.sums.widen(s.sums.rows, s.rows), s.sums.widen(s.sums.loose, s.loose)
	case s.narrow != nil:
		s.rows = s.cut(s.narrowRows, s.rows)
		s.loose = s.cut(s.narrowLoose, s.loose)
	}
	return nil
}

func (s *side) cut(to, from *zset.Batch) *zset.Batch {
	to.Reset()
	if from.Len() > 0 {
		s.narrow.solo(to, 0, from.Words, from.Len(), from.Weights, 1, from.Heap, unmatched)
	}
	return to
}

// compute computes the keys of in and tells rows with a key from loose ones. Rows whose key cannot be computed are errors.
func (s *side) compute(ctx context.Context, e *Epoch, in *zset.Batch) error {
	s.flips, s.dead, s.below = s.flips[:0], s.dead[:0], s.below[:0]
	s.loose = viewOf(&s.looseRows, in)
	s.rows, s.keys = in, &s.computed
	if s.program == nil {
		s.keys.Weights = in.Weights // rows of no words
		return nil
	}
	s.keys.Reset()
	s.bad = s.bad[:0]
	err := s.program.Run(ctx, in, s.keys, func(i int, err error) {
		s.bad = append(s.bad, i)
		e.Fail(in, i, err)
	})
	if err != nil {
		return err
	}
	if len(s.bad) == 0 && !s.anyLoose() {
		return nil
	}
	slices.Sort(s.bad)
	rows, keys := viewOf(&s.pickedRows, in), viewOf(&s.pickedKeys, s.keys)
	k, b := 0, 0
	for i := range in.Len() {
		if b < len(s.bad) && s.bad[b] == i {
			b++
			continue
		}
		if key := s.keys.Row(k); s.isLoose(key) {
			pickRow(s.loose, in, i)
		} else {
			pickRow(rows, in, i)
			pickRow(keys, s.keys, k)
		}
		k++
	}
	s.rows, s.keys = rows, keys
	return nil
}

func (s *side) anyLoose() bool {
	w := s.keys.Layout.Words
	if len(s.equal) == 1 {
		m, any := s.equal[0], uint64(0)
		for at := 0; at < len(s.keys.Words); at += w {
			any |= s.keys.Words[at]
		}
		return any&m != 0
	}
	for i := range s.keys.Len() {
		if s.isLoose(s.keys.Row(i)) {
			return true
		}
	}
	return false
}

func (s *side) isLoose(key []uint64) bool {
	for i, m := range s.equal {
		if key[i]&m != 0 {
			return true
		}
	}
	return false
}

// viewOf readies v to take rows of from, whose heap it shares.
func viewOf(v, from *zset.Batch) *zset.Batch {
	v.Words, v.Weights, v.Heap = v.Words[:0], v.Weights[:0], from.Heap
	return v
}

func pickRow(v, from *zset.Batch, i int) {
	v.Words = append(v.Words, from.Row(i)...)
	v.Weights = append(v.Weights, from.Weights[i])
}

// take adds the prepared rows to the table and notes which keys got their first row or lost their last one.
func (s *side) take() {
	s.refs = s.table.UpsertAll(s.keys, s.refs)
	if s.counted {
		s.count()
		return
	}
	t, w, h := s.table, s.layout.Words, s.rows.Heap
	for i, ref := range s.refs {
		if i%state.Window == 0 {
			k := min(i+state.Window, len(s.refs))
			t.Warm(s.refs[i:k], s.rows.Words[i*w:k*w])
		}
		before, after := t.Add(ref, s.rows.Words[i*w:i*w+w], h, s.rows.Weights[i])
		if before > 0 && after > 0 {
			continue
		}
		if after < 0 {
			s.below = append(s.below, int32(i))
		}
		switch {
		case after == 0:
			if t.Len(ref) == 0 {
				s.dead = append(s.dead, ref)
				if before != 0 {
					s.flip(i, ref, 1)
				}
			}
		case before == 0:
			if t.Len(ref) == 1 {
				s.flip(i, ref, 0)
			}
		}
	}
}

func (s *side) count() {
	for i, ref := range s.refs {
		p := s.table.Payload(ref)
		before := p[0]
		if s.sums != nil {
			s.sums.add(p, s.rows.Row(i), s.rows.Weights[i])
		} else {
			p[0] += uint64(s.rows.Weights[i])
		}
		if after := int64(p[0]); after < 0 {
			s.below = append(s.below, int32(i))
		} else if after == 0 {
			s.dead = append(s.dead, ref)
		}
		switch {
		case before == 0 && p[0] != 0:
			s.flip(i, ref, 0)
		case before != 0 && p[0] == 0:
			s.flip(i, ref, 1)
		}
	}
}

func (s *side) flip(i int, ref state.Ref, had uint64) {
	s.flips = append(s.flips, uint64(ref)<<32|uint64(i)<<1|had)
}

// has says that a key of the table has rows.
func (s *side) has(ref state.Ref) bool {
	if s.counted {
		return s.table.Peek(ref)[0] != 0
	}
	return s.table.Len(ref) != 0
}

// flipped calls f for each key that has rows now and had none before the step, or the other way round; i is a row of the key.
func (s *side) flipped(f func(i int, now bool)) {
	slices.Sort(s.flips)
	last := state.None
	for _, x := range s.flips {
		ref := state.Ref(x >> 32)
		if ref == last {
			continue
		}
		last = ref
		if now := s.has(ref); now != (x&1 != 0) {
			f(int(uint32(x)>>1), now)
		}
	}
}

// finish refuses rows of which there are fewer than none, and removes keys that have no rows left.
func (s *side) finish() error {
	if err := s.table.Err(); err != nil {
		return err
	}
	for _, i := range s.below {
		if n := s.weight(int(i)); n < 0 {
			return excess(s.whole.Layout, s.whole.Row(int(i)), s.whole.Heap, n)
		}
	}
	if len(s.dead) > 0 {
		slices.Sort(s.dead)
		for _, ref := range slices.Compact(s.dead) {
			if !s.has(ref) {
				s.table.Remove(ref)
			}
		}
	}
	return s.table.Err()
}

// weight is how often the table has a prepared row or, if it counts, its key.
func (s *side) weight(i int) int64 {
	if s.counted {
		return int64(s.table.Peek(s.refs[i])[0])
	}
	return s.table.Weight(s.refs[i], s.rows.Row(i), s.rows.Heap)
}

// first readies c for the rows of a key, which come in blocks. Rows that are counted are one block of one row, or of those that stand
// for their sums.
func (s *side) first(c *state.Cursor, ref state.Ref) bool {
	if s.sums != nil {
		c.Rows, c.Weights, c.N = s.sums.block(s.table.Peek(ref))
		return true
	}
	if s.counted {
		s.number[0] = int64(s.table.Peek(ref)[0])
		c.Rows, c.Weights, c.N = nil, s.number[:], 1
		return true
	}
	s.table.Scan(c, ref)
	return c.NextBlock()
}

// size is how many blocks' rows a key has.
func (s *side) size(ref state.Ref) int {
	if s.counted {
		return 1
	}
	return s.table.Len(ref)
}

func (s *side) next(c *state.Cursor) bool { return !s.counted && c.NextBlock() }

// load takes rows of the content into the table. Loose ones are kept for Emit if it has to give them.
func (s *side) load(ctx context.Context, e *Epoch, in *zset.Batch, keepLoose bool) error {
	if err := s.prepare(ctx, e, in); err != nil {
		return err
	}
	if keepLoose {
		s.pending.AppendBatch(s.loose)
	}
	return s.fill()
}

// fill takes the prepared rows, which are content, into the table; packed puts them in their places.
func (s *side) fill() error {
	if s.counted || !positive(s.rows.Weights) {
		s.table.Pack()
		s.take()
		return s.finish()
	}
	s.refs = s.table.Fill(s.keys, s.rows, s.refs)
	return s.table.Err()
}

// positive says that rows are content, of which nothing is taken back.
func positive(weights []int64) bool {
	for _, w := range weights {
		if w <= 0 {
			return false
		}
	}
	return true
}

// packed readies tables that were filled to be read.
func packed(tables ...*state.Table) {
	for _, t := range tables {
		t.Pack()
	}
}

// emitPending gives the loose rows that were loaded.
func (s *side) emitPending(a *assembler, n int, out *zset.Batch) {
	if p := s.pending; p.Len() > 0 {
		a.solo(out, n, p.Words, p.Len(), p.Weights, 1, p.Heap, unmatched)
		s.pending = zset.New(s.layout)
	}
}

// stores gives the first error of tables whose rows were read: a row that could not be read must not count as one that is not there.
func stores(tables ...*state.Table) error {
	for _, t := range tables {
		if t == nil {
			continue
		}
		if err := t.Err(); err != nil {
			return err
		}
	}
	return nil
}
