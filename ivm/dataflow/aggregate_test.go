package dataflow

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// TestOrderOfTypes gives values in DuckDB's order, in any order: min is the first and max the last, and when those go, the next.
func TestOrderOfTypes(t *testing.T) {
	for typ, values := range map[string]string{
		"BOOLEAN": "false true", "TINYINT": "-128 -1 0 127", "UTINYINT": "0 127 255", "BIGINT": "-9223372036854775808 -1 0 9223372036854775807",
		"UBIGINT": "0 9223372036854775807 18446744073709551615", "HUGEINT": "-170141183460469231731687303715884105728 -18446744073709551616 -1 0 1 18446744073709551615 18446744073709551616",
		"UHUGEINT": "0 1 18446744073709551616 340282366920938463463374607431768211455", "FLOAT": "-inf -1.5 -0 0 1e-40 2 inf nan",
		"DOUBLE": "-inf -1e+300 -0 0 5e-324 2 inf nan", "DECIMAL(9,2)": "-1.50 0.00 0.01 7.00", "DECIMAL(38,2)": "-99999999999999999999.00 -0.01 0.00 99999999999999999999.00",
		"DATE": "1900-01-01 1969-12-31 1970-01-01 2024-02-29", "TIME": "00:00:00 12:00:00 23:59:59", "VARCHAR": "A a aa thirteen_bytes thirteen_bytes! z é",
		"BLOB": `\x00 \x0001 \x7f \xff`, "UUID": "00000000-0000-0000-0000-000000000001 7fffffff-ffff-ffff-ffff-ffffffffffff 80000000-0000-0000-0000-000000000000 ffffffff-ffff-ffff-ffff-ffffffffffff",
	} {
		l := row.ParseLayout(typ)
		f := func(name string) Function { return Function{Name: name, Args: []int{0}, Result: l.Types[0]} }
		h := must[*history](t)(newHistory(t, func(tables Tables) (Operator, error) {
			return NewAggregate(AggregateSpec{Name: "a", Input: l, Functions: []Function{f("min"), f("max"), f("quantile_disc")}}, tables)
		}, zset.New(l)))
		sorted := strings.Fields(values)
		b := zset.New(l)
		for _, i := range rand.New(rand.NewPCG(1, 8)).Perm(len(sorted)) {
			b.AppendBatch(must[*zset.Batch](t)(zset.Parse(l, sorted[i]+" | +1")))
		}
		for i := 0; i <= len(sorted)/2; i++ {
			must[*zset.Batch](t)(h.step(0, b))
			last := len(sorted) - 1 - i
			if i > last {
				break
			}
			got := strings.Split(h.content.Layout.Format(h.content.Row(0), h.content.Heap), " | ")
			if got[0] != sorted[i] || got[1] != sorted[last] {
				t.Errorf("%s: of %v min is %s and max is %s", typ, sorted[i:last+1], got[0], got[1])
			}
			b = must[*zset.Batch](t)(zset.Parse(l, sorted[i]+" | -1\n"))
			if last > i {
				b.AppendBatch(must[*zset.Batch](t)(zset.Parse(l, sorted[last]+" | -1")))
			}
		}
	}
}

// halves is a program (k, v) → (k, v/2) that odd values fail.
type halves struct{ layout *row.Layout }

func (p halves) Layout() *row.Layout { return p.layout }

func (p halves) Run(_ context.Context, in, out *zset.Batch, bad func(int, error)) error {
	for i, w := range in.Weights {
		r := in.Row(i)
		if r[2]%2 == 1 {
			bad(i, errors.New("odd"))
			continue
		}
		x := out.AppendRow(w)
		x[1], x[2] = r[1], r[2]/2
	}
	return nil
}

// TestRowsThatCannotBePrepared: they are errors with their weights, for every operator that prepares rows, and heal.
func TestRowsThatCannotBePrepared(t *testing.T) {
	l := row.ParseLayout("BIGINT", "BIGINT")
	p := halves{l}
	for name, make := range map[string]func() (Operator, error){
		"aggregate": func() (Operator, error) {
			return NewAggregate(AggregateSpec{Name: "a", Input: l, Prepare: p, Groups: []Group{{0, 0}}, Functions: []Function{{Name: "max", Args: []int{1}, Result: bigint}}}, Memory{})
		},
		"topk": func() (Operator, error) {
			return NewTopK(TopKSpec{Name: "t", Input: l, Prepare: p, Partition: []int{0}, Order: []int{1}, Row: []int{0, 1}, Limit: 1}, Memory{})
		},
		"window": func() (Operator, error) {
			return NewWindow(WindowSpec{Name: "w", Input: l, Prepare: p, Partition: []int{0}, Order: []int{1}, Row: []int{0, 1}}, Memory{})
		},
	} {
		op := must[Operator](t)(make())
		e := testEpoch(0)
		content := zset.New(op.Layout())
		step := func(text string) {
			out := zset.New(op.Layout())
			in := must[*zset.Batch](t)(zset.Parse(l, text))
			if err := op.Step(context.Background(), e, []*zset.Batch{in}, out); err != nil {
				t.Fatal(err)
			}
			content.AppendBatch(out)
			content.Consolidate()
		}
		step("1 | 8 | +1\n1 | 9 | +2\n")
		if errs := e.errors.list(); len(errs) != 1 || errs[0].Row != "1 | 9" || errs[0].Count != 2 || errs[0].Message != "odd" {
			t.Errorf("%s: errors %v", name, errs)
		}
		if content.Print() != "1 | 4 | +1\n" {
			t.Errorf("%s: content\n%s", name, content.Print())
		}
		step("1 | 9 | -2\n")
		if errs := e.errors.list(); len(errs) != 0 {
			t.Errorf("%s: errors %v", name, errs)
		}
	}
}

// TestGroupStepsDoNotAllocateByTheRow: a step of many rows allocates no more than one of few.
func TestGroupStepsDoNotAllocateByTheRow(t *testing.T) {
	l := row.ParseLayout("BIGINT", "BIGINT", "BIGINT", "UBIGINT")
	for name, make := range map[string]func() (Operator, error){
		"aggregate": func() (Operator, error) {
			return NewAggregate(AggregateSpec{Name: "a", Input: l, Groups: []Group{{0, 0}}, Functions: w1bFunctions}, Memory{})
		},
		"topk": func() (Operator, error) {
			return NewTopK(TopKSpec{Name: "t", Input: l, Partition: []int{0}, Order: []int{3}, Row: []int{0, 1, 2}, Limit: 3}, Memory{})
		},
	} {
		op := must[Operator](t)(make())
		c, start := newChurn(l, 20_000, w4Row)
		e, out := testEpoch(0), zset.New(op.Layout())
		step := func(b *zset.Batch) {
			out.Reset()
			if err := op.Step(context.Background(), e, []*zset.Batch{b}, out); err != nil {
				t.Fatal(err)
			}
		}
		step(start)
		b := c.batch(4000)
		step(b)
		if n := testing.AllocsPerRun(10, func() {
			b.Negate()
			step(b)
			b.Negate()
			step(b)
		}); n > 40 {
			t.Errorf("%s: %v allocations for two steps of 4000 rows", name, n)
		}
	}
}
