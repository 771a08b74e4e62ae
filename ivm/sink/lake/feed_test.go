package lake

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// What others read as the changes of a view's table is what was published, whatever maintenance does between and after.
func TestFeedOfAResult(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 21))
				w := newWorld(t, kind, inlining(60))
				v := w.newView("v", simple, false)
				universe := w.universe(v, 40)
				v.publish(v.draw(rnd, universe, 50, 0))
				f, err := w.lake.NewFeed(w.ctx)
				must(t, err)
				defer func() { must(t, f.Close()) }()
				reader, err := f.Open(w.ctx, v.table, v.table.Columns)
				must(t, err)
				type state struct {
					at   int64
					want *zset.Batch
				}
				states := []state{{w.head(), v.want.Clone()}}
				check := func(from, to state) {
					t.Helper()
					s, err := reader.Read(w.ctx, from.at, to.at)
					must(t, err)
					got := zset.New(v.layout)
					for s.Next() {
						b := s.RecordBatch()
						rec := array.NewRecordBatch(arrow.NewSchema(b.Schema().Fields()[2:], nil), b.Columns()[2:], b.NumRows())
						got.Words, err = v.layout.FromArrow(got.Words, got.Heap, rec)
						rec.Release()
						must(t, err)
						for i := range int(b.NumRows()) {
							got.Weights = append(got.Weights, b.Column(1).(*array.Int64).Value(i))
						}
					}
					must(t, s.Err())
					must(t, s.Close())
					got.AppendBatch(from.want)
					got.Negate()
					got.AppendBatch(to.want)
					if got.Consolidate(); got.Len() > 0 {
						t.Fatalf("from %d to %d there are missing:\n%s", from.at, to.at, got.Print())
					}
				}
				for step := range 30 {
					switch rnd.IntN(7) {
					case 0:
						v.flush()
					case 1:
						v.merge()
					case 2:
						_, err := w.sink.Publisher.Retire(w.ctx, v.table)
						must(t, err)
					case 3:
						gone := v.want.Clone()
						gone.Negate()
						v.publish(gone)
					case 4:
						v.publish(v.draw(rnd, universe, 80, 20))
					default:
						v.publish(v.draw(rnd, universe, 12, 12))
					}
					states = append(states, state{w.head(), v.want.Clone()})
					check(states[step], states[step+1])
				}
				for range 60 {
					from := rnd.IntN(len(states))
					check(states[from], states[from+rnd.IntN(len(states)-from)])
				}
			})
		}
	})
}
