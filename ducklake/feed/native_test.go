package feed_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// TestNative reads tables that are written by native publications, replacements and deltas, with flushes and merges between them.
func TestNative(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		for seed := range uint64(number("VEGA_TEST_SEEDS", 1)) {
			b := newLab(t, kind)
			p, err := b.lake.NewPublisher(ctx)
			b.must(err)
			b.do("CREATE TABLE lake.main.v (k BIGINT, s VARCHAR)")
			b.must(p.Prepare(ctx, b.table("v")))
			b.ask("CREATE TABLE v (k BIGINT, s VARCHAR)")
			h := &history{lab: b, r: rand.New(rand.NewPCG(seed, 3)), did: map[string]int{}, begin: b.head(), next: 1}
			s := &subject{key: "v", name: "v", at: map[int64]bool{}, columns: []*column{{key: "k", name: "k"}, {key: "s", name: "s"}}}
			h.identify(s)
			h.tables = []*subject{s}
			h.keep(s, h.begin)
			swap := publish.Swap{UUID: "v"}
			for range 25 {
				switch h.r.IntN(8) {
				case 0:
					h.did["flush"]++
					b.must(p.Relocate(ctx, b.table("v"), publish.Flush))
				case 1:
					h.did["merge"]++
					b.must(p.Relocate(ctx, b.table("v"), publish.Merge))
				default:
					h.publish(p, s, &swap)
				}
				h.keep(s, b.head())
			}
			compared, refused := h.check(10)
			if refused > 0 {
				t.Errorf("%d windows refused", refused)
			}
			t.Log(compared, "windows compared", sorted(h.did))
		}
	})
}

// publish makes one publication.
func (h *history) publish(p *publish.Publisher, s *subject, swap *publish.Swap) {
	pub := publish.Publication{CommitID: fmt.Sprint("c", h.next), Table: h.table("v"), Swap: *swap}
	n := 1 + h.r.IntN(30)
	from := h.next
	h.next += n
	rows := fmt.Sprintf("SELECT i AS k, 'v' || i AS s FROM range(%d, %d) r(i)", from, from+n)
	if h.r.IntN(3) == 0 {
		h.did["replace"]++
		var err error
		pub.Seen = h.head()
		pub.Replace, err = p.Stage(ctx, h.conn, publish.StageSpec{Table: pub.Table, Query: rows, JobID: pub.CommitID}, nil)
		h.must(err)
		h.ask("DELETE FROM v")
	} else {
		h.did["delta"]++
		m, k := 2+h.r.IntN(6), h.r.IntN(4)
		where := fmt.Sprintf("k %% %d = %d", m, k)
		var delta publish.Delta
		var err error
		pub.Seen, err = p.Locate(ctx, h.conn, pub.Table, nil, where, func(_ arrow.RecordBatch, at []publish.Location) error {
			delta.Delete = append(delta.Delete, at...)
			return nil
		})
		h.must(err)
		r, err := h.oracle.Query(ctx, rows)
		h.must(err)
		for r.Next() {
			batch := r.RecordBatch()
			batch.Retain()
			defer batch.Release()
			delta.Insert = append(delta.Insert, batch)
		}
		h.must(r.Err())
		h.must(r.Close())
		pub.Delta = &delta
		h.ask("DELETE FROM v WHERE " + where)
	}
	h.ask("INSERT INTO v " + rows)
	result, err := p.Publish(ctx, pub)
	h.must(err)
	h.must(result[0].Err)
	swap.Epoch, swap.Generation = result[0].Epoch, result[0].Generation
}
