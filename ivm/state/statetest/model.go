package statetest

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// A Shape is a table and how its keys and entries are drawn.
type Shape struct {
	Name    string
	Spec    state.Spec
	Keys    int // how many different ones
	Entries int // a key
	Steps   int
	Remove  int // of 100 steps, how many take away
}

// Shapes are the tables that are tried.
func Shapes() []Shape {
	L := row.ParseLayout
	long := L("VARCHAR", "BIGINT")
	return []Shape{
		{"groups", state.Spec{Key: L("BIGINT"), Payload: 3}, 300, 0, 20000, 30},
		{"text groups", state.Spec{Key: L("VARCHAR", "INTEGER"), Payload: 1}, 300, 0, 20000, 30},
		{"wide key", state.Spec{Key: L("BIGINT", "HUGEINT", "DATE"), Payload: 0}, 1000, 0, 20000, 40},
		{"led", state.Spec{Key: L("VARCHAR", "UUID", "BIGINT", "VARCHAR"), Payload: 2, Group: 2}, 1000, 0, 20000, 40},
		{"led join", state.Spec{Key: L("DOUBLE", "BIGINT"), Entry: L("BIGINT", "BIGINT"), Group: 1}, 50, 30, 20000, 45},
		{"join", state.Spec{Key: L("BIGINT"), Entry: L("BIGINT", "BIGINT")}, 50, 30, 30000, 45},
		{"no fields", state.Spec{Key: L("BIGINT"), Entry: L()}, 50, 1, 5000, 50},
		{"one", state.Spec{Key: L("BIGINT"), Entry: L("BIGINT")}, 200, 2, 20000, 50},
		{"wide entry", state.Spec{Key: L("BIGINT"), Entry: L("BIGINT", "HUGEINT", "UUID", "INTERVAL", "DOUBLE"), Payload: 2}, 20, 60, 20000, 45},
		{"text", state.Spec{Key: L("VARCHAR"), Entry: long, Payload: 1}, 20, 100, 20000, 45},
		{"order", state.Spec{Key: L("BIGINT"), Entry: L("UBIGINT", "VARCHAR", "BIGINT"), Order: 1, Payload: 1}, 5, 3000, 60000, 40},
		{"shared text", state.Spec{Key: L("VARCHAR"), Entry: L("VARCHAR", "VARCHAR"), Share: true}, 20, 100, 20000, 45},
		{"ties", state.Spec{Key: L("BIGINT"), Entry: L("BOOLEAN", "BIGINT"), Order: 1}, 3, 3000, 40000, 40},
		{"huge", state.Spec{Key: L("BIGINT"), Entry: L("BIGINT", "INTEGER"), Order: 1}, 2, 200000, 250000, 20},
		{"shrink", state.Spec{Key: L("BIGINT"), Entry: L("VARCHAR")}, 2, 20000, 120000, 49},
	}
}

// entry of the model.
type entry struct {
	row    []uint64
	weight int64
}

type group struct {
	key     []uint64
	payload []uint64
	entries map[string]*entry
	sorted  []*entry // nil after a change
}

// Model is the same as a Table in the plainest way.
type Model struct {
	spec   state.Spec
	heap   row.Heap
	groups map[string]*group
}

// NewModel makes an empty one.
func NewModel(spec state.Spec) *Model { return &Model{spec: spec, groups: map[string]*group{}} }

func text(l *row.Layout, r []uint64, h *row.Heap) string { return string(l.AppendBytes(nil, r, h)) }

func clone(l *row.Layout, r []uint64, from, to *row.Heap) []uint64 {
	c := make([]uint64, l.Words)
	l.Copy(c, to, r, from)
	return c
}

func (m *Model) upsert(key []uint64, h *row.Heap) *group {
	k := text(m.spec.Key, key, h)
	g := m.groups[k]
	if g == nil {
		g = &group{key: clone(m.spec.Key, key, h, &m.heap), payload: make([]uint64, m.spec.Payload), entries: map[string]*entry{}}
		m.groups[k] = g
	}
	return g
}

func (m *Model) add(g *group, e []uint64, h *row.Heap, w int64) (before, after int64) {
	k := text(m.spec.Entry, e, h)
	x := g.entries[k]
	if x == nil {
		if w == 0 {
			return 0, 0
		}
		x = &entry{row: clone(m.spec.Entry, e, h, &m.heap)}
		g.entries[k] = x
	}
	before = x.weight
	x.weight += w
	if x.weight == 0 {
		delete(g.entries, k)
	}
	if (before == 0) != (x.weight == 0) {
		g.sorted = nil
	}
	return before, x.weight
}

