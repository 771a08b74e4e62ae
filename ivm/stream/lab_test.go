package stream_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/ivm"
	"github.com/vegadb/vega-flight/ivm/bind"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/eval/evaluator"
	"github.com/vegadb/vega-flight/ivm/refresh"
	lakesink "github.com/vegadb/vega-flight/ivm/sink/lake"
	lakesource "github.com/vegadb/vega-flight/ivm/source/lake"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
)

func TestMain(m *testing.M) { os.Exit(laketest.Main(m)) }

// patience is for machines that have other things to do: what takes longer never comes.
const patience = 5 * time.Minute

// lab is a lake with streaming views.
type lab struct {
	t         testing.TB
	ctx       context.Context
	place     laketest.Place
	lake      *ducklake.Lake
	session   *ducklake.Session
	publisher *publish.Publisher
	rows      *store.Store
	sink      *lakesink.Sink
	binder    *bind.Binder
	dir       string
	views     map[string]*catalog.View // by name, as they were made
	owner     publish.Fence
	options   ddl.Options // of views that are made
	mode      string
	configure []func(*stream.Config)

	source *lakesource.Source
	eval   *evaluator.Instance
	run    *stream.Supervisor
}

func newLab(t testing.TB, kind laketest.Kind, change ...func(*lab)) *lab {
	t.Helper()
	return openLab(t, laketest.NewPlace(t, kind), filepath.Join(t.TempDir(), "state"), change...)
}

