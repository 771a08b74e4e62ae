package ivm_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm"
	"github.com/vegadb/vega-flight/ivm/bind"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/eval/evaluator"
	"github.com/vegadb/vega-flight/ivm/job"
	"github.com/vegadb/vega-flight/ivm/refresh"
	sink "github.com/vegadb/vega-flight/ivm/sink/lake"
	source "github.com/vegadb/vega-flight/ivm/source/lake"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// server is one vega-flight without its network.
type server struct {
	t       testing.TB
	lake    *ducklake.Lake
	store   *store.Store
	pub     *publish.Publisher
	sink    *sink.Sink
	servers *maintain.Servers
	fence   publish.Fence
	engine  *ivm.Engine
	session *ducklake.Session
	caller  ivm.Caller
	once    sync.Once
	ends    []func() error
	gone    atomic.Bool // the views' owner is no user any more
}

// options change how a server is put together.
type options struct {
	id     string
	faults sink.Faults
	wrap   func(refresh.Lake) refresh.Lake
	idle   bool   // do not start the engine
	stream bool   // run streaming views
	state  string // where their state lies; default: nowhere else
}

// start opens the lake at a place and puts a server on it, until the test ends or it is stopped.
func start(t testing.TB, at laketest.Place, o options) *server {
	t.Helper()
	ctx := context.Background()
	if o.id == "" {
		o.id = "one"
	}
	c := at.Config
	c.ServerID, c.Log = o.id, slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		c.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	lake, err := ducklake.Open(ctx, c)
	if err != nil {
		t.Fatalf("open the lake: %v", err)
	}
	s := &server{t: t, lake: lake}
	t.Cleanup(s.stop)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s.pub, err = lake.NewPublisher(ctx)
	must(err)
	s.store, err = store.Open(ctx, lake.Store())
	must(err)
	s.servers = &maintain.Servers{Store: lake.Store(), Lease: time.Hour} // nobody renews it
	s.fence, err = s.servers.Register(ctx, o.id, "")
	must(err)
	live := s.live
	if !lake.Shared() {
		live = nil
	}
	binder := &bind.Binder{Lake: lake}
	ev, err := evaluator.Open(ctx, evaluator.Config{})
	must(err)
	tables := source.New(source.Config{Lake: lake})
	s.ends = append(s.ends, tables.Close, ev.Close)
	once := stream.Once{Source: tables, Planner: binder, Evaluator: ev, Groups: ev}
	s.sink = sink.New(sink.Config{
		Lake: lake, Store: s.store, Publisher: s.pub, Fence: func() publish.Fence { return s.fence }, Live: live, Pins: maintain.NewPins(),
		Change: once.Change, Log: c.Log, Faults: o.faults,
	})
	var port refresh.Lake = s.sink
	if o.wrap != nil {
		port = o.wrap(port)
	}
	var streams ivm.Streams
	if o.stream {
		streams = s.streams(once, live, o.state, c.Log)
	}
	s.engine, err = ivm.New(ivm.Config{
		LakeName: lake.Name(), ServerID: o.id, Views: s.store.Views(), History: s.store.History(), Jobs: s.store.Jobs(), Schedules: s.store.Schedules(),
		Binder: binder, Tables: s.sink, Upkeep: s.sink, Sources: s.sink, Lake: port, Text: &bind.Text{Lake: lake.Name(), Parse: binder.Parse}, Clock: s.sink, Control: s.store.Control(), Streams: streams,
		Fence: func() int64 { return s.fence.Epoch }, Live: live, Commits: lake.Watch, Log: c.Log,
	})
	must(err)
	s.session, err = lake.NewSession(ctx, ducklake.SessionConfig{Principal: "ann"})
	must(err)
	s.caller = ivm.Caller{Principal: "ann", Session: s.session}
	if !o.idle {
		must(s.engine.Start(ctx))
	}
	return s
}

