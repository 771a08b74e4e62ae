package lake

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// A change of some keys of a large result: what the commit takes, what this package adds to it, and what it keeps for each row.
func BenchmarkResult(b *testing.B) {
	for _, kind := range laketest.Kinds {
		for _, rows := range []int{1_000_000, 10_000_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, rows), func(b *testing.B) {
				w := newWorld(b, kind)
				v := w.newView("v", []string{"BIGINT", "VARCHAR", "DOUBLE", "BIGINT"}, false)
				all := zset.New(v.layout)
				sums := make([]int64, rows)
				put := func(d *zset.Batch, k int, weight int64) {
					r := d.AppendRow(weight)
					v.layout.Set(r, 0, uint64(k))
					v.layout.SetBytes(r, 1, fmt.Appendf(nil, "key %d", k), d.Heap)
					v.layout.Set(r, 2, uint64(k)<<30)
					v.layout.Set(r, 3, uint64(sums[k]))
				}
				for k := range rows {
					put(all, k, 1)
				}
				began := time.Now()
				must(b, w.publish([]*view{v}, all))
				first := time.Since(began)
				all.Reset()
				v.want = zset.New(v.layout)
				p := v.res.places
				b.Logf("the first content of %d rows: %v; %.0f bytes a row", rows, first, float64(p.rows.Bytes()+p.files.Bytes()+p.dead.Bytes()+p.inlined.Bytes())/float64(rows))

				var commit time.Duration
				w.sink.group.commit = func(ctx context.Context, pubs ...publish.Publication) ([]publish.Result, error) {
					began := time.Now()
					defer func() { commit += time.Since(began) }()
					return w.sink.Publisher.Publish(ctx, pubs...)
				}
				for _, keys := range []int{1, 100, 1000} {
					b.Run(fmt.Sprint(keys), func(b *testing.B) {
						rnd := rand.New(rand.NewPCG(1, 1))
						var total, own []time.Duration
						for b.Loop() {
							b.StopTimer()
							d := zset.New(v.layout)
							seen := map[int]bool{}
							for len(seen) < keys {
								k := rnd.IntN(rows)
								if seen[k] {
									continue
								}
								seen[k] = true
								put(d, k, -1)
								sums[k]++
								put(d, k, 1)
							}
							b.StartTimer()
							commit = 0
							began := time.Now()
							must(b, w.publish([]*view{v}, d))
							took := time.Since(began)
							total, own = append(total, took), append(own, took-commit)
							v.want.Reset()
						}
						slices.Sort(total)
						slices.Sort(own)
						ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
						b.ReportMetric(0, "ns/op")
						b.ReportMetric(ms(own[0]), "own-least-ms")
						b.ReportMetric(ms(own[len(own)/2]), "own-median-ms")
						b.ReportMetric(ms(total[0]), "least-ms")
						b.ReportMetric(ms(total[len(total)/2]), "median-ms")
					})
				}
			})
		}
	}
}
