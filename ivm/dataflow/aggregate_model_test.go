package dataflow

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// The model of an aggregation is its definition: after each step all groups are computed from all rows.

// mrow is a row of (k BIGINT, i BIGINT, d DOUBLE, s VARCHAR, h HUGEINT, b BOOLEAN, o BIGINT); -1 in null's bit is NULL.
type mrow struct {
	k, i int64
	d    float64
	s    string
	h    int // of huges
	b    bool
	o    int64
	null uint
}

const (
	nullK = 1 << iota
	nullI
	nullD
	nullS
	nullH
	nullB
)

var (
	modelLayout = row.ParseLayout("BIGINT", "BIGINT", "DOUBLE", "VARCHAR", "HUGEINT", "BOOLEAN", "BIGINT")
	floats      = []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1e16, -1e16, 3e-5, 1e300, -1e300, 5e-324, math.MaxFloat64, math.NaN(), math.Inf(1), math.Inf(-1)}
	texts       = []string{"", "a", "ab", "b", "twelve bytes", "thirteen bytes", "a text that is longer than a row's words"}
	huges       = []*big.Int{big.NewInt(0), big.NewInt(1), big.NewInt(-1), maxHuge, new(big.Int).Neg(maxHuge), big.NewInt(1 << 40)}
	maxHuge     = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 127), big.NewInt(1))
)

func randomRow(rng *rand.Rand, special bool) mrow {
	r := mrow{k: rng.Int64N(4), i: rng.Int64N(6) - 2, s: texts[rng.IntN(len(texts))], h: rng.IntN(len(huges)), b: rng.IntN(2) == 0, o: rng.Int64N(3)}
	n := len(floats) - 4
	if special {
		n = len(floats)
	}
	r.d = floats[rng.IntN(n)]
	if rng.IntN(10) == 0 {
		r.i = math.MaxInt64 - rng.Int64N(2)
	}
	for bit := range 6 {
		if rng.IntN(8) == 0 {
			r.null |= 1 << bit
		}
	}
	// NULLs have one value, so that equal rows are equal
	if r.null&nullK != 0 {
		r.k = 0
	}
	if r.null&nullI != 0 {
		r.i = 0
	}
	if r.null&nullD != 0 {
		r.d = 0
	}
	if r.null&nullS != 0 {
		r.s = ""
	}
	if r.null&nullH != 0 {
		r.h = 0
	}
	if r.null&nullB != 0 {
		r.b = false
	}
	return r
}

func hugeWords(n *big.Int) (lo, hi uint64) {
	m := new(big.Int).And(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1)))
	lo = new(big.Int).And(m, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	return lo, new(big.Int).Rsh(m, 64).Uint64()
}

func (m mrow) put(b *zset.Batch, w int64) {
	l := b.Layout
	r := b.AppendRow(w)
	l.Set(r, 0, uint64(m.k))
	l.Set(r, 1, uint64(m.i))
	l.Set(r, 2, math.Float64bits(m.d))
	l.SetBytes(r, 3, []byte(m.s), b.Heap)
	lo, hi := hugeWords(huges[m.h])
	l.Set2(r, 4, lo, hi)
	l.Set(r, 5, 0)
	if m.b {
		l.Set(r, 5, 1)
	}
	l.Set(r, 6, uint64(m.o))
	for bit := range 6 {
		if m.null>>bit&1 != 0 {
			l.SetNull(r, bit)
		}
	}
}

// modelFunction is a function and its definition over the rows of a group, each as often as it is there. The result is nil,
// or what set takes; an error is a group without a value.
type modelFunction struct {
	f   Function
	def func(rows []mrow) (any, error)
}

func ofI(rows []mrow, f func(r mrow) bool) (out []int64) {
	for _, r := range rows {
		if r.null&nullI == 0 && (f == nil || f(r)) {
			out = append(out, r.i)
		}
	}
	return out
}

func ofD(rows []mrow) (out []float64) {
	for _, r := range rows {
		if r.null&nullD == 0 {
			out = append(out, r.d)
		}
	}
	return out
}

