package dataflow

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestFloatSumIsExact adds random floats of all sizes with random weights, in windows as long as they fit, and compares sums
// of values and of squares with those of numbers of any size; in the end all of it is taken back in another order.
func TestFloatSumIsExact(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		p, q := make([]uint64, floatWords), make([]uint64, floatWords)
		wide := make([]uint64, wideWords)
		spread := []int{2, 40, 150, 1000}[seed%4]
		centre := rng.IntN(2000) - 1000
		sum, squares := new(big.Float).SetPrec(9000), new(big.Float).SetPrec(9000)
		type term struct {
			x float64
			w int64
		}
		add := func(x float64, w int64) {
			if !floatAdd(p, x, w) {
				floatAddWide(p, wide, x, w)
			}
			if !squareAdd(q, x, w) {
				squareAddWide(q, wide, x, w)
			}
		}
		var terms []term
		for range 100 {
			x := math.Ldexp(rng.Float64()*2-1, centre+rng.IntN(2*spread)-spread)
			if rng.IntN(20) == 0 {
				x = math.Float64frombits(rng.Uint64N(1 << 53)) // subnormal, or just above
			}
			w := rng.Int64N(7) - 3
			if rng.IntN(10) == 0 {
				w = rng.Int64() >> rng.IntN(60)
			}
			if w == 0 || x-x != 0 {
				continue
			}
			terms = append(terms, term{x, w})
			add(x, w)
			bx, bw := new(big.Float).SetPrec(9000).SetFloat64(x), new(big.Float).SetInt64(w)
			bw.SetPrec(9000)
			sum.Add(sum, new(big.Float).SetPrec(9000).Mul(bx, bw))
			squares.Add(squares, new(big.Float).SetPrec(9000).Mul(bw, bx.Mul(bx, bx)))
			if want, _ := sum.Float64(); floatSum(p, wide) != want {
				t.Fatalf("seed %d: after %v × %d the sum is %v and not %v", seed, x, w, floatSum(p, wide), want)
			}
			if got := exactSum(q, wide, 1); got.Cmp(squares) != 0 {
				t.Fatalf("seed %d: after %v × %d the sum of squares is %v and not %v", seed, x, w, got, squares)
			}
		}
		rng.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
		for _, x := range terms {
			add(x.x, -x.w)
		}
		if floatSum(p, wide) != 0 || exactSum(q, wide, 1).Sign() != 0 {
			t.Fatalf("seed %d: %v and %v are left", seed, floatSum(p, wide), exactSum(q, wide, 1))
		}
		for i, x := range wide {
			if x != 0 {
				t.Fatalf("seed %d: word %d of the wide state is %x", seed, i, x)
			}
		}
	}
}
