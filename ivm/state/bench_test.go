package state_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// loop runs f, which does some rows, and reports what one took: of the clock, and
// of the processor, which other programs do not lengthen.
func loop(b *testing.B, rows int, f func()) {
	b.Helper()
	var before int64
	for b.Loop() {
		if before == 0 {
			before = cpu()
		}
		f()
	}
	n := float64(b.N) * float64(rows)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/row")
	b.ReportMetric(float64(cpu()-before)/n, "cpu-ns/row")
	b.ReportMetric(0, "ns/op")
}

func cpu() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// groups is a batch of n random keys below most, and their values.
func groups(n, most int, rnd *rand.Rand) (*zset.Batch, []int64) {
	b := zset.New(row.ParseLayout("BIGINT"))
	vs := make([]int64, n)
	for i := range vs {
		b.AppendRow(1)[1] = rnd.Uint64N(uint64(most))
		vs[i] = int64(rnd.IntN(1000))
	}
	return b, vs
}

// BenchmarkGroups is count and sum by key.
func BenchmarkGroups(b *testing.B) {
	for _, keys := range []int{1000, 100_000, 10_000_000} {
		t := state.New(state.Spec{Key: row.ParseLayout("BIGINT"), Payload: 2})
		key := make([]uint64, 2)
		for i := range keys {
			key[1] = uint64(i)
			t.Upsert(key, nil)
		}
		for _, size := range []int{100, 10_000} {
			b.Run(fmt.Sprintf("keys=%d/batch=%d", keys, size), func(b *testing.B) {
				rnd := rand.New(rand.NewPCG(1, 1))
				var batches [64]*zset.Batch
				var vs [64][]int64
				for i := range batches {
					batches[i], vs[i] = groups(size, keys, rnd)
				}
				var refs []state.Ref
				i := 0
				loop(b, size, func() {
					k := batches[i&63]
					refs = t.UpsertAll(k, refs)
					for j, ref := range refs {
						p := t.Payload(ref)
						p[0] += uint64(k.Weights[j])
						p[1] += uint64(vs[i&63][j])
					}
					i++
				})
				b.ReportMetric(float64(t.Bytes())/float64(keys), "B/key")
			})
		}
	}
}

// BenchmarkCreate is new keys.
func BenchmarkCreate(b *testing.B) {
	const keys = 1_000_000
	loop(b, keys, func() {
		t := state.New(state.Spec{Key: row.ParseLayout("BIGINT"), Payload: 2})
		key := make([]uint64, 2)
		for i := range keys {
			key[1] = uint64(i)
			t.Upsert(key, nil)
		}
	})
}

// BenchmarkJoin adds and removes rows of 20 000 keys with 50 rows each.
func BenchmarkJoin(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 1))
	t := state.New(state.Spec{Key: row.ParseLayout("BIGINT"), Entry: row.ParseLayout("BIGINT", "BIGINT")})
	const keys, fan = 20_000, 50
	type pair struct{ key, id uint64 }
	var live []pair
	key, e := make([]uint64, 2), make([]uint64, 3)
	add := func(p pair, w int64) {
		key[1], e[1], e[2] = p.key, p.id, p.id*7%1000
		ref, _ := t.Upsert(key, nil)
		t.Add(ref, e, nil, w)
	}
	next := uint64(0)
	for range keys * fan {
		p := pair{rnd.Uint64N(keys), next}
		next++
		add(p, 1)
		live = append(live, p)
	}
	b.Run("change", func(b *testing.B) {
		loop(b, 2, func() {
			i := rnd.IntN(len(live))
			add(live[i], -1)
			live[i] = pair{rnd.Uint64N(keys), next}
			next++
			add(live[i], 1)
		})
		b.ReportMetric(float64(t.Bytes())/(keys*fan), "B/row")
	})
	b.Run("batch", func(b *testing.B) {
		kb, eb := zset.New(row.ParseLayout("BIGINT")), zset.New(row.ParseLayout("BIGINT", "BIGINT"))
		var refs []state.Ref
		loop(b, 1000, func() {
			kb.Reset()
			eb.Reset()
			put := func(p pair, w int64) {
				kb.AppendRow(w)[1] = p.key
				e := eb.AppendRow(w)
				e[1], e[2] = p.id, p.id*7%1000
			}
			for range 500 {
				i := rnd.IntN(len(live))
				put(live[i], -1)
				live[i] = pair{rnd.Uint64N(keys), next}
				next++
				put(live[i], 1)
			}
			refs = t.UpsertAll(kb, refs)
			t.AddAll(refs, eb)
		})
	})
	b.Run("scan", func(b *testing.B) {
		out := zset.New(row.ParseLayout("BIGINT", "BIGINT"))
		var c state.Cursor
		loop(b, fan, func() {
			key[1] = rnd.Uint64N(keys)
			ref, ok := t.Find(key, nil)
			if !ok {
				return
			}
			out.Reset()
			for t.Scan(&c, ref); c.NextBlock(); {
				for i := range c.N {
					copy(out.AppendRow(1), c.Rows[3*i:3*i+3])
				}
			}
		})
	})
}

