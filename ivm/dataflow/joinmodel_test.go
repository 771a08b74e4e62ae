package dataflow

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// bag is a multiset of plain rows by their text.
type bag map[string]*copies

type copies struct {
	row []any
	n   int64
}

func plainText(r []any) string { return fmt.Sprintf("%#v", r) }

func (b bag) add(r []any, n int64) {
	k := plainText(r)
	c := b[k]
	if c == nil {
		c = &copies{row: slices.Clone(r)}
		b[k] = c
	}
	if c.n += n; c.n == 0 {
		delete(b, k)
	}
}

func (b bag) addBatch(x *zset.Batch, sign int64) {
	for i, w := range x.Weights {
		b.add(plainRow(x.Layout, x.Row(i), x.Heap), sign*w)
	}
}

// ordered is the rows in the order of their texts, so that runs can be repeated.
func (b bag) ordered() []*copies {
	out := make([]*copies, 0, len(b))
	for _, k := range slices.Sorted(maps.Keys(b)) {
		out = append(out, b[k])
	}
	return out
}

func (b bag) batch(l *row.Layout) *zset.Batch {
	z := zset.New(l)
	for _, c := range b.ordered() {
		putPlain(l, z.AppendRow(c.n), z.Heap, c.row)
	}
	return z
}

func (b bag) String() string {
	var s strings.Builder
	for _, c := range b.ordered() {
		fmt.Fprintf(&s, "%v %+d\n", c.row, c.n)
	}
	return s.String()
}

func minus(a, b bag) bag {
	d := bag{}
	for _, c := range a {
		d.add(c.row, c.n)
	}
	for _, c := range b {
		d.add(c.row, -c.n)
	}
	return d
}

// modelCase is an operator, and what its output is by definition.
type modelCase struct {
	name    string
	in      []*row.Layout
	make    func(Tables) (Loader, error)
	content func(in []bag, errs *modelErrors) bag
	domain  func(rng *rand.Rand, input int) []any // a random row
	spread  []Program                             // of each input, what spreads its rows over shards; nil: there is one shard
}

// modelErrors is what is wrong with the content: message → weight.
type modelErrors struct{ n map[string]int64 }

func (e *modelErrors) add(message string, n int64) {
	if e.n[message] += n; e.n[message] == 0 {
		delete(e.n, message)
	}
}

// keptTables remembers the tables of an operator.
type keptTables map[string]*state.Table

func (k keptTables) Table(name string, spec state.Spec) (*state.Table, error) {
	k[name] = state.New(spec)
	return k[name], nil
}

