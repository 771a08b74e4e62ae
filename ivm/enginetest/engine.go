package enginetest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/ivm"
	"github.com/vegadb/vega-flight/ivm/bind"
	"github.com/vegadb/vega-flight/ivm/changelog"
	"github.com/vegadb/vega-flight/ivm/sink/lake"
	source "github.com/vegadb/vega-flight/ivm/source/lake"
	"github.com/vegadb/vega-flight/ivm/store"
)

// Lake is a new, empty lake that has the tables of the reserved catalog.
func Lake(t testing.TB, k laketest.Kind, change ...func(*ducklake.Config)) *ducklake.Lake {
	t.Helper()
	vega := func(c *ducklake.Config) { c.Vega = ivm.VegaDDL() }
	return laketest.New(t, k, append([]func(*ducklake.Config){vega}, change...)...)
}

// Engine runs the views of a lake until the test ends.
func Engine(t testing.TB, l *ducklake.Lake) *ivm.Engine {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	publisher, err := l.NewPublisher(ctx)
	must(err)
	rows, err := store.Open(ctx, l.Store())
	must(err)
	servers := &maintain.Servers{Store: l.Store(), Lease: time.Minute}
	owner, err := servers.Register(ctx, l.ServerID(), "test")
	must(err)
	sink := lake.New(lake.Config{Lake: l, Store: rows, Publisher: publisher, Log: slog.New(slog.DiscardHandler)})
	binder := &bind.Binder{Lake: l}
	tables := source.New(source.Config{Lake: l})
	changes := changelog.New(changelog.Config{
		Source: tables, Holds: &source.Holds{Store: l.Store(), Fence: func() publish.Fence { return owner }}, Dir: t.TempDir(),
	})
	engine, err := ivm.New(ivm.Config{
		LakeName: l.Name(), ServerID: l.ServerID(),
		Views: rows.Views(), History: rows.History(), Jobs: rows.Jobs(), Schedules: rows.Schedules(),
		Binder: binder, Tables: sink, Upkeep: sink, Sources: sink, Lake: sink, Clock: sink, Control: rows.Control(), Changes: changes,
		Text:  &bind.Text{Lake: l.Name(), Parse: binder.Parse},
		Fence: func() int64 { return owner.Epoch }, Commits: l.Watch,
	})
	must(err)
	must(engine.Start(ctx))
	t.Cleanup(func() {
		if err := engine.Close(ctx); err != nil {
			t.Errorf("close the engine: %v", err)
		}
		if n := changes.Subscribers(); n != 0 {
			t.Errorf("%d subscriptions are left", n)
		}
		changes.Close()
		must(tables.Close())
	})
	return engine
}