// order is the order that a table keeps: fields, then null bits.
func (m *Model) order(a, b []uint64) bool {
	l := m.spec.Entry
	for i, t := range l.Types {
		o := l.Off[i]
		var c int
		if t.Var() {
			c = row.CompareVar(a[o], a[o+1], &m.heap, b[o], b[o+1], &m.heap)
		} else {
			c = row.CompareWords(a[o:o+t.Words()], b[o:o+t.Words()])
		}
		if c != 0 {
			return c < 0
		}
	}
	return row.CompareWords(a[:l.Nulls], b[:l.Nulls]) < 0
}

func (m *Model) list(g *group) []*entry {
	if g.sorted == nil {
		for _, e := range g.entries {
			g.sorted = append(g.sorted, e)
		}
		sort.Slice(g.sorted, func(i, j int) bool { return m.order(g.sorted[i].row, g.sorted[j].row) })
	}
	return g.sorted
}

// draw makes a random row, the k-th of some: the same for the same k.
func draw(l *row.Layout, k int, h *row.Heap) []uint64 {
	rnd := rand.New(rand.NewPCG(uint64(k), 7))
	r := make([]uint64, l.Words)
	for i, t := range l.Types {
		last := i == len(l.Types)-1
		switch {
		case i > 0 && rnd.IntN(8) == 0 && !last:
			l.SetNull(r, i)
		case t.Kind == row.Bool:
			l.Set(r, i, uint64(k&1))
		case t.Var():
			s := fmt.Sprintf("%d", k)
			for n := rnd.IntN(3); n > 0; n-- {
				s += fmt.Sprintf(" %x and more of it", rnd.Uint32())
			}
			l.SetBytes(r, i, []byte(s), h)
		case t.Words() == 2:
			l.Set2(r, i, uint64(k), rnd.Uint64N(3))
		case last || len(l.Types) == 1:
			l.Set(r, i, uint64(k))
		default:
			l.Set(r, i, rnd.Uint64N(uint64(k+1)))
		}
	}
	return r
}

// Check compares everything.
func (m *Model) Check(t *testing.T, tab *state.Table) {
	t.Helper()
	if err := tab.Err(); err != nil {
		t.Fatal(err)
	}
	if tab.Keys() != len(m.groups) {
		t.Fatalf("%d keys, want %d", tab.Keys(), len(m.groups))
	}
	n := 0
	tab.Each(func(ref state.Ref) bool {
		n++
		if m.groups[text(m.spec.Key, tab.Key(ref), tab.Heap())] == nil {
			t.Fatalf("key %s is not in the model", m.spec.Key.Format(tab.Key(ref), tab.Heap()))
		}
		return true
	})
	if n != len(m.groups) {
		t.Fatalf("Each gave %d keys, want %d", n, len(m.groups))
	}
	for _, g := range m.groups {
		m.checkGroup(t, tab, g)
	}
}

func (m *Model) checkGroup(t *testing.T, tab *state.Table, g *group) {
	t.Helper()
	ref, ok := tab.Find(g.key, &m.heap)
	name := m.spec.Key.Format(g.key, &m.heap)
	if !ok {
		t.Fatalf("key %s is not found: %v", name, tab.Err())
	}
	if !row.EqualWords(tab.Peek(ref), g.payload) {
		t.Fatalf("key %s: payload %v, want %v", name, tab.Peek(ref), g.payload)
	}
	if m.spec.Entry == nil {
		return
	}
	want := m.list(g)
	var total int64
	for _, e := range want {
		total += e.weight
	}
	if tab.Len(ref) != len(want) || tab.Total(ref) != total {
		t.Fatalf("key %s: %d entries of total %d, want %d, %d", name, tab.Len(ref), tab.Total(ref), len(want), total)
	}
	l := m.spec.Entry
	var c state.Cursor
	tab.Scan(&c, ref)
	for i, e := range want {
		if !c.Next() || !l.Equal(c.Row(), tab.Heap(), e.row, &m.heap) || c.Weight() != e.weight || c.Index() != i {
			t.Fatalf("key %s: entry %d of %d is %s (%d) at %d, want %s (%d)", name, i, len(want), l.Format(c.Row(), tab.Heap()), c.Weight(), c.Index(), l.Format(e.row, &m.heap), e.weight)
		}
	}
	if c.Next() {
		t.Fatalf("key %s: more than %d entries", name, len(want))
	}
	for i := len(want) - 1; i >= 0; i-- {
		if !c.Prev() || !l.Equal(c.Row(), tab.Heap(), want[i].row, &m.heap) || c.Index() != i {
			t.Fatalf("key %s: going back, entry %d is wrong", name, i)
		}
	}
	if c.Prev() {
		t.Fatalf("key %s: an entry before the first", name)
	}
	tab.Scan(&c, ref)
	for at := 0; ; at += c.N {
		if !c.NextBlock() {
			if at != len(want) {
				t.Fatalf("key %s: blocks have %d entries, want %d", name, at, len(want))
			}
			break
		}
		for i := range c.N {
			w := int64(1)
			if c.Weights != nil {
				w = c.Weights[i]
			}
			if !l.Equal(c.Rows[i*l.Words:], tab.Heap(), want[at+i].row, &m.heap) || w != want[at+i].weight {
				t.Fatalf("key %s: block entry %d is wrong", name, at+i)
			}
		}
	}
	m.probe(t, tab, ref, want)
}

