package dataflow

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
)

// asofModel compares field by field: 1 is a number, 2 a text.
func asofModel(kind JoinKind, op AsofOp, field int, nullSafe bool) *modelCase {
	s := AsofSpec{
		Kind: kind, Op: op, NullSafe: []bool{nullSafe},
		Left:  JoinSide{sideLayout, fieldsOf(sideLayout, 0)},
		Right: JoinSide{sideLayout, fieldsOf(sideLayout, 0)},
		Order: [2]Program{ascending(sideLayout, 1), ascending(sideLayout, 1)},
	}
	if field == 2 {
		s.Order = [2]Program{fieldsOf(sideLayout, 2), fieldsOf(sideLayout, 2)}
	}
	compare := func(a, b any) int {
		if x, ok := a.(int64); ok {
			return cmp.Compare(x, b.(int64))
		}
		return cmp.Compare(a.(string), b.(string))
	}
	return &modelCase{
		name:   fmt.Sprintf("%s/op=%d/field=%d/null_safe=%v", joinKindNames[kind], op, field, nullSafe),
		in:     []*row.Layout{sideLayout, sideLayout},
		spread: spreadBy(sideLayout, 2, 0),
		make:   func(t Tables) (Loader, error) { return NewAsof("a", s, t) },
		domain: func(rng *rand.Rand, input int) []any {
			r := smallRow(rng, input)
			r[0] = any(rng.Int64N(2))
			if rng.IntN(8) == 0 {
				r[0] = nil
			}
			if r[1] != nil {
				r[1] = rng.Int64N(12) - 6
			}
			if field == 2 && r[2] != nil {
				r[2] = []string{"", "a", "a\x00", "a\x00\x00", "b", "a long text that goes to a heap", "a long text that goes to a heap\x00", "zz"}[rng.IntN(8)]
			}
			return r
		},
		content: func(in []bag, _ *modelErrors) bag {
			out := bag{}
			for _, l := range in[0].ordered() {
				var best []any
				for _, r := range in[1].ordered() {
					if l.row[0] != r.row[0] || l.row[0] == nil && !nullSafe || l.row[field] == nil || r.row[field] == nil {
						continue
					}
					c := compare(l.row[field], r.row[field])
					if ok := [...]bool{c >= 0, c > 0, c <= 0, c < 0}[op]; !ok {
						continue
					}
					if best == nil {
						best = r.row
						continue
					}
					nearer := compare(r.row[field], best[field])
					if op >= AsofLE {
						nearer = -nearer
					}
					if nearer > 0 || nearer == 0 && comparePlain(r.row, best) < 0 {
						best = r.row
					}
				}
				switch {
				case best != nil:
					out.add(append(append([]any{}, l.row...), best...), l.n)
				case kind == JoinLeft:
					out.add(append(append([]any{}, l.row...), nil, nil, nil), l.n)
				}
			}
			return out
		},
	}
}

func TestAsofJoinsAgainstTheirDefinition(t *testing.T) {
	for _, kind := range []JoinKind{JoinInner, JoinLeft} {
		for op := AsofGE; op <= AsofLT; op++ {
			runModel(t, asofModel(kind, op, 1, false))
			runModel(t, asofModel(kind, op, 2, true))
		}
	}
}
