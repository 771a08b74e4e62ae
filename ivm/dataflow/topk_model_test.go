package dataflow

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// prow is a row of (p BIGINT, v BIGINT, s VARCHAR, t BIGINT); v orders, s and then p break ties, t is a time.
type prow struct {
	p, v int64
	s    string // "NULL" is NULL
	t    int64
	nop  bool // p is NULL
}

var partitionLayout = row.ParseLayout("BIGINT", "BIGINT", "VARCHAR", "BIGINT")

func (r prow) put(b *zset.Batch, w int64) {
	x := b.AppendRow(w)
	l := b.Layout
	l.Set(x, 0, uint64(r.p))
	if r.nop {
		l.SetNull(x, 0)
	}
	l.Set(x, 1, uint64(r.v))
	if l.SetBytes(x, 2, []byte(r.s), b.Heap); r.s == "NULL" {
		l.SetNull(x, 2)
	}
	l.Set(x, 3, uint64(r.t))
}

func (r prow) text() (string, int) {
	if r.s == "NULL" {
		return "", 1
	}
	return r.s, 0
}

// before is the order of a partition.
func (r prow) before(o prow) int {
	a, an := r.text()
	b, bn := o.text()
	return cmp.Or(cmp.Compare(r.v, o.v), strings.Compare(a, b), cmp.Compare(an, bn))
}

func randomPRow(rng *rand.Rand) prow {
	ss := []string{"NULL", "", "a", "b", "a text of more than twelve bytes", "a text of more than twelve bytes!"}
	r := prow{p: rng.Int64N(3), v: rng.Int64N(5), s: ss[rng.IntN(len(ss))], t: rng.Int64N(40)}
	if rng.IntN(8) == 0 {
		r.nop, r.p = true, 0
	}
	return r
}

// partitionRun drives an operator of one input through a random history.
func partitionRun(t *testing.T, seed uint64, rng *rand.Rand, make func(Tables) (Operator, error), now func(step int) int64,
	model func(rows []prow, now int64, out *zset.Batch)) {
	h := must[*history](t)(newHistory(t, make, zset.New(partitionLayout)))
	var rows []prow
	for step := range 40 {
		delta := zset.New(partitionLayout)
		for range rng.IntN(7) {
			if len(rows) > 0 && rng.IntN(100) < 45 {
				i := rng.IntN(len(rows))
				rows[i].put(delta, -1)
				if rng.IntN(4) == 0 { // a row moves to another partition, or comes back
					rows[i].p = rng.Int64N(3)
					rows[i].nop = false
					rows[i].put(delta, 1)
					continue
				}
				rows = slices.Delete(rows, i, i+1)
				continue
			}
			r, n := randomPRow(rng), 1
			if rng.IntN(5) == 0 {
				n = 3
			}
			r.put(delta, int64(n))
			for range n {
				rows = append(rows, r)
			}
		}
		if step == 30 {
			for _, r := range rows {
				r.put(delta, -1)
			}
			rows = nil
		}
		shuffle(rng, delta)
		if _, err := h.step(now(step), delta); err != nil {
			t.Fatalf("seed %d step %d: %v\n%s", seed, step, err, delta.Print())
		}
		want := zset.New(h.op.Layout())
		model(rows, h.now, want)
		if !want.Equal(h.content) {
			want.Consolidate()
			t.Fatalf("seed %d step %d: content\n%sand not\n%safter\n%s", seed, step, h.content.Print(), want.Print(), delta.Print())
		}
	}
}

// byPartition gives the partitions, in order.
func byPartition(rows []prow, all bool) map[string][]prow {
	out := map[string][]prow{}
	for _, r := range rows {
		k := ""
		if !all {
			k = fmt.Sprint(r.p, r.nop)
		}
		out[k] = append(out[k], r)
	}
	for _, rs := range out {
		slices.SortStableFunc(rs, prow.before)
		if all { // p is shown, and breaks ties between rows that are otherwise equal
			slices.SortStableFunc(rs, func(a, b prow) int {
				a.nop, b.nop = false, false
				return a.before(b)
			})
		}
	}
	return out
}