// probe looks entries up by place and by value.
func (m *Model) probe(t *testing.T, tab *state.Table, ref state.Ref, want []*entry) {
	t.Helper()
	l := m.spec.Entry
	var c state.Cursor
	for k := 0; k < len(want); k += 1 + len(want)/50 {
		e := want[k]
		if got, w := tab.At(ref, k); !l.Equal(got, tab.Heap(), e.row, &m.heap) || w != e.weight {
			t.Fatalf("At(%d) is wrong", k)
		}
		if w := tab.Weight(ref, e.row, &m.heap); w != e.weight {
			t.Fatalf("Weight of entry %d is %d, want %d", k, w, e.weight)
		}
		if i := tab.Rank(ref, e.row, &m.heap); i != k {
			t.Fatalf("Rank of entry %d is %d", k, i)
		}
		if tab.Seek(&c, ref, e.row, &m.heap); !c.Next() || c.Index() != k {
			t.Fatalf("Seek of entry %d went to %d", k, c.Index())
		}
		if tab.SeekAt(&c, ref, k); !c.Next() || c.Index() != k || !l.Equal(c.Row(), tab.Heap(), e.row, &m.heap) {
			t.Fatalf("SeekAt(%d) went to %d", k, c.Index())
		}
	}
	first, _ := tab.First(ref)
	last, _ := tab.Last(ref)
	if len(want) == 0 {
		if first != nil || last != nil {
			t.Fatal("an empty key has a first or last entry")
		}
		return
	}
	if !l.Equal(first, tab.Heap(), want[0].row, &m.heap) || !l.Equal(last, tab.Heap(), want[len(want)-1].row, &m.heap) {
		t.Fatal("First or Last is wrong")
	}
	var h row.Heap
	for k := range 20 { // values that may not be there
		e := draw(l, 1000000+k*7919, &h)
		n := sort.Search(len(want), func(i int) bool {
			c := clone(l, e, &h, &m.heap)
			return !m.order(want[i].row, c)
		})
		if i := tab.Rank(ref, e, &h); i != n {
			t.Fatalf("Rank of a strange entry is %d, want %d", i, n)
		}
	}
}

// Drive does steps random changes to both.
func (m *Model) Drive(t *testing.T, tab *state.Table, s Shape, rnd *rand.Rand, steps int) {
	t.Helper()
	var h row.Heap
	for range steps {
		if h.Held() > 1<<20 {
			h.Reset()
		}
		m.change(t, tab, s, rnd, draw(s.Spec.Key, rnd.IntN(s.Keys), &h), &h)
	}
}

// change does one random change to a key.
func (m *Model) change(t *testing.T, tab *state.Table, s Shape, rnd *rand.Rand, key []uint64, h *row.Heap) {
	t.Helper()
	away := rnd.IntN(100) < s.Remove
	if away && (s.Spec.Entry == nil || rnd.IntN(300) == 0) {
		m.remove(tab, key, h, s.Spec.Entry != nil && s.Entries > 1000 && rnd.IntN(8) > 0)
		return
	}
	ref, created := tab.Upsert(key, h)
	if want := m.groups[text(s.Spec.Key, key, h)] == nil; created != want {
		t.Fatalf("key %s: created is %v", s.Spec.Key.Format(key, h), created)
	}
	g := m.upsert(key, h)
	if s.Spec.Payload > 0 && rnd.IntN(2) == 0 {
		i, v := rnd.IntN(s.Spec.Payload), rnd.Uint64()
		tab.Payload(ref)[i] = v
		g.payload[i] = v
	}
	if s.Spec.Entry == nil {
		return
	}
	k := rnd.IntN(s.Entries)
	if rnd.IntN(100) == 0 {
		k = s.Entries + rnd.IntN(s.Entries) // rarely seen
	}
	e := draw(s.Spec.Entry, k, h)
	w := int64(1)
	if rnd.IntN(20) == 0 {
		w = int64(rnd.IntN(4))
	}
	if away {
		if w = -m.weight(g, e, h); rnd.IntN(30) == 0 {
			w--
		}
	}
	b1, a1 := tab.Add(ref, e, h, w)
	b2, a2 := m.add(g, e, h, w)
	if b1 != b2 || a1 != a2 {
		t.Fatalf("Add gave %d, %d, want %d, %d", b1, a1, b2, a2)
	}
}