// streams is what runs streaming views.
func (s *server) streams(once stream.Once, live func(context.Context) (map[string]bool, error), dir string, log *slog.Logger) ivm.Streams {
	s.t.Helper()
	if dir == "" {
		dir = s.t.TempDir()
	}
	owner := func() store.Owner { return store.Owner{ServerID: s.fence.ServerID, Fence: s.fence.Epoch} }
	return stream.New(stream.Config{
		Dir: dir, Stamp: "test", Source: once.Source, Sink: s.sink.Results(), Views: s.store.Streams(owner, live),
		Planner: once.Planner, Evaluator: once.Evaluator, Groups: once.Groups,
		Mine: func(r stream.Record) bool { return store.Owner{ServerID: r.ServerID, Fence: r.Fence} == owner() },
		Allowed: func(_ context.Context, v *catalog.View) error {
			if s.gone.Load() {
				return fault.PermissionDenied.Newf("%s is no user any more", v.Owner)
			}
			return nil
		},
		Log: log,
	})
}

// stop ends the server in an orderly way.
func (s *server) stop() {
	s.once.Do(func() {
		ctx := context.Background()
		errs := []error{}
		if s.engine != nil {
			errs = append(errs, s.engine.Close(ctx))
		}
		if s.session != nil {
			errs = append(errs, s.session.Close())
		}
		for _, end := range s.ends {
			errs = append(errs, end())
		}
		errs = append(errs, s.lake.Close())
		if err := errors.Join(errs...); err != nil {
			s.t.Errorf("stop the server: %v", err)
		}
	})
}

func (s *server) live(ctx context.Context) (map[string]bool, error) {
	all, err := s.servers.List(ctx)
	out := map[string]bool{}
	for _, x := range all {
		out[x.ID] = !x.Expired
	}
	return out, err
}

// exec runs DuckDB's own statements in the session.
func (s *server) exec(sql ...string) {
	s.t.Helper()
	for _, q := range sql {
		a, err := s.session.Analyze(context.Background(), q)
		if err == nil {
			_, err = s.session.Exec(context.Background(), a)
		}
		if err != nil {
			s.t.Fatalf("%s: %v", q, err)
		}
	}
}

// rows are a result as texts, one map a row.
type rows []map[string]string

// try runs one of our statements.
func (s *server) try(sql string) (rows, error) { return s.tryAs(context.Background(), s.caller, sql) }

func (s *server) tryAs(ctx context.Context, c ivm.Caller, sql string) (rows, error) {
	items, err := ddl.Parse(sql)
	if err != nil {
		return nil, err
	}
	var out rows
	for _, item := range items {
		if item.Stmt == nil {
			return nil, fmt.Errorf("not ours: %s", item.Text)
		}
		r, err := s.engine.Execute(ctx, c, item.Stmt)
		if err != nil {
			return nil, err
		}
		if want := s.engine.ResultSchema(item.Stmt); !want.Equal(r.Schema) {
			s.t.Errorf("%s: schema %s, announced %s", sql, r.Schema, want)
		}
		out = out[:0]
		for i := range int(r.Records.NumRows()) {
			row := map[string]string{}
			for k, col := range r.Records.Columns() {
				if !col.IsNull(i) {
					row[r.Schema.Field(k).Name] = cell(col, i)
				}
			}
			out = append(out, row)
		}
		r.Release()
	}
	return out, nil
}

func cell(a interface {
	ValueStr(int) string
}, i int) string {
	if l, ok := a.(*array.List); ok {
		return l.ValueStr(i)
	}
	return a.ValueStr(i)
}

