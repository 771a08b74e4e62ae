package dataflow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// summedJoin is a join and the aggregation above it as one operator.
type summedJoin struct {
	join      Loader
	aggregate Loader
}

func (s *summedJoin) Layout() *row.Layout { return s.aggregate.Layout() }

func (s *summedJoin) Cancels() bool { return true }

func (s *summedJoin) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	between := zset.New(s.join.Layout())
	if err := s.join.Step(ctx, e, in, between); err != nil {
		return err
	}
	between.Consolidate()
	if err := s.aggregate.Step(ctx, e, []*zset.Batch{between}, out); err != nil {
		return err
	}
	withoutNone(out)
	return nil
}

func (s *summedJoin) Load(ctx context.Context, e *Epoch, input int, rows *zset.Batch) error {
	return s.join.Load(ctx, e, input, rows)
}

func (s *summedJoin) Emit(ctx context.Context, e *Epoch, out *zset.Batch) error {
	between := zset.New(s.join.Layout())
	if err := s.join.Emit(ctx, e, between); err != nil {
		return err
	}
	if err := s.aggregate.Load(ctx, e, 0, between); err != nil {
		return err
	}
	if err := s.aggregate.Emit(ctx, e, out); err != nil {
		return err
	}
	withoutNone(out)
	return nil
}

// withoutNone drops the row that an aggregation of no rows has.
func withoutNone(out *zset.Batch) {
	all := out.Clone()
	out.Reset()
	for i, w := range all.Weights {
		if all.Layout.Types[0].Kind == row.Varchar || all.Row(i)[all.Layout.Off[0]] != 0 {
			out.Append(all.Row(i), all.Heap, w)
		}
	}
}

// TestSumsOfAJoin compares aggregations over joins of which one side has only sums, or both have, with those over the joins' rows.
func TestSumsOfAJoin(t *testing.T) {
	facts := row.ParseLayout("BIGINT", "INTEGER", "UBIGINT", "DECIMAL(9,2)", "VARCHAR") // key, three values, text
	marks := row.ParseLayout("BIGINT", "VARCHAR", "BIGINT")                             // key, group, value
	for seed := range uint64(48) {
		kind := []JoinKind{JoinInner, JoinLeft, JoinRight, JoinFull}[seed%4]
		swapped, both, cross := seed&4 != 0, seed&8 != 0, seed&16 != 0
		t.Run(fmt.Sprintf("%d/%d", kind, seed), func(t *testing.T) {
			t.Parallel()
			layouts := []*row.Layout{facts, marks}
			output := []int{1, 2, 3, 6, 7} // the values, group, value
			if swapped {
				layouts, output = []*row.Layout{marks, facts}, []int{4, 5, 6, 1, 2}
			}
			groups := []Group{{3, 3}}
			if both {
				output, groups = append(output[:3:3], output[4]), nil
			}
			open := func(tables Tables, sums bool) (Loader, error) {
				spec := JoinSpec{Kind: kind, Left: JoinSide{layouts[0], nil}, Right: JoinSide{layouts[1], nil}, Output: output}
				if !cross {
					spec.Left.Keys, spec.Right.Keys, spec.NullSafe = fieldsOf(layouts[0], 0), fieldsOf(layouts[1], 0), []bool{seed%3 == 0}
				}
				if sums {
					spec.Sums = [2]bool{both || !swapped, both || swapped}
				}
				join, err := NewJoin("join", spec, tables)
				if err != nil {
					return nil, err
				}
				huge, double, decimal := row.MustType("HUGEINT"), row.MustType("DOUBLE"), row.MustType("DECIMAL(38,2)")
				functions := []Function{
					{Name: "count", Result: bigint},
					{Name: "sum", Args: []int{0}, Result: huge},
					{Name: "count", Args: []int{0}, Result: bigint},
					{Name: "avg", Args: []int{0}, Result: double, Of: facts.Types[1]},
					{Name: "sum", Args: []int{1}, Result: huge},
					{Name: "avg", Args: []int{1}, Result: double, Of: facts.Types[2]},
					{Name: "sum", Args: []int{2}, Result: decimal},
					{Name: "avg", Args: []int{2}, Result: double, Of: facts.Types[3]},
				}
				if both {
					functions = append(functions, Function{Name: "sum", Args: []int{3}, Result: huge}, Function{Name: "count", Args: []int{3}, Result: bigint})
				} else { // anything of the other side
					functions = append(functions, Function{Name: "sum", Args: []int{4}, Result: huge}, Function{Name: "max", Args: []int{4}, Result: bigint},
						Function{Name: "count", Args: []int{4}, Distinct: true, Result: bigint}, Function{Name: "mode", Args: []int{4}, Result: bigint})
				}
				a, err := NewAggregate(AggregateSpec{Name: "aggregate", Input: join.Layout(), Groups: groups, Functions: functions}, Memory{})
				if err != nil {
					return nil, err
				}
				return &summedJoin{join, a.(Loader)}, nil
			}
			m := &modelCase{
				name: "sums", in: layouts,
				make: func(t Tables) (Loader, error) { return open(t, true) },
				domain: func(rng *rand.Rand, input int) []any {
					r := []any{int64(rng.IntN(3)), int64(rng.IntN(5)) - 2, int64(rng.IntN(5)), int64(rng.IntN(1000)) - 500, "whatever it is that is written here"}
					if layouts[input] == marks {
						r = []any{int64(rng.IntN(3)), fmt.Sprint("a group of some name ", rng.IntN(3)), int64(rng.IntN(4)) - 1}
					}
					for i := range r {
						if rng.IntN(8) == 0 {
							r[i] = nil
						}
					}
					return r
				},
				content: func(in []bag, _ *modelErrors) bag {
					rows, err := open(Memory{}, false)
					if err != nil {
						t.Fatal(err)
					}
					out := zset.New(rows.Layout())
					if err := rows.Step(t.Context(), testEpoch(0), []*zset.Batch{in[0].batch(layouts[0]), in[1].batch(layouts[1])}, out); err != nil {
						t.Fatal(err)
					}
					b := bag{}
					b.addBatch(out, 1)
					return b
				},
			}
			m.check(t, seed, 40, false)
		})
	}
}
