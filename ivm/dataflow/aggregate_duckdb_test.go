package dataflow

import (
	"context"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// TestFunctionsAsDuckDB compares averages and quantiles, bit by bit, with what DuckDB gave for the same values. A line of
// the file is: function(,quantile)|type|values|result.
func TestFunctionsAsDuckDB(t *testing.T) {
	text, err := os.ReadFile("testdata/duckdb/functions.txt")
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		p := strings.Split(line, "|")
		name, q, _ := strings.Cut(p[0], ",")
		typ := row.MustType(p[1])
		f := Function{Name: name, Args: []int{0}, Result: row.Type{Kind: row.Double}}
		if name == "quantile_disc" || typ.Kind == row.Float {
			f.Result = typ
		}
		if q != "" {
			f.Quantile = quantileOf(t, q)
		}
		l := row.NewLayout(typ)
		if !NativeFunction(f, l) {
			t.Fatalf("%s is not native", line)
		}
		op := must[Operator](t)(NewAggregate(AggregateSpec{Name: "a", Input: l, Functions: []Function{f}}, Memory{}))
		in := must[*zset.Batch](t)(zset.Parse(l, strings.ReplaceAll(p[2], " ", " | +1\n")+" | +1\n"))
		out := zset.New(op.Layout())
		if err := op.Step(context.Background(), testEpoch(0), []*zset.Batch{in}, out); err != nil {
			t.Fatal(err)
		}
		got := out.Row(0)[1]
		if want := resultOf(t, p[3], f.Result); got != want {
			t.Errorf("%s: %v and not %s", line, strconv.FormatFloat(numberOf(f.Result, got), 'x', 13, 64), p[3])
			if wrong++; wrong > 30 {
				t.FailNow()
			}
		}
	}
}

func quantileOf(t *testing.T, s string) Quantile {
	exact := !strings.Contains(s, "::double")
	s = strings.Trim(strings.TrimSuffix(s, "::double"), "()")
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	q := Quantile{Value: v}
	if exact { // DECIMAL
		whole, digits, _ := strings.Cut(s, ".")
		q.Scaling = 1
		for range digits {
			q.Scaling *= 10
		}
		q.Integral, _ = strconv.ParseInt(whole+digits, 10, 64)
	}
	return q
}

func resultOf(t *testing.T, s string, typ row.Type) uint64 {
	if isFloat(typ) {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		if typ.Kind == row.Float {
			return uint64(math.Float32bits(float32(x)))
		}
		return math.Float64bits(x)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(n)
}
