package dataflow

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// nullAwareMark is x IN (subquery) as a value, where what is compared is y, one or several fields of the right rows of x's
// group; x or y is NULL when a field of it is. Of the right side are kept, by group, the number of rows r and of those whose y is NULL, z; and by group and value, their number c.
//
//	m(x) = TRUE if c(x) > 0; else NULL if z > 0, or if x is NULL and r > 0; else FALSE
//
// A left row's mark changes when c of its value, z of its group or, if x is NULL, r of its group gets to 0 or leaves it:
//
//	d(A · m) = dA · m + (A + dA) · (m' - m)
//
// so a right change costs what it turns: the rows of one value, those whose x is NULL, or all of a group.
type nullAwareMark struct {
	sides   [2]side      // by group and value; the right one counts
	groups  *state.Table // group → r, z
	members *state.Table // group → the keys that the left side has
	asm     *assembler
	cut     *assembler // the group of a key
	value   int        // the first of the key fields that are compared; the others choose the group
	cur     state.Cursor
	keyCur  state.Cursor

	groupKeys  *zset.Batch
	groupRefs  []state.Ref
	groupFlips []uint64 // ref<<32 | row<<2 | state before
	turned     []turnedGroup
	values     []turnedValue
	one        *zset.Batch
}

// groupState is what decides marks beside the value's own count.
type groupState uint8

const (
	groupHasRows groupState = 1 << iota
	groupHasNull
)

type turnedGroup struct {
	ref         state.Ref
	row         int
	before, now groupState
}

type turnedValue struct {
	ref state.Ref
	row int
	now bool
}

func newNullAwareMark(name string, s JoinSpec, t Tables) (Loader, error) {
	if s.Left.Keys == nil {
		return nil, fmt.Errorf("dataflow: mark %s compares nothing", name)
	}
	key := s.Left.Keys.Layout()
	j := &nullAwareMark{asm: s.assembler(), value: len(key.Types) - max(1, s.Compared), one: zset.New(key)}
	if j.value < 0 {
		return nil, fmt.Errorf("dataflow: mark %s compares more fields than its keys have", name)
	}
	fields := make([]int, j.value)
	for i := range fields {
		if fields[i] = i; !s.NullSafe[i] {
			return nil, fmt.Errorf("dataflow: mark %s chooses rows by a key that is not null-safe", name)
		}
	}
	j.cut = newAssembler(key, nil, false, fields)
	j.groupKeys = zset.New(j.cut.layout)
	safe := make([]bool, len(key.Types))
	for i := range safe {
		safe[i] = true
	}
	j.sides[0].group, j.sides[1].group = j.value, j.value
	if err := j.sides[0].open(name+".left", s.Left, safe, false, t); err != nil {
		return nil, err
	}
	if err := j.sides[1].open(name+".right", s.Right, safe, true, t); err != nil {
		return nil, err
	}
	var err error
	if j.groups, err = t.Table(name+".groups", state.Spec{Key: j.cut.layout, Payload: 2}); err != nil {
		return nil, err
	}
	j.members, err = t.Table(name+".members", state.Spec{Key: j.cut.layout, Entry: key})
	return j, err
}

func (j *nullAwareMark) Layout() *row.Layout { return j.asm.layout }

// Cancels is true: a row that comes with a change of the right side may be given twice and taken back once.
func (j *nullAwareMark) Cancels() bool { return true }

func (j *nullAwareMark) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	if in[0].Len() > 0 {
		if err := j.takeLeft(ctx, e, in[0], out); err != nil {
			return err
		}
	}
	if in[1].Len() > 0 {
		if err := j.takeRight(ctx, e, in[1], out); err != nil {
			return err
		}
	}
	return j.stored()
}

func (j *nullAwareMark) stored() error {
	return stores(j.sides[0].table, j.sides[1].table, j.groups, j.members)
}