func TestTopKModel(t *testing.T) {
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 2))
		all := rng.IntN(3) == 0
		spec := TopKSpec{Name: "t", Input: partitionLayout, Order: []int{1}, Row: []int{0, 1, 2},
			Limit: rng.Int64N(5) - 1, Offset: rng.Int64N(3), Ties: rng.IntN(4) == 0, Number: rng.IntN(3) == 0}
		if !all {
			spec.Partition = []int{0}
		} else {
			spec.Row = []int{2, 1} // without what does not decide
		}
		if spec.Ties {
			spec.Offset = 0
		}
		make := func(tables Tables) (Operator, error) { return NewTopK(spec, tables) }
		partitionRun(t, seed, rng, make, func(int) int64 { return 0 }, func(rows []prow, _ int64, out *zset.Batch) {
			for _, rs := range byPartition(rows, all) {
				for i, r := range rs {
					switch n := int(spec.Limit + spec.Offset); {
					case i < int(spec.Offset):
						continue
					case spec.Limit >= 0 && i >= n && !(spec.Ties && n > 0 && r.v == rs[n-1].v):
						continue
					}
					shown := zset.New(partitionLayout)
					r.put(shown, 1)
					dst := out.AppendRow(1)
					for j, f := range spec.Row {
						out.Layout.CopyField(dst, j, out.Heap, partitionLayout, shown.Row(0), f, shown.Heap)
					}
					if spec.Number {
						for spec.Ties && i > 0 && r.v == rs[i-1].v { // with ties it is the rank
							i--
						}
						out.Layout.Set(dst, len(spec.Row), uint64(i)+1)
					}
				}
			}
		})
	}
}

func TestWindowModel(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 3))
		offset := rng.Int64N(5) - 2
		evaluated := seed%3 == 0
		spec := WindowSpec{Name: "w", Input: partitionLayout, Partition: []int{0}, Order: []int{1}, Row: []int{2, 1}, Functions: []WindowFunction{
			{Name: "row_number", Result: bigint}, {Name: "rank", Result: bigint}, {Name: "dense_rank", Result: bigint},
			{Name: "lag", Args: []int{2}, Offset: offset, Result: row.MustType("VARCHAR")}, {Name: "lead", Args: []int{1}, Offset: offset, Default: 1 + 1, Result: bigint}}}
		if evaluated {
			spec.Functions = append(spec.Functions, WindowFunction{Name: "sum", Evaluated: true, Result: bigint})
			spec.Evaluator, spec.Kept = &runningSum{layout: row.ParseLayout("BIGINT")}, []int{1}
		}
		make := func(tables Tables) (Operator, error) { return NewWindow(spec, tables) }
		partitionRun(t, seed, rng, make, func(int) int64 { return 0 }, func(rows []prow, _ int64, out *zset.Batch) {
			for _, rs := range byPartition(rows, false) {
				sum := int64(0)
				var sums []int64
				unlucky := false
				for _, r := range rs {
					sum += r.v
					sums = append(sums, sum)
					unlucky = unlucky || sum == 13
				}
				if evaluated && unlucky {
					continue
				}
				for i, r := range rs {
					rank, dense := 1, map[int64]bool{}
					for _, o := range rs {
						if o.v < r.v {
							rank++
						}
						if o.v <= r.v {
							dense[o.v] = true
						}
					}
					text := func(r prow) any {
						if r.s == "NULL" {
							return nil
						}
						return r.s
					}
					at := func(d int64, f func(prow) any, other any) any {
						if j := int64(i) + d; j >= 0 && j < int64(len(rs)) {
							return f(rs[j])
						}
						return other
					}
					dst := out.AppendRow(1)
					values := []any{text(r), r.v, int64(i) + 1, int64(rank), int64(len(dense)), at(-offset, text, nil),
						at(offset, func(r prow) any { return r.v }, r.v)}
					if evaluated {
						values = append(values, sums[i])
					}
					for j, v := range values {
						setField(out, dst, j, v)
					}
				}
			}
		})
	}
}

func TestTemporalModel(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 4))
		spec := TemporalSpec{Name: "t", Input: partitionLayout, Row: []int{0, 2}}
		type line struct {
			below, equal, back bool
			offset             int64
			field              int
		}
		var lines []line
		at := func(l line, now int64) int64 {
			if l.back && now%3 == 0 {
				return now + l.offset - 7
			}
			return now + l.offset
		}
		for range rng.IntN(4) {
			l := line{rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(3) == 0, rng.Int64N(20) - 15, 3}
			if rng.IntN(3) == 0 {
				l.field = 1
			}
			lines = append(lines, l)
			spec.Bounds = append(spec.Bounds, Bound{Field: l.field, Below: l.below, OrEqual: l.equal, Monotone: !l.back,
				At: func(now int64) (uint64, bool, error) { return uint64(at(l, now)), true, nil }})
		}
		clock := int64(0)
		now := func(int) int64 { clock += rng.Int64N(4); return clock }
		partitionRun(t, seed, rng, func(tables Tables) (Operator, error) { return NewTemporal(spec, tables) }, now, func(rows []prow, now int64, out *zset.Batch) {
		rows:
			for _, r := range rows {
				for _, l := range lines {
					v, x := r.t, at(l, now)
					if l.field == 1 {
						v = r.v
					}
					if !(l.below && v < x || !l.below && v > x || l.equal && v == x) {
						continue rows
					}
				}
				shown := zset.New(partitionLayout)
				r.put(shown, 1)
				dst := out.AppendRow(1)
				for j, f := range spec.Row {
					out.Layout.CopyField(dst, j, out.Heap, partitionLayout, shown.Row(0), f, shown.Heap)
				}
			}
		})
	}
}
