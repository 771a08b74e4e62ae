package publish_test

import (
	"errors"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
)

// What keeps a flush from being done is the error of the commit that needs it, at once.
func TestAFlushThatFails(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		r := newRuleLake(t, kind, 0)
		r.replace(0, 20)
		must(t, r.remove("k < 5"))
		full, flushes := fault.DiskFull.Newf("no space"), 0
		p := r.publisher(func(c *publish.Config) {
			c.Faults.Flush = func() error { flushes++; return full }
		})
		staged, err := p.Stage(ctx, r.conn, publish.StageSpec{Table: r.table, Query: "SELECT range FROM range(3)", JobID: "full"}, nil)
		must(t, err)
		pub := publish.Publication{CommitID: commitID(), Table: r.table, Seen: r.seen, Replace: staged, Swap: publish.Swap{UUID: "v", Epoch: r.epoch}}
		results, err := p.Publish(ctx, pub)
		if !errors.Is(err, full) || !errors.Is(results[0].Err, full) || flushes != 1 {
			t.Errorf("%d flushes, %v, %v", flushes, err, results[0].Err)
		}
		if n := r.number("SELECT count(*) FROM lake.main.v"); n != int64(15) {
			t.Errorf("%v rows", n)
		}
		r.replace(100, 10)
	})
}