func ofS(rows []mrow) (out []string) {
	for _, r := range rows {
		if r.null&nullS == 0 {
			out = append(out, r.s)
		}
	}
	return out
}

func passes(r mrow) bool { return r.null&nullB == 0 && r.b }

func sumBig(is []int64) any {
	if len(is) == 0 {
		return nil
	}
	s := new(big.Int)
	for _, i := range is {
		s.Add(s, big.NewInt(i))
	}
	return s
}

// floatTotal is the sum rounded once, with IEEE's rules for what is not finite.
func floatTotal(ds []float64) float64 {
	s := new(big.Float).SetPrec(5000)
	var nan, inf, neg bool
	for _, d := range ds {
		switch {
		case d != d:
			nan = true
		case math.IsInf(d, 1):
			inf = true
		case math.IsInf(d, -1):
			neg = true
		default:
			s.Add(s, new(big.Float).SetPrec(5000).SetFloat64(d))
		}
	}
	switch {
	case nan || inf && neg:
		return math.NaN()
	case inf:
		return math.Inf(1)
	case neg:
		return math.Inf(-1)
	}
	x, _ := s.Float64()
	if x == 0 {
		return 0
	}
	return x
}

func lessFloat(a, b float64) bool { // NaN is greatest, −0.0 before 0.0
	switch {
	case a != a:
		return false
	case b != b:
		return true
	case a == b:
		return math.Signbit(a) && !math.Signbit(b)
	}
	return a < b
}

func distinctOf[T any](xs []T, key func(T) string) (out []T) {
	seen := map[string]bool{}
	for _, x := range xs {
		if k := key(x); !seen[k] {
			seen[k] = true
			out = append(out, x)
		}
	}
	return out
}

