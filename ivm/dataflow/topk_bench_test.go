package dataflow

import (
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
)

func BenchmarkW4Load(b *testing.B) {
	l := row.ParseLayout("BIGINT", "BIGINT", "BIGINT", "UBIGINT")
	_, start := newChurn(l, 1_000_000, w4Row)
	benchmarkLoad(b, start, func() (Operator, error) {
		return NewTopK(TopKSpec{Name: "t", Input: l, Partition: []int{0}, Order: []int{3}, Row: []int{0, 1, 2}, Limit: 3}, Memory{})
	})
}

// w4Row is a row (group, v, id, and v as v DESC orders it).
func w4Row(id int, r []uint64) {
	x := scatter(id)
	v := x >> 32 % 1_000_000
	r[1], r[2], r[3], r[4] = x%1000, v, uint64(id), ^(v ^ signBit)
}

func BenchmarkW4(b *testing.B) {
	l := row.ParseLayout("BIGINT", "BIGINT", "BIGINT", "UBIGINT")
	op, err := NewTopK(TopKSpec{Name: "t", Input: l, Partition: []int{0}, Order: []int{3}, Row: []int{0, 1, 2}, Limit: 3}, Memory{})
	if err != nil {
		b.Fatal(err)
	}
	c, start := newChurn(l, 1_000_000, w4Row)
	benchmarkSteps(b, op, c, start)
}
