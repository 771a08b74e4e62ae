package lake

import (
	"context"
	"math/bits"

	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// rowSum is the sum of rows' hashes: two contents with as many rows and the same sum are taken for the same, whatever the order of their rows.
// It finds what has gone wrong; nobody goes by it to tell single rows apart.
type rowSum struct {
	names  *namer
	hashes []uint64

	rows int64
	sum  [2]uint64
}

// Summing begins a sum.
func (r *result) Summing() stream.Sum { return &rowSum{names: r.names} }

// Add adds rows as often as they are there.
func (s *rowSum) Add(b *zset.Batch) { s.add(b, b.Weights) }

// add adds rows; without weights each once.
func (s *rowSum) add(b *zset.Batch, weights []int64) {
	l, n := b.Layout, len(b.Words)/max(b.Layout.Words, 1)
	if l.Words == 0 {
		n = len(weights)
	}
	if s.names.shared() {
		s.hashes = s.hashes[:0]
		for i := range n {
			s.hashes = append(s.hashes, l.Hash(s.names.plain.Of(b.Words[i*l.Words:(i+1)*l.Words], b.Heap)))
		}
	} else {
		s.hashes = l.HashAll(s.hashes, b.Words, n, b.Heap)
	}
	if weights == nil {
		s.rows += int64(n)
		for _, h := range s.hashes {
			s.sum[0] += h
			s.sum[1] += other(h)
		}
		return
	}
	for i, h := range s.hashes {
		w := weights[i]
		s.rows += w
		s.sum[0] += h * uint64(w)
		s.sum[1] += other(h) * uint64(w)
	}
}

// other is a second hash of what has a first one: two rows instead of two others are seen by it.
func other(h uint64) uint64 {
	high, low := bits.Mul64(h^0x9e3779b97f4a7c15, h|1)
	return high ^ low
}

func (s *rowSum) is(o *rowSum) bool { return s.rows == o.rows && s.sum == o.sum }

// Has says whether the table has the rows of a sum. What somebody else wrote is taken as it is.
func (r *result) Has(ctx context.Context, sum stream.Sum) (bool, error) {
	if err := r.Reload(ctx); err != nil {
		return false, err
	}
	if r.sum == nil { // it was written to, or rows were moved
		if err := r.all(ctx); err != nil {
			return false, err
		}
	}
	s, ok := sum.(*rowSum)
	return ok && r.sum.is(s), r.places.err()
}
