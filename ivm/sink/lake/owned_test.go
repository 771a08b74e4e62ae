package lake

import (
	"context"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// A server that was away for longer than its lease, whose views another one has taken over without publishing anything yet, says nothing of
// them any more: neither rows nor how far they are. Its registration may be as good as before.
func TestAServerWhoseViewsWereTakenOver(t *testing.T) {
	w := newWorld(t, laketest.PostgreSQL)
	servers := &maintain.Servers{Store: w.lake.Store()}
	me, err := servers.Register(w.ctx, "me", "")
	must(t, err)
	w.sink.Fence = func() publish.Fence { return me }
	v := w.newView("v", simple, false)
	must(t, w.lake.Store().Update(w.ctx, func(tx metadata.Tx) error {
		return w.sink.Store.InsertStream(w.ctx, tx, v.table.UUID, stream.Backfill, 0)
	}))
	claim := func(owner store.Owner, live map[string]bool) {
		t.Helper()
		views := w.sink.Store.Streams(func() store.Owner { return owner }, func(context.Context) (map[string]bool, error) { return live, nil })
		owned, err := views.Claim(w.ctx, []string{v.table.UUID})
		must(t, err)
		if len(owned) != 1 {
			t.Fatalf("%v owns %v", owner, owned)
		}
	}
	claim(store.Owner{ServerID: me.ServerID, Fence: me.Epoch}, nil)
	v.publish(w.universe(v, 5))
	reflect := func(at int64) error {
		c := v.change(nil)
		c.Frontier = catalog.Frontier{SourceVersion: at}
		return w.results.Reflect(w.ctx, []stream.Change{c})
	}
	must(t, reflect(7))

	claim(store.Owner{ServerID: "other", Fence: 1}, map[string]bool{"other": true})
	for what, do := range map[string]func() error{
		"a publication":           func() error { return w.publish([]*view{v}, w.universe(v, 3)) },
		"one that was made ready": func() error { return v.ready(w.universe(v, 3)) },
		"a frontier":              func() error { return reflect(6) },
	} {
		if err := do(); fault.CodeOf(err) != fault.Fenced {
			t.Errorf("%s of the server that was away: %v", what, err)
		}
	}
	p, err := w.sink.current(w.ctx, v.table.UUID)
	must(t, err)
	f, err := catalog.DecodeFrontier(p.Frontier)
	if err != nil || f.SourceVersion != 7 || p.Epoch != 1 {
		t.Errorf("the view is at %d, epoch %d: %v", f.SourceVersion, p.Epoch, err)
	}
	v.check()
}

// ready makes a change ready and commits it.
func (v *view) ready(delta *zset.Batch) error {
	b, err := v.w.results.Prepare(v.w.ctx, stream.Commitment{ID: "ready", Members: []stream.Change{v.change(delta)}})
	if err != nil {
		return err
	}
	done, _ := b.Commit(v.w.ctx) // Finish says what counts
	_, err = b.Finish(v.w.ctx, done)
	return err
}
