package lake

import (
	"math/bits"

	"github.com/vegadb/vega-flight/ivm/zset"
)

// nameSum is the sum of the names of rows: two contents with as many rows and the same sum are the same, whatever the order of their rows.
type nameSum struct {
	rows int64
	sum  rowName
}

func (s *nameSum) add(name rowName, weight int64) {
	s.rows += weight
	// Modulo 2^128: weight times the name, the weight with its sign.
	high, low := bits.Mul64(name[0], uint64(weight))
	high += name[1] * uint64(weight)
	if weight < 0 {
		high -= name[0]
	}
	var carry uint64
	s.sum[0], carry = bits.Add64(s.sum[0], low, 0)
	s.sum[1], _ = bits.Add64(s.sum[1], high, carry)
}

// is says that a batch has these rows.
func (s *nameSum) is(names *namer, b *zset.Batch) bool {
	var of nameSum
	for i, w := range b.Weights {
		of.add(names.name(b.Row(i), b.Heap), w)
	}
	return of == *s
}