func modelFunctions() []modelFunction {
	varchar, boolean := row.MustType("VARCHAR"), row.MustType("BOOLEAN")
	float := func(x float64) any { return x }
	return []modelFunction{
		{Function{Name: "count_star", Result: bigint}, func(rows []mrow) (any, error) { return int64(len(rows)), nil }},
		{Function{Name: "count", Args: []int{2}, Result: bigint}, func(rows []mrow) (any, error) { return int64(len(ofD(rows))), nil }},
		{Function{Name: "sum", Args: []int{1}, Result: hugeint}, func(rows []mrow) (any, error) { return sumBig(ofI(rows, nil)), nil }},
		{Function{Name: "sum", Args: []int{1}, Filters: []int{5}, Result: hugeint}, func(rows []mrow) (any, error) { return sumBig(ofI(rows, passes)), nil }},
		{Function{Name: "sum", Args: []int{1}, Distinct: true, Result: hugeint}, func(rows []mrow) (any, error) {
			return sumBig(distinctOf(ofI(rows, nil), func(i int64) string { return fmt.Sprint(i) })), nil
		}},
		{Function{Name: "sum", Args: []int{1}, Distinct: true, Filters: []int{5}, Result: hugeint}, func(rows []mrow) (any, error) {
			return sumBig(distinctOf(ofI(rows, passes), func(i int64) string { return fmt.Sprint(i) })), nil
		}},
		{Function{Name: "count", Args: []int{2}, Distinct: true, Result: bigint}, func(rows []mrow) (any, error) {
			return int64(len(distinctOf(ofD(rows), func(d float64) string { return fmt.Sprint(d + 0) }))), nil
		}},
		{Function{Name: "count", Args: []int{3}, Distinct: true, Filters: []int{5}, Result: bigint}, func(rows []mrow) (any, error) {
			var in []mrow
			for _, r := range rows {
				if passes(r) {
					in = append(in, r)
				}
			}
			return int64(len(distinctOf(ofS(in), func(s string) string { return s }))), nil
		}},
		{Function{Name: "sum", Args: []int{2}, Result: double}, func(rows []mrow) (any, error) {
			ds := ofD(rows)
			if len(ds) == 0 {
				return nil, nil
			}
			return float(floatTotal(ds)), nil
		}},
		{Function{Name: "avg", Args: []int{2}, Result: double}, func(rows []mrow) (any, error) {
			ds := ofD(rows)
			if len(ds) == 0 {
				return nil, nil
			}
			return float(floatTotal(ds) / float64(len(ds))), nil
		}},
		{Function{Name: "min", Args: []int{2}, Result: double}, func(rows []mrow) (any, error) { return extreme(ofD(rows), lessFloat), nil }},
		{Function{Name: "max", Args: []int{2}, Result: double}, func(rows []mrow) (any, error) {
			return extreme(ofD(rows), func(a, b float64) bool { return lessFloat(b, a) }), nil
		}},
		{Function{Name: "min", Args: []int{3}, Result: varchar}, func(rows []mrow) (any, error) {
			return extreme(ofS(rows), func(a, b string) bool { return a < b }), nil
		}},
		{Function{Name: "max", Args: []int{3}, Result: varchar}, func(rows []mrow) (any, error) {
			return extreme(ofS(rows), func(a, b string) bool { return a > b }), nil
		}},
		{Function{Name: "max", Args: []int{4}, Result: hugeint}, func(rows []mrow) (any, error) {
			var hs []*big.Int
			for _, r := range rows {
				if r.null&nullH == 0 {
					hs = append(hs, huges[r.h])
				}
			}
			return extreme(hs, func(a, b *big.Int) bool { return a.Cmp(b) > 0 }), nil
		}},
		{Function{Name: "bool_and", Args: []int{5}, Result: boolean}, func(rows []mrow) (any, error) {
			var out any
			for _, r := range rows {
				if r.null&nullB == 0 {
					out = r.b && (out == nil || out.(bool))
				}
			}
			return out, nil
		}},
		{Function{Name: "bit_xor", Args: []int{1}, Result: bigint}, func(rows []mrow) (any, error) {
			is := ofI(rows, nil)
			if len(is) == 0 {
				return nil, nil
			}
			var x int64
			for _, i := range is {
				x ^= i
			}
			return x, nil
		}},
		{Function{Name: "bit_and", Args: []int{1}, Result: bigint}, func(rows []mrow) (any, error) {
			is := ofI(rows, nil)
			if len(is) == 0 {
				return nil, nil
			}
			x := int64(-1)
			for _, i := range is {
				x &= i
			}
			return x, nil
		}},
		{Function{Name: "median", Args: []int{6}, Result: double}, func(rows []mrow) (any, error) {
			var os []int64
			for _, r := range rows {
				os = append(os, r.o)
			}
			slices.Sort(os)
			n := len(os)
			if n == 0 {
				return nil, nil
			}
			return float(float64(os[(n-1)/2]+os[n/2]) / 2), nil
		}},
		{Function{Name: "mode", Args: []int{1}, Result: bigint}, func(rows []mrow) (any, error) {
			is := ofI(rows, nil)
			slices.Sort(is)
			var best any
			most := 0
			for from := 0; from < len(is); {
				to := from
				for to < len(is) && is[to] == is[from] {
					to++
				}
				if to-from > most {
					most, best = to-from, is[from]
				}
				from = to
			}
			return best, nil
		}},
		{Function{Name: "string_agg", Args: []int{3}, Order: []int{6}, Separator: "-", Result: varchar}, func(rows []mrow) (any, error) {
			var xs []string
			for _, r := range rows {
				if r.null&nullS == 0 {
					xs = append(xs, fmt.Sprintf("%d%s", r.o, r.s))
				}
			}
			if len(xs) == 0 {
				return nil, nil
			}
			sort.Strings(xs)
			for i := range xs {
				xs[i] = xs[i][1:]
			}
			return strings.Join(xs, "-"), nil
		}},
		{Function{Name: "list", Args: []int{6}, Order: []int{6}, Filters: []int{5}, Result: row.MustType("BIGINT[]")}, func(rows []mrow) (any, error) {
			var xs []int64
			for _, r := range rows {
				if passes(r) {
					xs = append(xs, r.o)
				}
			}
			if len(xs) == 0 {
				return nil, nil
			}
			slices.Sort(xs)
			p := binary.AppendUvarint(nil, uint64(len(xs)))
			for _, x := range xs {
				p = binary.LittleEndian.AppendUint64(append(p, 1), uint64(x))
			}
			return string(p), nil
		}},
		{Function{Name: "arg_max", Args: []int{3, 1}, Result: varchar}, func(rows []mrow) (any, error) {
			type pair struct {
				i int64
				s string
			}
			var ps []pair
			for _, r := range rows {
				if r.null&(nullI|nullS) == 0 {
					ps = append(ps, pair{r.i, r.s})
				}
			}
			p := extreme(ps, func(a, b pair) bool { return a.i > b.i || a.i == b.i && a.s > b.s })
			if p == nil {
				return nil, nil
			}
			return p.(pair).s, nil
		}},
	}
}

