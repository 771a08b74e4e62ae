package dataflow

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// every is one operator of each form.
func every() map[string]*modelCase {
	all := map[string]*modelCase{
		"mark_aware":      joinCase{kind: JoinMark, keys: 2, aware: true}.model(""),
		"mark_aware_rows": joinCase{kind: JoinMark, keys: 1, aware: true, pred: valuesLess}.model(""),
	}
	for kind := JoinInner; kind <= JoinSingle; kind++ {
		all[joinKindNames[kind]] = joinCase{kind: kind, keys: 1}.model("")
		all[joinKindNames[kind]+"_predicate"] = joinCase{kind: kind, keys: 1, pred: valuesLess}.model("")
		all[joinKindNames[kind]+"_narrow"] = joinCase{kind: kind, keys: 1, output: []int{2}}.model("")
	}
	for op := AsofGE; op <= AsofLT; op++ {
		all[fmt.Sprint("asof", op)] = asofModel(JoinLeft, op, 1, false)
	}
	for kind := SetUnion; kind <= SetIntersectAll; kind++ {
		all["set_"+setKindNames[kind]] = setModel(kind, false, 2)
		all["set_keyed_"+setKindNames[kind]] = setModel(kind, true, 2)
	}
	for name, m := range distinctModels() {
		all["distinct_"+name] = m
	}
	return all
}

func TestExcessRetractionIsRefusedWithTheRow(t *testing.T) {
	for name, m := range every() {
		for input := range m.in {
			t.Run(fmt.Sprintf("%s/%d", name, input), func(t *testing.T) {
				op, err := m.make(Memory{})
				if err != nil {
					t.Fatal(err)
				}
				text := "1 | one"
				if m.in[input] == sideLayout {
					text = "1 | 1 | one"
				}
				step := func(lines string) error {
					var in []*zset.Batch
					for i, l := range m.in {
						b := zset.New(l)
						if i == input {
							if b, err = zset.Parse(l, lines); err != nil {
								t.Fatal(err)
							}
						}
						in = append(in, b)
					}
					return op.Step(context.Background(), &Epoch{errors: newErrorSet()}, in, zset.New(op.Layout()))
				}
				// A count may be below zero while a step's change is not all in.
				for _, w := range []string{"-1 +1", "+2", "-1 +1"} {
					lines := ""
					for _, n := range strings.Fields(w) {
						lines += text + " | " + n + "\n"
					}
					if err := step(lines); err != nil {
						t.Fatalf("%s: %v", lines, err)
					}
				}
				if err := step(text + " | -2\n"); err != nil {
					t.Fatal(err)
				}
				err = step(text + " | -1\n")
				if fault.CodeOf(err) != fault.ExcessRetraction || !strings.Contains(err.Error(), "("+text) {
					t.Fatalf("the retraction of a row that is not there gives %v", err)
				}
			})
		}
	}
}

func TestStepsDoNotAllocateByTheRow(t *testing.T) {
	for _, kind := range []JoinKind{JoinInner, JoinLeft, JoinFull, JoinSemi, JoinMark} {
		t.Run(joinKindNames[kind], func(t *testing.T) {
			op, err := NewJoin("j", JoinSpec{
				Kind: kind, NullSafe: []bool{false},
				Left:  JoinSide{orderLayout, fieldsOf(orderLayout, 1)},
				Right: JoinSide{customerLayout, fieldsOf(customerLayout, 0)},
			}, Memory{})
			if err != nil {
				t.Fatal(err)
			}
			_, left, right := newOrders(10_000, 200)
			out := zset.New(op.Layout())
			ctx, e := context.Background(), &Epoch{errors: newErrorSet()}
			in := []*zset.Batch{left, right}
			steps := func() {
				for range 2 {
					out.Reset()
					if err := op.Step(ctx, e, in, out); err != nil {
						t.Fatal(err)
					}
					left.Negate()
					right.Negate()
				}
			}
			for range 3 {
				steps()
			}
			if n := testing.AllocsPerRun(3, steps); n > 200 {
				t.Fatalf("%v allocations in two steps of 10200 rows", n)
			}
		})
	}
}
