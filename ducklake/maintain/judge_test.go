package maintain_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// Whose own lease has run out, because the catalog was away, does not call others dead: not before it has renewed, and for a while not after.
func TestWhoWasAwayItself(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind)
		servers := &maintain.Servers{Store: w.store, Lease: time.Hour}
		me, err := servers.Register(ctx, "judge", "")
		must(t, err)
		_, err = servers.Register(ctx, "other", "")
		must(t, err)
		runOut := func(id string) {
			must(t, w.update(func(tx metadata.Tx) error {
				_, err := tx.Exec(ctx, `UPDATE {M}vega_servers SET lease_until = TIMESTAMPTZ '2000-01-01 00:00:00+00' WHERE id = $1`, id)
				return err
			}))
		}
		other := func() maintain.Server {
			all, err := servers.List(ctx)
			must(t, err)
			return all[slices.IndexFunc(all, func(s maintain.Server) bool { return s.ID == "other" })]
		}
		dead := func(want bool) {
			t.Helper()
			if got := other(); got.Expired != want {
				t.Errorf("%+v", got)
			}
		}
		dead(false)
		runOut("other")
		dead(true)
		must(t, servers.Renew(ctx, me, nil))
		dead(true)
		runOut("judge")
		dead(false)
		if won, err := servers.TakeOver(ctx, other()); won || err != nil {
			t.Errorf("taken over by who was away: %v, %v", won, err)
		}
		must(t, servers.Renew(ctx, me, nil))
		dead(false)
		if won, err := servers.TakeOver(ctx, other()); won || err != nil {
			t.Errorf("taken over at once by who was away: %v, %v", won, err)
		}
		servers.EndGrace()
		dead(true)
		must(t, servers.Renew(ctx, me, nil))
		if won, err := servers.TakeOver(ctx, other()); !won || err != nil {
			t.Errorf("not taken over: %v, %v", won, err)
		}
	})
}

// unanswered is a catalog whose answers to COMMIT are lost.
type unanswered struct{ metadata.Store }

func (u unanswered) Update(ctx context.Context, fn func(metadata.Tx) error) error {
	if err := u.Store.Update(ctx, fn); err != nil {
		return err
	}
	return fault.CommitUnknown.Newf("the answer is lost")
}

// Who was away and does not know that it has renewed does not call others dead at once either.
func TestWhoWasAwayAndWasNotAnswered(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind)
		servers := &maintain.Servers{Store: w.store, Lease: time.Hour}
		me, err := servers.Register(ctx, "judge", "")
		must(t, err)
		_, err = servers.Register(ctx, "other", "")
		must(t, err)
		must(t, servers.Renew(ctx, me, nil))
		must(t, w.update(func(tx metadata.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE {M}vega_servers SET lease_until = TIMESTAMPTZ '2000-01-01 00:00:00+00'`)
			return err
		}))
		servers.Store = unanswered{w.store}
		if err := servers.Renew(ctx, me, nil); fault.CodeOf(err) != fault.CommitUnknown {
			t.Fatal(err)
		}
		servers.Store = w.store
		must(t, servers.Renew(ctx, me, nil))
		all, err := servers.List(ctx)
		must(t, err)
		for _, s := range all {
			if s.Expired {
				t.Errorf("%+v", s)
			}
		}
	})
}