func (m *Model) weight(g *group, e []uint64, h *row.Heap) int64 {
	if x := g.entries[text(m.spec.Entry, e, h)]; x != nil {
		return x.weight
	}
	return 0
}

func (m *Model) remove(tab *state.Table, key []uint64, h *row.Heap, spare bool) {
	if ref, ok := tab.Find(key, h); ok && !spare {
		tab.Remove(ref)
		delete(m.groups, text(m.spec.Key, key, h))
	}
}

// Batches looks keys up by the batch calls.
func (m *Model) Batches(t *testing.T, tab *state.Table, s Shape, rnd *rand.Rand) {
	t.Helper()
	b := zset.New(s.Spec.Key)
	var h row.Heap
	for range 500 {
		b.Append(draw(s.Spec.Key, rnd.IntN(2*s.Keys), &h), &h, 1)
	}
	refs := tab.FindAll(b, nil)
	for i, ref := range refs {
		g := m.groups[text(s.Spec.Key, b.Row(i), b.Heap)]
		if (g != nil) != (ref != state.None) || g != nil && !s.Spec.Key.Equal(tab.Key(ref), tab.Heap(), b.Row(i), b.Heap) {
			t.Fatalf("FindAll: row %d is wrong", i)
		}
	}
	for i, ref := range tab.UpsertAll(b, refs) {
		m.upsert(b.Row(i), b.Heap)
		if !s.Spec.Key.Equal(tab.Key(ref), tab.Heap(), b.Row(i), b.Heap) {
			t.Fatalf("UpsertAll: row %d is wrong", i)
		}
	}
}

// Load loads n entries at once.
func (m *Model) Load(t *testing.T, tab *state.Table, s Shape, rnd *rand.Rand, n int) {
	t.Helper()
	keys, entries := zset.New(s.Spec.Key), zset.New(s.Spec.Entry)
	for range n {
		keys.Append(draw(s.Spec.Key, s.Keys+rnd.IntN(s.Keys), keys.Heap), keys.Heap, 1)
		w := int64(1)
		if rnd.IntN(20) == 0 {
			w = int64(rnd.IntN(4)) - 1
		}
		entries.Append(draw(s.Spec.Entry, rnd.IntN(s.Entries), entries.Heap), entries.Heap, w)
		i := keys.Len() - 1
		m.add(m.upsert(keys.Row(i), keys.Heap), entries.Row(i), entries.Heap, w)
	}
	tab.Load(keys, entries, nil)
}

// Clone is a model that shares nothing.
func (m *Model) Clone() *Model {
	c := NewModel(m.spec)
	for k, g := range m.groups {
		n := &group{key: clone(m.spec.Key, g.key, &m.heap, &c.heap), payload: append([]uint64{}, g.payload...), entries: map[string]*entry{}}
		for ek, e := range g.entries {
			n.entries[ek] = &entry{row: clone(m.spec.Entry, e.row, &m.heap, &c.heap), weight: e.weight}
		}
		c.groups[k] = n
	}
	return c
}

// DriveParts does random changes to a table in parts, and to the model.
func (m *Model) DriveParts(t *testing.T, tabs []*state.Table, s Shape, rnd *rand.Rand, steps int) {
	t.Helper()
	parts := make([]*Model, len(tabs))
	for i := range parts {
		parts[i] = m.Part(i, len(tabs))
	}
	var h row.Heap
	for range steps {
		key := draw(s.Spec.Key, rnd.IntN(s.Keys), &h)
		i := state.Shard(s.Spec.Hash(key, &h), len(tabs))
		parts[i].change(t, tabs[i], s, rnd, key, &h)
	}
	for i, p := range parts {
		for k, g := range m.groups {
			if state.Shard(s.Spec.Hash(g.key, &m.heap), len(tabs)) == i {
				delete(m.groups, k)
			}
		}
		c := p.Clone()
		for _, g := range c.groups {
			n := m.upsert(g.key, &c.heap)
			copy(n.payload, g.payload)
			for ek, e := range g.entries {
				n.entries[ek] = &entry{row: clone(m.spec.Entry, e.row, &c.heap, &m.heap), weight: e.weight}
			}
		}
	}
}

// Part is the model of part i of n.
func (m *Model) Part(i, n int) *Model {
	c := m.Clone()
	for k, g := range c.groups {
		if state.Shard(m.spec.Hash(g.key, &c.heap), n) != i {
			delete(c.groups, k)
		}
	}
	return c
}