// takeLeft gives the rows with their marks, unless out is nil, and keeps them.
func (j *nullAwareMark) takeLeft(ctx context.Context, e *Epoch, in, out *zset.Batch) error {
	left, right := &j.sides[0], &j.sides[1]
	if err := left.prepare(ctx, e, in); err != nil {
		return err
	}
	j.cutKeys(left.keys)
	if out != nil {
		left.others = right.table.FindAll(left.keys, left.others)
		j.groupRefs = j.groups.FindAll(j.groupKeys, j.groupRefs)
		for i, ref := range left.others {
			m := j.mark(left.keys.Row(i), j.state(j.groupRefs[i]), ref != state.None)
			j.asm.solo(out, 0, left.rows.Row(i), 1, nil, left.rows.Weights[i], left.rows.Heap, m)
		}
	}
	left.take()
	left.flipped(func(i int, now bool) {
		ref, _ := j.members.Upsert(j.groupKeys.Row(i), j.groupKeys.Heap)
		if now {
			j.members.Add(ref, left.keys.Row(i), left.keys.Heap, 1)
		} else if j.members.Add(ref, left.keys.Row(i), left.keys.Heap, -1); j.members.Len(ref) == 0 {
			j.members.Remove(ref)
		}
	})
	return left.finish()
}

// takeRight keeps the rows' counts and gives the marks that turn, unless out is nil.
func (j *nullAwareMark) takeRight(ctx context.Context, e *Epoch, in, out *zset.Batch) error {
	right := &j.sides[1]
	if err := right.prepare(ctx, e, in); err != nil {
		return err
	}
	j.cutKeys(right.keys)
	right.take()
	j.groupRefs = j.groups.UpsertAll(j.groupKeys, j.groupRefs)
	j.groupFlips = j.groupFlips[:0]
	for i, ref := range j.groupRefs {
		before, p := j.state(ref), j.groups.Payload(ref)
		p[0] += uint64(right.rows.Weights[i])
		if j.isNull(right.keys.Row(i)) {
			p[1] += uint64(right.rows.Weights[i])
		}
		if j.state(ref) != before {
			j.groupFlips = append(j.groupFlips, uint64(ref)<<32|uint64(i)<<2|uint64(before))
		}
	}
	j.changed()
	if out != nil {
		j.turn(out)
	}
	for _, g := range j.turned {
		if g.now == 0 {
			j.groups.Remove(g.ref)
		}
	}
	return right.finish()
}

// isNull says that what is compared has a NULL: DuckDB takes (1, NULL) for NULL, though 1 alone may rule a partner out.
func (j *nullAwareMark) isNull(key []uint64) bool {
	for i := j.value; i < len(j.one.Layout.Types); i++ {
		if j.one.Layout.IsNull(key, i) {
			return true
		}
	}
	return false
}

func (j *nullAwareMark) cutKeys(keys *zset.Batch) {
	j.groupKeys.Reset()
	j.cut.solo(j.groupKeys, 0, keys.Words, keys.Len(), nil, 1, keys.Heap, unmatched)
}

func (j *nullAwareMark) state(group state.Ref) groupState {
	if group == state.None {
		return 0
	}
	p, s := j.groups.Peek(group), groupState(0)
	if p[0] != 0 {
		s |= groupHasRows
	}
	if p[1] != 0 {
		s |= groupHasNull
	}
	return s
}

// mark is that of a left key, found saying that the right side has it. A NULL is no partner of NULL.
func (j *nullAwareMark) mark(key []uint64, g groupState, found bool) verdict {
	switch {
	case j.isNull(key):
		if g&groupHasRows != 0 {
			return unknown
		}
		return unmatched
	case found:
		return matched
	case g&groupHasNull != 0:
		return unknown
	}
	return unmatched
}

// changed finds the groups and values that are not what they were. Groups that came and went in one step are among them, so
// that they are removed.
func (j *nullAwareMark) changed() {
	j.turned, j.values = j.turned[:0], j.values[:0]
	slices.Sort(j.groupFlips)
	last := state.None
	for _, x := range j.groupFlips {
		if ref := state.Ref(x >> 32); ref != last {
			last = ref
			j.turned = append(j.turned, turnedGroup{ref, int(uint32(x) >> 2), groupState(x & 3), j.state(ref)})
		}
	}
	right := &j.sides[1]
	right.flipped(func(i int, now bool) { j.values = append(j.values, turnedValue{right.refs[i], i, now}) })
}