// failing are functions that may have no value.
func failingFunctions() []modelFunction {
	return []modelFunction{
		{Function{Name: "sum", Args: []int{4}, Result: hugeint}, func(rows []mrow) (any, error) {
			var s *big.Int
			for _, r := range rows {
				if r.null&nullH == 0 {
					if s == nil {
						s = new(big.Int)
					}
					s.Add(s, huges[r.h])
				}
			}
			if s == nil {
				return nil, nil
			}
			if s.CmpAbs(maxHuge) > 0 && s.Cmp(new(big.Int).Sub(new(big.Int).Neg(maxHuge), big.NewInt(1))) != 0 {
				return nil, errSum
			}
			return s, nil
		}},
		{Function{Name: "stddev_samp", Args: []int{2}, Result: double}, func(rows []mrow) (any, error) {
			ds := ofD(rows)
			if len(ds) < 2 {
				return nil, nil
			}
			sum, sq := new(big.Rat), new(big.Rat)
			for _, d := range ds {
				if d-d != 0 {
					return nil, outOfRange["stddev_samp"]
				}
				x := new(big.Rat).SetFloat64(d)
				sum.Add(sum, x)
				sq.Add(sq, x.Mul(x, x))
			}
			n := big.NewRat(int64(len(ds)), 1)
			v := sq.Sub(sq, sum.Quo(sum.Mul(sum, sum), n))
			v.Quo(v, big.NewRat(int64(len(ds)-1), 1))
			x, _ := v.Float64()
			if math.IsInf(x, 0) {
				return nil, outOfRange["stddev_samp"]
			}
			return math.Sqrt(x), nil
		}},
	}
}

func extreme[T any](xs []T, less func(a, b T) bool) any {
	if len(xs) == 0 {
		return nil
	}
	best := xs[0]
	for _, x := range xs[1:] {
		if less(x, best) {
			best = x
		}
	}
	return best
}

func setField(b *zset.Batch, r []uint64, i int, v any) {
	l := b.Layout
	switch v := v.(type) {
	case nil:
		l.SetNull(r, i)
	case int64:
		l.Set(r, i, uint64(v))
	case float64:
		if v != v {
			l.Set(r, i, oneNaN)
			return
		}
		l.Set(r, i, math.Float64bits(v))
	case bool:
		l.Set(r, i, 0)
		if v {
			l.Set(r, i, 1)
		}
	case string:
		l.SetBytes(r, i, []byte(v), b.Heap)
	case *big.Int:
		lo, hi := hugeWords(v)
		l.Set2(r, i, lo, hi)
	}
}

// key is the value of a field that is grouped by.
func (m mrow) key(field int) any {
	switch {
	case m.null>>field&1 != 0:
		return nil
	case field == 0:
		return m.k
	}
	return m.s
}