// dump is all that the tables hold.
func (k keptTables) dump() string {
	var lines []string
	for name, t := range k {
		spec := t.Spec()
		t.Each(func(ref state.Ref) bool {
			line := fmt.Sprintf("%s %v %v", name, plainRow(spec.Key, t.Key(ref), t.Heap()), t.Peek(ref))
			if spec.Entry != nil {
				var c state.Cursor
				for t.Scan(&c, ref); c.Next(); {
					line += fmt.Sprintf(" %v*%d", plainRow(spec.Entry, c.Row(), t.Heap()), c.Weight())
				}
			}
			lines = append(lines, line)
			return true
		})
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// check drives the operator through a random history and compares every step with the definition, and a bulk load with the history.
func (m *modelCase) check(t *testing.T, seed uint64, steps int, self bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	tables := keptTables{}
	op, err := m.make(tables)
	if err != nil {
		t.Fatal(err)
	}
	g := NewGraph()
	var from []int
	for i, l := range m.in {
		if i > 0 && self {
			from = append(from, from[0])
			continue
		}
		from = append(from, g.Source(fmt.Sprint("in", i), l))
	}
	g.Add("op", op, from...)
	content := make([]bag, len(m.in))
	for i := range content {
		content[i] = bag{}
	}
	if self {
		for i := range content {
			content[i] = content[0]
		}
	}
	before := m.content(content, &modelErrors{map[string]int64{}})
	var history strings.Builder
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("seed %d\n%s%s\ncontent of the inputs now:\n%v", seed, history.String(), fmt.Sprintf(format, args...), content)
	}
	for step := range steps {
		var deltas []*zset.Batch
		for i, l := range m.in {
			if i > 0 && self {
				break
			}
			d := m.delta(rng, i, content[i], l)
			fmt.Fprintf(&history, "step %d, input %d:\n%s", step, i, d.Print())
			content[i].addBatch(d, 1)
			deltas = append(deltas, d)
		}
		out, err := g.Step(context.Background(), 0, deltas...)
		if err != nil {
			fail("%v", err)
		}
		errs := &modelErrors{map[string]int64{}}
		now := m.content(content, errs)
		got := bag{}
		got.addBatch(out, 1)
		if want := minus(now, before); got.String() != want.String() {
			fail("delta\n%swant\n%s", got, want)
		}
		if len(got) != out.Len() {
			fail("the output of the graph is not consolidated")
		}
		before = now
		if got := errorCounts(g); !maps.Equal(got, errs.n) {
			fail("errors %v, want %v", got, errs.n)
		}
		if step%5 == 4 {
			m.checkLoad(rng, tables, content, now, errs, fail)
		}
	}
	// Everything goes: nothing may be left.
	var deltas []*zset.Batch
	for i, l := range m.in {
		if i > 0 && self {
			break
		}
		d := content[i].batch(l)
		d.Negate()
		deltas = append(deltas, d)
	}
	out, err := g.Step(context.Background(), 0, deltas...)
	if err != nil {
		fail("%v", err)
	}
	got := bag{}
	got.addBatch(out, 1)
	if want := minus(bag{}, before); got.String() != want.String() {
		fail("last delta\n%swant\n%s", got, want)
	}
	if d := tables.dump(); d != "" {
		fail("state that is left:\n%s", d)
	}
	for name, t := range tables {
		if n := t.Heap().Size(); n != 0 {
			fail("%s holds %d bytes of long values of rows that are gone", name, n)
		}
	}
	if got := errorCounts(g); len(got) != 0 {
		fail("errors that are left: %v", got)
	}
}

func errorCounts(g *Graph) map[string]int64 {
	n := map[string]int64{}
	for _, e := range g.Errors() {
		n[e.Message] += e.Count
	}
	return n
}

// delta is a random change of content: some rows come, some go, some do both.
func (m *modelCase) delta(rng *rand.Rand, input int, content bag, l *row.Layout) *zset.Batch {
	d := zset.New(l)
	left := bag{}
	for _, c := range content {
		left.add(c.row, c.n)
	}
	put := func(r []any, n int64) {
		putPlain(l, d.AppendRow(n), d.Heap, r)
		left.add(r, n)
	}
	if rng.IntN(8) == 0 {
		return d
	}
	n := 1 + rng.IntN(6)
	if rng.IntN(12) == 0 && len(content) > 0 { // all go
		for _, c := range content.ordered() {
			put(c.row, -c.n)
		}
		n = rng.IntN(2)
	}
	for range n {
		rows := left.ordered()
		switch k := rng.IntN(10); {
		case k < 5 || len(rows) == 0:
			put(m.domain(rng, input), 1+max(0, rng.Int64N(6)-3))
		case k < 8: // one row, some copies
			c := rows[rng.IntN(len(rows))]
			put(slices.Clone(c.row), -1-rng.Int64N(c.n))
		case k < 9: // an update
			c := rows[rng.IntN(len(rows))]
			r := slices.Clone(c.row)
			put(r, -1)
			r = slices.Clone(r)
			f := rng.IntN(len(r))
			r[f] = m.domain(rng, input)[f]
			put(r, 1)
		default: // the same row goes and comes
			c := rows[rng.IntN(len(rows))]
			r := slices.Clone(c.row)
			put(r, -1)
			put(r, 1)
		}
	}
	return d
}

// checkLoad loads the content into a new operator.
func (m *modelCase) checkLoad(rng *rand.Rand, stepped keptTables, content []bag, want bag, errs *modelErrors, fail func(string, ...any)) {
	tables := keptTables{}
	op, err := m.make(tables)
	if err != nil {
		fail("%v", err)
	}
	set := newErrorSet()
	e := &Epoch{errors: set}
	order := rng.Perm(len(m.in))
	for _, i := range order {
		all := content[i].batch(m.in[i])
		for at := 0; at < all.Len(); {
			n := min(all.Len()-at, 1+rng.IntN(20))
			part := zset.New(m.in[i])
			for k := at; k < at+n; k++ {
				part.Append(all.Row(k), all.Heap, all.Weights[k])
			}
			at += n
			if err := op.Load(context.Background(), e, i, part); err != nil {
				fail("load: %v", err)
			}
		}
	}
	out := zset.New(op.Layout())
	if err := op.Emit(context.Background(), e, out); err != nil {
		fail("emit: %v", err)
	}
	got := bag{}
	got.addBatch(out, 1)
	if got.String() != want.String() {
		fail("content after a load\n%swant\n%s", got, want)
	}
	if a, b := tables.dump(), stepped.dump(); a != b {
		fail("state after a load\n%s\nafter the history\n%s", a, b)
	}
	n := map[string]int64{}
	for _, x := range set.list() {
		n[x.Message] += x.Count
	}
	if !maps.Equal(n, errs.n) {
		fail("errors after a load %v, want %v", n, errs.n)
	}
}