// run is try that must succeed.
func (s *server) run(sql string) rows {
	s.t.Helper()
	out, err := s.try(sql)
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// fails runs a statement that must fail with the code.
func (s *server) fails(code *fault.Code, sql string) error {
	s.t.Helper()
	_, err := s.try(sql)
	if fault.CodeOf(err) != code {
		s.t.Fatalf("%s: %v, want %s", sql, err, code.Name())
	}
	return err
}

// query runs a SELECT on the lake itself, past the gate.
func (s *server) query(sql string) [][]any {
	s.t.Helper()
	conn, release, err := s.lake.Acquire(context.Background(), ducklake.ConnSettings{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer release()
	out, err := conn.Rows(context.Background(), sql)
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return out
}

func (s *server) one(sql string) string {
	s.t.Helper()
	r := s.query(sql)
	if len(r) != 1 {
		s.t.Fatalf("%s: %d rows", sql, len(r))
	}
	return fmt.Sprint(r[0][0])
}

// matches is the oracle: the view's content is its query's answer, as a multiset.
func (s *server) matches(view, query string) {
	s.t.Helper()
	if n := s.difference(view, query); n != "0" {
		s.t.Errorf("view %s differs from its query in %s rows\n%s", view, n, query)
	}
}

func (s *server) difference(view, query string) string {
	s.t.Helper()
	return s.one(fmt.Sprintf(`SELECT count(*) FROM ((SELECT * FROM %[1]s EXCEPT ALL (%[2]s)) UNION ALL ((%[2]s) EXCEPT ALL SELECT * FROM %[1]s))`, view, query))
}

// leftovers are staging registrations, holds, hidden tables, and the published states of what is no view.
func (s *server) leftovers() []string {
	s.t.Helper()
	var out []string
	err := s.lake.Store().View(context.Background(), func(tx metadata.Tx) error {
		for what, sql := range map[string]string{
			"staged":    `SELECT folder FROM {M}vega_staged`,
			"hold":      `SELECT holder FROM {M}vega_holds`,
			"build":     `SELECT table_name FROM {M}vega_builds`,
			"published": `SELECT uuid FROM {M}vega_published WHERE uuid NOT IN (SELECT uuid FROM {M}vega_views)`,
			"journal":   `SELECT kind FROM {M}vega_journal`,
			"hidden":    `SELECT table_name FROM {M}ducklake_table WHERE end_snapshot IS NULL AND table_name LIKE '\_\_vega%' ESCAPE '\'`,
		} {
			r, err := tx.Query(context.Background(), sql)
			if err != nil {
				return err
			}
			for _, v := range r {
				out = append(out, what+" "+fmt.Sprint(v[0]))
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s *server) clean() {
	s.t.Helper()
	if left := s.leftovers(); len(left) > 0 {
		s.t.Errorf("left over: %s", strings.Join(left, ", "))
	}
}

// submit starts a statement with a job behind it, without waiting.
func (s *server) submit(sql string) job.Job {
	s.t.Helper()
	items, err := ddl.Parse(sql)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := s.engine.Submit(context.Background(), s.caller, items[0].Stmt)
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	defer r.Release()
	if r.Job == nil {
		s.t.Fatalf("%s: no job", sql)
	}
	return *r.Job
}

// done waits for a job's end.
func (s *server) done(id string) job.Job {
	s.t.Helper()
	var j job.Job
	var err error
	for {
		if j, err = s.engine.Wait(context.Background(), id, j.Seq()); err != nil {
			s.t.Fatalf("job %s: %v", id, err)
		}
		if j.State.Ended() {
			return j
		}
	}
}

// comments checks that every view's comment is its definition.
func (s *server) comments() {
	s.t.Helper()
	facts, err := s.store.Views().Load(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range facts.Rows {
		for _, table := range facts.Tables {
			if table.UUID == r.UUID && table.Comment != r.Definition {
				s.t.Errorf("the comment of %s is %q, its definition %q", table.Name, table.Comment, r.Definition)
			}
		}
	}
}

// meddle changes the engine's own rows, as nothing but a fault would.
func (s *server) meddle(sql string, args ...any) {
	s.t.Helper()
	ctx := context.Background()
	err := s.lake.Store().Update(ctx, func(tx metadata.Tx) error {
		if _, err := tx.Exec(ctx, sql, args...); err != nil {
			return err
		}
		return s.store.Touch(ctx, tx)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// sql changes the catalog database.
func (s *server) sql(text string) {
	s.t.Helper()
	err := s.lake.Store().Update(context.Background(), func(tx metadata.Tx) error {
		_, err := tx.Exec(context.Background(), text)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// pause waits for the lake's next commit, or a moment.
func (s *server) pause() {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	commits := s.lake.Watch(ctx)
	<-commits // where it stands
	<-commits
}
