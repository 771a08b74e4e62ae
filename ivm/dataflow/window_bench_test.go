package dataflow

import (
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
)

// BenchmarkWindow is row_number and lag over 10 000 partitions of about 100 rows.
func BenchmarkWindow(b *testing.B) {
	l := row.ParseLayout("BIGINT", "BIGINT", "BIGINT", "UBIGINT")
	op, err := NewWindow(WindowSpec{Name: "w", Input: l, Partition: []int{0}, Order: []int{3}, Row: []int{0, 1, 2}, Functions: []WindowFunction{
		{Name: "row_number", Result: bigint}, {Name: "lag", Args: []int{1}, Offset: 1, Result: bigint}}}, Memory{})
	if err != nil {
		b.Fatal(err)
	}
	c, start := newChurn(l, 1_000_000, func(id int, r []uint64) {
		w4Row(id, r)
		r[1] = scatter(id) % 10000
	})
	benchmarkSteps(b, op, c, start)
}

// BenchmarkSumDouble is an exact sum of DOUBLE in 1000 groups.
func BenchmarkSumDouble(b *testing.B) {
	l := row.ParseLayout("BIGINT", "DOUBLE")
	benchmarkAggregate(b, l, 1_000_000, func(id int, r []uint64) {
		x := scatter(id)
		r[1], r[2] = x%1000, 0x3ff0000000000000|x>>12
	}, Function{Name: "sum", Args: []int{1}, Result: double})
}