// BenchmarkTop changes 1000 groups of about 1000 rows, ordered by value, and reads the first three.
func BenchmarkTop(b *testing.B) {
	for _, span := range []uint64{1 << 40, 1000, 2} {
		b.Run(fmt.Sprintf("values=%d", span), func(b *testing.B) {
			rnd := rand.New(rand.NewPCG(1, 1))
			t := state.New(state.Spec{Key: row.ParseLayout("BIGINT"), Entry: row.ParseLayout("BIGINT", "BIGINT"), Order: 1})
			const keys, fan = 1000, 1000
			type triple struct{ key, v, id uint64 }
			var live []triple
			key, e := make([]uint64, 2), make([]uint64, 3)
			add := func(p triple, w int64) uint64 {
				key[1], e[1], e[2] = p.key, p.v, p.id
				ref, _ := t.Upsert(key, nil)
				t.Add(ref, e, nil, w)
				x := uint64(0)
				for i := range 3 {
					r, _ := t.At(ref, i)
					if r != nil {
						x += r[1]
					}
				}
				return x
			}
			next := uint64(0)
			for range keys * fan {
				p := triple{rnd.Uint64N(keys), rnd.Uint64N(span), next}
				next++
				add(p, 1)
				live = append(live, p)
			}
			b.Run("change", func(b *testing.B) {
				loop(b, 2, func() {
					i := rnd.IntN(len(live))
					add(live[i], -1)
					live[i] = triple{rnd.Uint64N(keys), rnd.Uint64N(span), next}
					next++
					add(live[i], 1)
				})
				b.ReportMetric(float64(t.Bytes())/(keys*fan), "B/row")
			})
			kb, eb := zset.New(row.ParseLayout("BIGINT")), zset.New(row.ParseLayout("BIGINT", "BIGINT"))
			var refs []state.Ref
			b.Run("batch", func(b *testing.B) {
				loop(b, 1000, func() {
					kb.Reset()
					eb.Reset()
					put := func(p triple, w int64) {
						kb.AppendRow(w)[1] = p.key
						e := eb.AppendRow(w)
						e[1], e[2] = p.v, p.id
					}
					for range 500 {
						i := rnd.IntN(len(live))
						put(live[i], -1)
						live[i] = triple{rnd.Uint64N(keys), rnd.Uint64N(span), next}
						next++
						put(live[i], 1)
					}
					refs = t.UpsertAll(kb, refs)
					t.AddAll(refs, eb)
				})
			})
		})
	}
}

// BenchmarkHuge changes one key of a million entries.
func BenchmarkHuge(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 1))
	t := state.New(state.Spec{Key: row.ParseLayout("BIGINT"), Entry: row.ParseLayout("BIGINT", "BIGINT"), Order: 1})
	ref, _ := t.Upsert([]uint64{0, 1}, nil)
	e := make([]uint64, 3)
	live := make([]uint64, 1_000_000)
	for i := range live {
		live[i] = rnd.Uint64()
		e[1], e[2] = live[i], 1
		t.Add(ref, e, nil, 1)
	}
	loop(b, 2, func() {
		i := rnd.IntN(len(live))
		e[1] = live[i]
		t.Add(ref, e, nil, -1)
		live[i] = rnd.Uint64()
		e[1] = live[i]
		t.Add(ref, e, nil, 1)
	})
	b.ReportMetric(float64(t.Bytes())/float64(len(live)), "B/row")
}

// BenchmarkLoad builds a million rows of 20 000 keys.
func BenchmarkLoad(b *testing.B) {
	const n, of = 1_000_000, 20_000
	rnd := rand.New(rand.NewPCG(1, 1))
	keys, entries := zset.New(row.ParseLayout("BIGINT")), zset.New(row.ParseLayout("BIGINT", "BIGINT"))
	for i := range uint64(n) {
		keys.AppendRow(1)[1] = rnd.Uint64N(of)
		e := entries.AppendRow(1)
		e[1], e[2] = i, rnd.Uint64()
	}
	var t *state.Table
	loop(b, n, func() {
		t = state.New(state.Spec{Key: keys.Layout, Entry: entries.Layout})
		t.Load(keys, entries, nil)
	})
	b.ReportMetric(float64(t.Bytes())/n, "B/row")
}

// BenchmarkMap is Groups with Go's map and a slice.
func BenchmarkMap(b *testing.B) {
	for _, keys := range []int{1000, 100_000, 10_000_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			rnd := rand.New(rand.NewPCG(1, 1))
			m := map[int64]int32{}
			type pay struct{ n, s int64 }
			ps := make([]pay, keys)
			for i := range keys {
				m[int64(i)] = int32(i)
			}
			var batches [64]*zset.Batch
			var vs [64][]int64
			for i := range batches {
				batches[i], vs[i] = groups(10000, keys, rnd)
			}
			i := 0
			loop(b, 10000, func() {
				words := batches[i&63].Words
				for j, v := range vs[i&63] {
					p := &ps[m[int64(words[2*j+1])]]
					p.n++
					p.s += v
				}
				i++
			})
		})
	}
}

// BenchmarkNew takes 4 M keys that are not there, each with an entry, as the rows of a result come.
func BenchmarkNew(b *testing.B) {
	const keys, rows = 1 << 22, 1 << 17
	spec := state.Spec{Key: row.ParseLayout("UUID"), Entry: row.ParseLayout("UBIGINT")}
	in, at := zset.New(spec.Key), zset.New(spec.Entry)
	var refs []state.Ref
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for b.Loop() {
		st, err := state.OpenStore(state.StoreOptions{Dir: b.TempDir(), Stamp: "1"})
		if err != nil {
			b.Fatal(err)
		}
		t, err := state.Open(st, "t", spec, state.Part{})
		if err != nil {
			b.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(1, 1))
		start := threadTime()
		spent := threadTime() - start
		for n := 0; n < keys; n += rows {
			in.Reset()
			at.Reset()
			for i := range rows {
				k := in.AppendRow(1)
				k[1], k[2] = rnd.Uint64(), rnd.Uint64()
				at.AppendRow(1)[1] = uint64(n + i)
			}
			start = threadTime()
			refs = t.Load(in, at, refs[:0])
			spent += threadTime() - start
		}
		b.ReportMetric(float64(spent.Nanoseconds())/keys, "cpu-ns/key")
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
