package stream_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/publish"
	lakesink "github.com/vegadb/vega-flight/ivm/sink/lake"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// server makes another server of the lab's lake, which lives as long as live says so.
func (l *lab) server(id string, live map[string]bool) *stream.Supervisor {
	l.t.Helper()
	owner, err := (&maintain.Servers{Store: l.lake.Store(), Lease: time.Hour}).Register(l.ctx, id, "test")
	l.must(err)
	sink := lakesink.New(lakesink.Config{Lake: l.lake, Store: l.rows, Publisher: l.publisher, Fence: func() publish.Fence { return owner }})
	me := func() store.Owner { return store.Owner{ServerID: owner.ServerID, Fence: owner.Epoch} }
	run := stream.New(stream.Config{
		Dir: filepath.Join(l.t.TempDir(), id), Stamp: "test", Source: l.source, Sink: sink.Results(), Planner: l.binder, Evaluator: l.eval, Groups: l.eval,
		Views: l.rows.Streams(me, func(context.Context) (map[string]bool, error) { return live, nil }),
		Mine:  func(r stream.Record) bool { return r.ServerID == owner.ServerID && r.Fence == owner.Epoch },
		Log:   slog.New(slog.NewTextHandler(l.t.Output(), nil)).With("server", id),
	})
	l.must(run.Start(l.ctx))
	return run
}

// A view reads views of two servers, so that all of them belong together from then on. One server has them all then.
func TestAViewOverViewsOfTwoServers(t *testing.T) {
	l := newLab(t, laketest.PostgreSQL)
	live := map[string]bool{"one": true, "two": true}
	l.run.Close()
	one := l.server("one", live)
	defer one.Close()
	l.run = one
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o VALUES (1, 10), (2, 20)")
	l.view("x", "SELECT id, v FROM o WHERE v > 5")
	l.settle()
	one.Close()
	two := l.server("two", live)
	defer two.Close()
	l.run = two
	l.view("y", "SELECT count(*) AS n FROM o")
	l.awaitOn(two, "y")
	one = l.server("one", live)
	defer one.Close()
	l.run = one
	l.awaitOn(one, "x")

	l.view("z", "SELECT x.id, y.n FROM x, y")
	for _, name := range []string{"x", "y", "z"} {
		l.awaitOn(one, name)
	}
	l.exec("INSERT INTO o VALUES (3, 30)")
	l.check()
}

// awaitOn waits until a view runs on a server.
func (l *lab) awaitOn(run *stream.Supervisor, name string) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.ctx, patience)
	defer cancel()
	var last stream.Status
	err := run.Await(ctx, l.views[name].UUID, func(st stream.Status, ok bool) bool {
		last = st
		return ok && st.State == stream.Running
	})
	if err != nil {
		l.t.Fatalf("view %s is %s (%+v): %v", name, last.State, last.Reason, err)
	}
}
