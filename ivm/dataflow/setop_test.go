package dataflow

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
)

var (
	setLayout    = row.ParseLayout("BIGINT", "VARCHAR")
	setKindNames = []string{"union", "except", "except_all", "intersect", "intersect_all"}
)

// setRow is a row whose text is equal to others but for its case.
func setRow(rng *rand.Rand, _ int) []any {
	r := []any{any(rng.Int64N(3)), []any{nil, "a", "A", "a text that is longer than two words", "a text that is longer than TWO words"}[rng.IntN(5)]}
	if rng.IntN(6) == 0 {
		r[0] = nil
	}
	return r
}

func lowered(r []any) []any {
	r = slices.Clone(r)
	if s, ok := r[1].(string); ok {
		r[1] = strings.ToLower(s)
	}
	return r
}

// comparePlain is the order of rows in a table: values, NULL as 0 or "", and NULL behind what it is equal to.
func comparePlain(a, b []any) int {
	for i := range a {
		x, y := a[i], b[i]
		if _, ok := cmp.Or(x, y).(string); ok {
			s, _ := x.(string)
			u, _ := y.(string)
			if c := cmp.Compare(s, u); c != 0 {
				return c
			}
			continue
		}
		n, _ := x.(int64)
		m, _ := y.(int64)
		if c := cmp.Compare(uint64(n), uint64(m)); c != 0 {
			return c
		}
	}
	for i := len(a) - 1; i >= 0; i-- {
		if (a[i] == nil) != (b[i] == nil) {
			if a[i] == nil {
				return 1
			}
			return -1
		}
	}
	return 0
}

// firstCopies is the first n copies of rows in an order.
func firstCopies(out bag, rows []*copies, n int64, order func(a, b []any) int) {
	slices.SortFunc(rows, func(a, b *copies) int { return order(a.row, b.row) })
	for _, c := range rows {
		if n <= 0 {
			return
		}
		out.add(c.row, min(n, c.n))
		n -= min(n, c.n)
	}
}

func setModel(kind SetKind, keyed bool, inputs int) *modelCase {
	s := SetOpSpec{Kind: kind, Layout: setLayout, Inputs: inputs}
	key := func(r []any) []any { return r }
	if keyed {
		key = lowered
		for range inputs {
			s.Keys = append(s.Keys, &funcProgram{setLayout, setLayout, func(r []any) ([]any, error) { return lowered(r), nil }})
		}
	}
	m := &modelCase{name: fmt.Sprintf("%s/keyed=%v/inputs=%d", setKindNames[kind], keyed, inputs), domain: setRow}
	for i := range inputs {
		m.in = append(m.in, setLayout)
		m.spread = append(m.spread, nil) // by the rows themselves
		if keyed {
			m.spread[i] = s.Keys[i]
		}
	}
	m.make = func(t Tables) (Loader, error) { return NewSetOp("s", s, t) }
	m.content = func(in []bag, _ *modelErrors) bag {
		type group struct {
			n    []int64
			rows []*copies
		}
		groups := map[string]*group{}
		for i, b := range in {
			for _, c := range b.ordered() {
				k := plainText(key(c.row))
				if groups[k] == nil {
					groups[k] = &group{n: make([]int64, inputs)}
				}
				g := groups[k]
				g.n[i] += c.n
				if i == 0 || kind == SetUnion {
					g.rows = append(g.rows, c)
				}
			}
		}
		out := bag{}
		for _, g := range groups {
			n := int64(0)
			switch kind {
			case SetUnion:
				n = 1
			case SetExcept:
				if g.n[0] > 0 && g.n[1] == 0 {
					n = 1
				}
			case SetIntersect:
				if g.n[0] > 0 && g.n[1] > 0 {
					n = 1
				}
			case SetExceptAll:
				n = g.n[0] - g.n[1]
			case SetIntersectAll:
				n = min(g.n[0], g.n[1])
			}
			firstCopies(out, g.rows, n, comparePlain)
		}
		return out
	}
	return m
}

func TestSetOperationsAgainstTheirDefinition(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		for kind := SetUnion; kind <= SetIntersectAll; kind++ {
			runModel(t, setModel(kind, keyed, 2))
		}
		runModel(t, setModel(SetUnion, keyed, 3))
	}
}

func TestDistinctAgainstItsDefinition(t *testing.T) {
	for _, m := range distinctModels() {
		runModel(t, m)
	}
}

// distinctModels are DISTINCT of rows and of rows that differ in case only, and DISTINCT ON.
func distinctModels() map[string]*modelCase {
	lower := &funcProgram{setLayout, setLayout, func(r []any) ([]any, error) { return lowered(r), nil }}
	on := DistinctSpec{Layout: sideLayout, Keys: fieldsOf(sideLayout, 0), Order: ascendingNullsLast(sideLayout, 1)}
	return map[string]*modelCase{
		"rows": distinctModel("rows", DistinctSpec{Layout: setLayout}, func(r []any) []any { return r }, comparePlain),
		"keys": distinctModel("keys", DistinctSpec{Layout: setLayout, Keys: lower}, lowered, comparePlain),
		"on":   distinctModel("on", on, func(r []any) []any { return r[:1] }, compareValueFirst),
	}
}

// compareValueFirst orders rows by field 1, NULL last, then by the whole row.
func compareValueFirst(a, b []any) int {
	if (a[1] == nil) != (b[1] == nil) {
		if a[1] == nil {
			return 1
		}
		return -1
	}
	if a[1] != nil {
		if c := cmp.Compare(a[1].(int64), b[1].(int64)); c != 0 {
			return c
		}
	}
	return comparePlain(a, b)
}

// ascendingNullsLast turns BIGINT into order fields: the rank of NULL, then the value.
func ascendingNullsLast(in *row.Layout, field int) Program {
	return &funcProgram{in, row.ParseLayout("UBIGINT", "UBIGINT"), func(r []any) ([]any, error) {
		if x, ok := r[field].(int64); ok {
			return []any{int64(0), x ^ -1<<63}, nil
		}
		return []any{int64(1), int64(0)}, nil
	}}
}

func distinctModel(name string, s DistinctSpec, key func([]any) []any, order func(a, b []any) int) *modelCase {
	domain := setRow
	if s.Layout == sideLayout {
		domain = smallRow
	}
	return &modelCase{
		name: name, in: []*row.Layout{s.Layout}, domain: domain, spread: []Program{s.Keys},
		make: func(t Tables) (Loader, error) { return NewDistinct("d", s, t) },
		content: func(in []bag, _ *modelErrors) bag {
			groups := map[string][]*copies{}
			for _, c := range in[0].ordered() {
				k := plainText(key(c.row))
				groups[k] = append(groups[k], c)
			}
			out := bag{}
			for _, rows := range groups {
				firstCopies(out, rows, 1, order)
			}
			return out
		},
	}
}