// turn gives the rows whose mark is another one.
func (j *nullAwareMark) turn(out *zset.Batch) {
	right := &j.sides[1]
	for _, v := range j.values {
		key := right.keys.Row(v.row)
		if j.isNull(key) {
			continue
		}
		before, now := j.around(j.groupRefs[v.row])
		if !j.whole(before, now) {
			j.turnKey(key, right.keys.Heap, j.mark(key, before, !v.now), j.mark(key, now, v.now), out)
		}
	}
	for _, g := range j.turned {
		if j.whole(g.before, g.now) {
			j.turnGroup(g, out)
			continue
		}
		if g.before == g.now {
			continue
		}
		j.one.Reset()
		j.one.Append(right.keys.Row(g.row), right.keys.Heap, 1)
		key := j.one.Row(0)
		j.one.Layout.SetNull(key, j.value)
		j.turnKey(key, j.one.Heap, j.mark(key, g.before, false), j.mark(key, g.now, false), out)
	}
}

// whole says that all keys of a group are looked at: those that a NULL of the right side decides about, and when the right side
// gets or loses its first row those that have a NULL themselves, which with several fields are not one key.
func (j *nullAwareMark) whole(before, now groupState) bool {
	return (before^now)&groupHasNull != 0 || before != now && len(j.one.Layout.Types)-j.value > 1
}

// around is a group's state before and after the step.
func (j *nullAwareMark) around(ref state.Ref) (before, now groupState) {
	i, ok := slices.BinarySearchFunc(j.turned, ref, func(g turnedGroup, ref state.Ref) int { return cmp.Compare(g.ref, ref) })
	if ok {
		return j.turned[i].before, j.turned[i].now
	}
	now = j.state(ref)
	return now, now
}

func (j *nullAwareMark) turnKey(key []uint64, h *row.Heap, before, now verdict, out *zset.Batch) {
	if before == now {
		return
	}
	t := j.sides[0].table
	ref, ok := t.Find(key, h)
	if !ok {
		return
	}
	for t.Scan(&j.cur, ref); j.cur.NextBlock(); {
		j.asm.solo(out, 0, j.cur.Rows, j.cur.N, j.cur.Weights, -1, t.Heap(), before)
		j.asm.solo(out, 0, j.cur.Rows, j.cur.N, j.cur.Weights, 1, t.Heap(), now)
	}
}

// turnGroup looks at every key that the left side has in a group.
func (j *nullAwareMark) turnGroup(g turnedGroup, out *zset.Batch) {
	right := j.sides[1].table
	members, ok := j.members.Find(j.groups.Key(g.ref), j.groups.Heap())
	if !ok {
		return
	}
	for j.members.Scan(&j.keyCur, members); j.keyCur.Next(); {
		key := j.keyCur.Row()
		ref, found := right.Find(key, j.members.Heap())
		had := found
		if found {
			found = j.sides[1].has(ref)
			had = found
			_, turned := slices.BinarySearchFunc(j.values, ref, func(v turnedValue, ref state.Ref) int { return cmp.Compare(v.ref, ref) })
			if turned {
				had = !found
			}
		}
		j.turnKey(key, j.members.Heap(), j.mark(key, g.before, had), j.mark(key, g.now, found), out)
	}
}

func (j *nullAwareMark) Load(ctx context.Context, e *Epoch, i int, rows *zset.Batch) error {
	in := []*zset.Batch{zset.New(j.sides[0].layout), zset.New(j.sides[1].layout)}
	in[i] = rows
	return j.Step(ctx, e, in, nil)
}

func (j *nullAwareMark) Emit(_ context.Context, _ *Epoch, out *zset.Batch) error {
	t, right := j.sides[0].table, j.sides[1].table
	t.Each(func(ref state.Ref) bool {
		j.one.Reset()
		j.one.Append(t.Key(ref), t.Heap(), 1)
		j.cutKeys(j.one)
		_, found := right.Find(j.one.Row(0), j.one.Heap)
		group, ok := j.groups.Find(j.groupKeys.Row(0), j.groupKeys.Heap)
		if !ok {
			group = state.None
		}
		m := j.mark(t.Key(ref), j.state(group), found)
		for t.Scan(&j.cur, ref); j.cur.NextBlock(); {
			j.asm.solo(out, 0, j.cur.Rows, j.cur.N, j.cur.Weights, 1, t.Heap(), m)
		}
		return true
	})
	return j.stored()
}
