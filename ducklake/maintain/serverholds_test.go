package maintain_test

import (
	"slices"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// What a server holds for its clients ends with it, whether its lease ran out, it left, or it came again.
func TestHoldsEndWithTheirServer(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind)
		live, err := w.servers.Register(ctx, "a server/with spaces", "")
		must(t, err)
		dead, err := (&maintain.Servers{Store: w.store, Lease: 1}).Register(ctx, "dead", "")
		must(t, err)
		want := []string{"a view's uuid"}
		hold := func(holder string) {
			must(t, w.update(func(tx metadata.Tx) error { return maintain.SetHold(ctx, tx, maintain.Hold{Holder: holder}) }))
		}
		hold(want[0])
		for _, f := range []publish.Fence{w.owner, live} {
			want = append(want, maintain.ServerHolder(f, "v.1"))
			hold(want[len(want)-1])
			if got, ok := maintain.HolderServer(want[len(want)-1]); !ok || got != f {
				t.Errorf("the holder of %v is %v, %v", f, got, ok)
			}
		}
		for _, f := range []publish.Fence{dead, {ServerID: "gone", Epoch: 1}, {ServerID: "me", Epoch: w.owner.Epoch - 1}} {
			hold(maintain.ServerHolder(f, "v.1"))
		}
		w.run()
		var have []string
		must(t, w.store.View(ctx, func(tx metadata.Tx) error {
			all, err := maintain.Holds(ctx, tx)
			have = nil
			for _, h := range all {
				have = append(have, h.Holder)
			}
			return err
		}))
		slices.Sort(have)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Errorf("held are %q, want %q", have, want)
		}
	})
}