// openLab is a lab whose lake and state are at places.
func openLab(t testing.TB, place laketest.Place, dir string, change ...func(*lab)) *lab {
	t.Helper()
	l := &lab{t: t, mode: stream.Backfill, ctx: context.Background(), dir: dir, views: map[string]*catalog.View{}, place: place}
	l.lake = l.place.Open(t, func(c *ducklake.Config) { c.Vega = ivm.VegaDDL() })
	var err error
	l.session, err = l.lake.NewSession(l.ctx, ducklake.SessionConfig{Principal: "u", Admin: true})
	l.must(err)
	t.Cleanup(func() { l.must(l.session.Close()) })
	l.publisher, err = l.lake.NewPublisher(l.ctx)
	l.must(err)
	l.rows, err = store.Open(l.ctx, l.lake.Store())
	l.must(err)
	servers := &maintain.Servers{Store: l.lake.Store(), Lease: time.Hour}
	l.owner, err = servers.Register(l.ctx, l.lake.ServerID(), "test")
	l.must(err)
	l.sink = lakesink.New(lakesink.Config{Lake: l.lake, Store: l.rows, Publisher: l.publisher, Fence: func() publish.Fence { return l.owner }})
	l.binder = &bind.Binder{Lake: l.lake}
	t.Cleanup(func() { l.must(l.binder.Close()) })
	for _, f := range change {
		f(l)
	}
	l.start()
	t.Cleanup(l.stop)
	return l
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// changed tells the supervisor, if it runs, that rows of views have changed.
func (l *lab) changed() {
	if l.run != nil {
		l.run.Changed()
	}
}

func (l *lab) start() {
	l.t.Helper()
	if l.run != nil {
		return
	}
	var err error
	l.eval, err = evaluator.Open(l.ctx, evaluator.Config{})
	l.must(err)
	l.source = lakesource.New(lakesource.Config{Lake: l.lake})
	me := func() store.Owner { return store.Owner{ServerID: l.owner.ServerID, Fence: l.owner.Epoch} }
	c := stream.Config{
		Dir: l.dir, Stamp: "test", Source: l.source, Sink: l.sink.Results(), Views: l.rows.Streams(me, nil), Planner: l.binder,
		Evaluator: l.eval, Groups: l.eval, Log: slog.New(slog.NewTextHandler(l.t.Output(), nil)),
		Mine: func(r stream.Record) bool { return r.ServerID == l.owner.ServerID && r.Fence == l.owner.Epoch },
	}
	for _, f := range l.configure {
		f(&c)
	}
	l.run = stream.New(c)
	l.must(l.run.Start(l.ctx))
}

func (l *lab) stop() {
	if l.run == nil {
		return
	}
	l.run.Close()
	l.must(l.source.Close())
	l.must(l.eval.Close())
	l.run = nil
}

// exec runs statements of DuckDB's own.
func (l *lab) exec(sql ...string) {
	l.t.Helper()
	for _, s := range sql {
		a, err := l.session.Analyze(l.ctx, s)
		l.must(err)
		_, err = l.session.Exec(l.ctx, a)
		if err != nil {
			l.t.Fatalf("%s: %v", s, err)
		}
	}
}

// view makes a streaming view.
func (l *lab) view(name, query string) {
	l.t.Helper()
	bound, err := l.binder.Bind(l.ctx, l.session, query)
	l.must(err)
	row := catalog.Row{Kind: catalog.Streaming, CreatedAt: time.Now().UTC(), Sources: bound.Sources, Owner: "u", Name: catalog.Name{Schema: "main", Name: name}}
	row = row.WithDefinition(catalog.Definition{
		Kind: catalog.Streaming, Query: bound.Query, TimeZone: bound.TimeZone, Pinned: bound.Pinned, Consistent: bound.Consistent,
		Options: catalog.Options{Stream: l.options},
	})
	table, err := l.sink.Create(l.ctx, refresh.Making{Name: row.Name, Columns: bound.Columns, Row: row, Begin: l.mode})
	l.must(err)
	v := &catalog.View{Row: row, Table: table}
	v.UUID = table.UUID
	v.Def.Query = query
	l.views[name] = v
	l.changed()
}

// settle waits until all views are at the lake's head.
func (l *lab) settle() {
	l.t.Helper()
	head, err := l.lake.Snapshot(l.ctx)
	l.must(err)
	ctx, cancel := context.WithTimeout(l.ctx, patience)
	defer cancel()
	for name, v := range l.views {
		var last stream.Status
		err := l.run.Await(ctx, v.UUID, func(st stream.Status, ok bool) bool {
			last = st
			return ok && st.State == stream.Running && st.Frontier >= head.ID
		})
		if err != nil {
			l.t.Fatalf("view %s is %s (%+v) at %d, and the lake at %d: %v", name, last.State, last.Reason, last.Frontier, head.ID, err)
		}
	}
}

// check compares all views with their queries.
func (l *lab) check() {
	l.t.Helper()
	l.settle()
	for name, v := range l.views {
		l.same(name, v.Def.Query)
	}
}

func (l *lab) same(name, query string) {
	l.t.Helper()
	got := l.rowsOf("SELECT count(*) FROM ((SELECT * FROM " + name + " EXCEPT ALL (" + query + ")) UNION ALL ((" + query + ") EXCEPT ALL SELECT * FROM " + name + "))")
	if got[0][0] != int64(0) {
		l.t.Errorf("view %s:\nhas  %v\nis   %v", name, l.rowsOf("SELECT * FROM "+name+" ORDER BY ALL LIMIT 50"), l.rowsOf("SELECT * FROM ("+query+") ORDER BY ALL LIMIT 50"))
	}
}

func (l *lab) rowsOf(sql string) [][]any {
	l.t.Helper()
	conn, release, err := l.acquire(l.ctx)
	l.must(err)
	defer release()
	rows, err := conn.Rows(l.ctx, sql)
	if err != nil {
		l.t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// acquire gives a connection of the lake's own.
func (l *lab) acquire(ctx context.Context) (*duck.Conn, func(), error) {
	return l.lake.Acquire(ctx, ducklake.ConnSettings{})
}

// await waits for a view's state.
func (l *lab) await(name string, state stream.State) stream.Status {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.ctx, patience)
	defer cancel()
	var last stream.Status
	err := l.run.Await(ctx, l.views[name].UUID, func(st stream.Status, ok bool) bool {
		last = st
		return ok && st.State == state
	})
	if err != nil {
		l.t.Fatalf("view %s is %s (%+v), not %s: %v", name, last.State, last.Reason, state, err)
	}
	return last
}

// control changes what is wanted of a view.
func (l *lab) control(name string, f func(c *store.Control, uuid string) error) {
	l.t.Helper()
	l.must(f(l.rows.Control(), l.views[name].UUID))
	l.run.Changed()
}

func (l *lab) restart(name string) {
	l.t.Helper()
	l.control(name, func(c *store.Control, uuid string) error { return c.Restart(l.ctx, uuid) })
}

// keep copies all state as it is on disk; the supervisor must be stopped.
func (l *lab) keep() string {
	l.t.Helper()
	l.must(os.MkdirAll(l.dir, 0o700))
	to := filepath.Join(l.t.TempDir(), "kept")
	l.must(os.CopyFS(to, os.DirFS(l.dir)))
	return to
}

// back puts older state in the place of what there is.
func (l *lab) back(kept string) {
	l.t.Helper()
	l.must(os.RemoveAll(l.dir))
	if kept != "" {
		l.must(os.CopyFS(l.dir, os.DirFS(kept)))
	}
}