// modelContent is the model's content and its groups without a value.
func modelContent(l *row.Layout, rows []mrow, keys []int, fs []modelFunction) (*zset.Batch, map[string]string) {
	groups := map[string][]mrow{}
	if len(keys) == 0 {
		groups[""] = rows
	} else {
		for _, r := range rows {
			k := ""
			for _, f := range keys {
				k += fmt.Sprintf("%v|", r.key(f))
			}
			groups[k] = append(groups[k], r)
		}
	}
	b, failed := zset.New(l), map[string]string{}
group:
	for _, rows := range groups {
		key := "0"
		if len(keys) > 0 {
			key = strings.ReplaceAll(fmt.Sprint(rows[0].key(keys[0])), "<nil>", "NULL")
		}
		var values []any
		for _, f := range keys {
			values = append(values, rows[0].key(f))
		}
		for _, f := range fs {
			v, err := f.def(rows)
			if err != nil {
				failed[key] = err.Error()
				continue group
			}
			values = append(values, v)
		}
		r := b.AppendRow(1)
		for i, v := range values {
			setField(b, r, i, v)
		}
	}
	return b, failed
}

func TestAggregateModel(t *testing.T) {
	all := modelFunctions()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		fs := all
		switch seed % 4 {
		case 1: // a few, in any order
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			fs = all[:1+rng.IntN(4)]
		case 2:
			fs = failingFunctions()
		}
		keys := [][]int{{0}, {0}, {3}, {0, 3}, {}}[seed%5]
		if seed%4 == 2 && len(keys) > 0 {
			keys = []int{0}
		}
		modelRun(t, seed, rng, fs, keys)
	}
}

func modelRun(t *testing.T, seed uint64, rng *rand.Rand, fs []modelFunction, keys []int) {
	spec := AggregateSpec{Name: "a", Input: modelLayout}
	for _, f := range keys {
		spec.Groups = append(spec.Groups, Group{f, f})
	}
	for _, f := range fs {
		spec.Functions = append(spec.Functions, f.f)
	}
	h := must[*history](t)(newHistory(t, func(tables Tables) (Operator, error) {
		op, err := NewAggregate(spec, tables)
		if err == nil && seed%2 == 0 { // blocks of few groups
			op.(*aggregate).sets[0].most = 1 + int(seed/2%3)
		}
		return op, err
	}, zset.New(modelLayout)))
	var rows []mrow
	for step := range 30 {
		delta := zset.New(modelLayout)
		var gone []mrow
		for range rng.IntN(8) {
			switch {
			case len(rows) > 0 && rng.IntN(100) < 45:
				i := rng.IntN(len(rows))
				gone = append(gone, rows[i])
				rows[i].put(delta, -1)
				rows = slices.Delete(rows, i, i+1)
			case len(gone) > 0 && rng.IntN(3) == 0: // comes back in the step in which it went
				gone[0].put(delta, 1)
				rows = append(rows, gone[0])
			default:
				r, n := randomRow(rng, seed%3 == 0), 1
				if rng.IntN(6) == 0 {
					n = 3
				}
				r.put(delta, int64(n))
				for range n {
					rows = append(rows, r)
				}
			}
		}
		if step == 20 { // everything goes
			for _, r := range rows {
				r.put(delta, -1)
			}
			rows = nil
		}
		shuffle(rng, delta)
		if _, err := h.step(0, delta); err != nil {
			t.Fatalf("seed %d step %d: %v\n%s", seed, step, err, delta.Print())
		}
		want, failed := modelContent(h.op.Layout(), rows, keys, fs)
		if !want.Equal(h.content) {
			t.Fatalf("seed %d step %d: content\n%sand not\n%safter\n%s", seed, step, h.content.Print(), want.Print(), delta.Print())
		}
		got := map[string]string{}
		for _, e := range h.errs.errors.list() {
			if e.Count != 1 {
				t.Fatalf("seed %d step %d: error %v", seed, step, e)
			}
			got[e.Row] = e.Message
		}
		if fmt.Sprint(got) != fmt.Sprint(failed) {
			t.Fatalf("seed %d step %d: errors %v and not %v", seed, step, got, failed)
		}
	}
}

// shuffle changes the order of a batch's rows.
func shuffle(rng *rand.Rand, b *zset.Batch) {
	c := b.Clone()
	b.Reset()
	for _, i := range rng.Perm(c.Len()) {
		b.Append(c.Row(i), c.Heap, c.Weights[i])
	}
}
