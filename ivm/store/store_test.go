package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/job"
	"github.com/vegadb/vega-flight/ivm/refresh"
)

// world is a lake with the store beside it.
type world struct {
	t    *testing.T
	lake *ducklake.Lake
	db   metadata.Store
	s    *Store
}

func each(t *testing.T, f func(w *world)) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		w := &world{t: t, lake: laketest.New(t, k)}
		w.db = w.lake.Store()
		ctx := context.Background()
		if err := metadata.Migrate(ctx, w.db, publish.Component, publish.Migrations()); err != nil {
			t.Fatal(err)
		}
		var err error
		if w.s, err = Open(ctx, w.db); err != nil {
			t.Fatal(err)
		}
		f(w)
	})
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) ddl(sql string) {
	w.t.Helper()
	w.ok(w.lake.DDL(context.Background(), sql))
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	w.ok(w.db.Update(context.Background(), func(tx metadata.Tx) error {
		_, err := tx.Exec(context.Background(), sql, args...)
		return err
	}))
}

func (w *world) facts() catalog.Facts {
	w.t.Helper()
	f, err := w.s.Views().Load(context.Background())
	w.ok(err)
	return f
}

func (w *world) table(name string) catalog.Table {
	w.t.Helper()
	for _, t := range w.facts().Tables {
		if t.Name.Name == name {
			return t
		}
	}
	w.t.Fatalf("no table %s", name)
	return catalog.Table{}
}

// viewRow is a view's row over a table.
func viewRow(t catalog.Table, reads ...catalog.Table) catalog.Row {
	r := catalog.Row{UUID: t.UUID, Kind: catalog.Traditional, Owner: "alice", Name: t.Name, CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)}
	for _, src := range reads {
		r.Sources = append(r.Sources, catalog.Source{UUID: src.UUID, Name: src.Name, Columns: src.Columns})
	}
	return r.WithDefinition(catalog.Definition{Kind: catalog.Traditional, Query: "SELECT 'it''s' FROM lake.main.t"})
}

func TestViews(t *testing.T) {
	each(t, func(w *world) {
		ctx := context.Background()
		views := w.s.Views()
		w.ddl(`CREATE SCHEMA "S"`)
		w.ddl(`CREATE TABLE t (a INTEGER, "b c" DECIMAL(10,2)[], d STRUCT(x TIMESTAMPTZ))`)
		w.ddl(`CREATE TABLE "S".v (a INTEGER)`)
		w.ddl(`CREATE VIEW "S".plain AS SELECT 1`)
		src, tab := w.table("t"), w.table("v")
		if want := []catalog.Column{{ID: 1, Name: "a", Type: "INTEGER"}, {ID: 2, Name: "b c", Type: "DECIMAL(10,2)[]"}, {ID: 4, Name: "d", Type: `STRUCT("x" TIMESTAMP WITH TIME ZONE)`}}; !reflect.DeepEqual(src.Columns, want) {
			w.t.Errorf("columns %+v", src.Columns)
		}
		if f := w.facts(); !slices.Equal(f.PlainViews, []catalog.Name{{Schema: "S", Name: "plain"}}) || !slices.Equal(f.Schemas, []string{"S", "main"}) {
			w.t.Errorf("plain views %v, schemas %v", f.PlainViews, f.Schemas)
		}
		before, err := views.Revision(ctx)
		w.ok(err)
		r := viewRow(tab, src)
		w.ok(views.Insert(ctx, r))
		if err := views.Insert(ctx, r); fault.CodeOf(err) != fault.ViewExists {
			w.t.Errorf("a second insert: %v", err)
		}
		r.Revision = 1
		f := w.facts()
		if len(f.Rows) != 1 || !reflect.DeepEqual(f.Rows[0], r) {
			w.t.Errorf("read back %+v\nwant %+v", f.Rows, r)
		}
		if f.Revision.Rows == before.Rows || f.Revision.Snapshot != before.Snapshot {
			w.t.Errorf("revision %+v after %+v", f.Revision, before)
		}
		if n, err := views.Rows(ctx); err != nil || n != f.Revision.Rows {
			w.t.Errorf("Rows is %d, %v; revision %+v", n, err, f.Revision)
		}

		// Only who knows the newest revision changes the row.
		next := r
		next.Owner, next.Sources = "bob", append(next.Sources, catalog.Source{UUID: "x", Name: catalog.Name{Schema: "main", Name: "gone"}, Columns: []catalog.Column{}})
		ok, err := views.Update(ctx, next)
		if w.ok(err); !ok {
			w.t.Error("the update lost against nobody")
		}
		if ok, err = views.Update(ctx, next); err != nil || ok {
			w.t.Errorf("an update from an old revision: %v, %v", ok, err)
		}
		next.Revision = 2
		if f = w.facts(); !reflect.DeepEqual(f.Rows[0], next) {
			w.t.Errorf("updated to %+v\nwant %+v", f.Rows[0], next)
		}

		// What is published comes with the rows, and only for views.
		frontier := catalog.Frontier{SourceVersion: 7, Tables: map[string]int64{src.UUID: 7}}
		w.exec(`INSERT INTO {M}vega_published VALUES ($1, 2, 5, $2, 9, 11, 33, 'c', 's', now())`, tab.UUID, frontier.Encode())
		w.exec(`INSERT INTO {M}vega_published VALUES ('other', 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`)
		f = w.facts()
		p := f.Published[tab.UUID]
		if len(f.Published) != 1 || p.Generation != 2 || p.Epoch != 5 || p.Snapshot != 11 || p.Rows != 33 || p.CommitID != "c" || p.At.IsZero() || !reflect.DeepEqual(p.Frontier, frontier) {
			w.t.Errorf("published %+v", f.Published)
		}

		// A rename keeps the view, a new table does not take its place by itself.
		w.ddl(`ALTER TABLE "S".v RENAME TO w`)
		if set := catalog.Resolve(w.facts()); set.Find(catalog.Name{Schema: "S", Name: "w"}) == nil || len(set.Views) != 1 {
			w.t.Errorf("after the rename: %+v", set.Views)
		}
		w.ddl(`CREATE TABLE "S".z (a INTEGER, b INTEGER)`)
		z := w.table("z")
		w.ok2(w.s.Schedules().Save(ctx, refresh.Schedule{ViewID: tab.UUID, Cron: "@daily"}))
		w.ok(views.Replace(ctx, tab.UUID, viewRow(z, src)))
		if f = w.facts(); len(f.Rows) != 1 || f.Rows[0].UUID != z.UUID || f.Rows[0].Revision != 1 || len(f.Published) != 0 {
			w.t.Errorf("replaced: %+v, %+v", f.Rows, f.Published)
		}
		if s, err := w.s.Schedules().Load(ctx); err != nil || len(s) != 1 || s[0].ViewID != z.UUID {
			w.t.Errorf("schedules of the replaced view: %+v, %v", s, err)
		}
		if err := views.Replace(ctx, "nobody", viewRow(tab)); fault.CodeOf(err) != fault.ViewNotFound {
			w.t.Errorf("replacing a view that is gone: %v", err)
		}
		w.ok(views.Delete(ctx, z.UUID, "nobody"))
		if f = w.facts(); len(f.Rows) != 0 {
			w.t.Errorf("deleted: %+v", f.Rows)
		}
		if s, err := w.s.Schedules().Load(ctx); err != nil || len(s) != 0 {
			w.t.Errorf("schedules of the deleted view: %+v, %v", s, err)
		}
	})
}

func TestUnread(t *testing.T) {
	each(t, func(w *world) {
		ctx := context.Background()
		w.ddl(`CREATE TABLE t (a INTEGER)`)
		src := w.table("t")
		unread := func() (at int64) {
			w.ok(w.db.View(ctx, func(tx metadata.Tx) (err error) {
				at, err = w.s.Unread(ctx, tx)
				return err
			}))
			return at
		}
		hour := time.Hour
		for _, v := range []struct {
			name      string
			stale     *time.Duration
			reflected int64
			want      int64
		}{{"old", nil, 3, 0}, {"newer", &hour, 9, 9}, {"older", &hour, 7, 7}, {"newest", &hour, 11, 7}} {
			w.ddl("CREATE TABLE " + v.name + " (a INTEGER)")
			r := viewRow(w.table(v.name), src)
			w.ok(w.s.Views().Insert(ctx, r.WithDefinition(catalog.Definition{Kind: catalog.Traditional, Query: "SELECT a FROM lake.main.t", Options: catalog.Options{MaxStaleness: v.stale}})))
			w.exec(`INSERT INTO {M}vega_published VALUES ($1, 2, 5, $2, 9, 11, 33, 'c', 's', now())`, r.UUID, catalog.Frontier{SourceVersion: v.reflected, Tables: map[string]int64{src.UUID: v.reflected}}.Encode())
			if got := unread(); got != v.want {
				w.t.Errorf("with %q: %d, not %d", v.name, got, v.want)
			}
		}
	})
}

func (w *world) ok2(ok bool, err error) {
	w.t.Helper()
	if w.ok(err); !ok {
		w.t.Fatal("lost a race against nobody")
	}
}

func sampleJob(id string, n int) job.Job {
	at := time.Date(2026, 1, 1, 0, 0, n, 1000, time.UTC)
	return job.Job{ID: id, Kind: job.Refresh, Subject: "u", View: "main.v", Principal: "alice", Trigger: "statement", State: job.Queued, Phase: "queued",
		Progress: job.Unknown, SubmittedAt: at, Spec: []byte(`{"full":true}`), ServerID: "s1", Fence: 3, Version: 1}
}

func TestJobs(t *testing.T) {
	each(t, func(w *world) {
		ctx := context.Background()
		jobs := w.s.Jobs()
		a := sampleJob("a", 1)
		w.ok(jobs.Insert(ctx, a))
		if got, err := jobs.ByID(ctx, "a"); err != nil || !reflect.DeepEqual(got, a) {
			w.t.Errorf("read back %+v, %v\nwant %+v", got, err, a)
		}
		if _, err := jobs.ByID(ctx, "b"); fault.CodeOf(err) != fault.JobNotFound {
			w.t.Errorf("an unknown job: %v", err)
		}
		if err := jobs.Insert(ctx, a); err == nil {
			w.t.Error("a job was inserted twice")
		}
		end := a
		end.State, end.StartedAt, end.FinishedAt, end.RowsWritten, end.Progress = job.Failed, a.SubmittedAt.Add(time.Second), a.SubmittedAt.Add(time.Minute), 7, 0.25
		end.ErrorCode, end.ErrorMessage, end.ErrorHint, end.Result, end.Attempt, end.Phase = "DISK_FULL", "no room", "make some", []byte(`{}`), 2, "ended"
		w.ok2(jobs.Update(ctx, end))
		if ok, err := jobs.Update(ctx, end); ok || err != nil {
			w.t.Errorf("an update of an old version: %v, %v", ok, err)
		}
		end.Version = 2
		if got, err := jobs.ByID(ctx, "a"); err != nil || !reflect.DeepEqual(got, end) {
			w.t.Errorf("updated to %+v, %v\nwant %+v", got, err, end)
		}

		// Of writers that know the same version, one wins.
		b := sampleJob("b", 2)
		w.ok(jobs.Insert(ctx, b))
		var wins int
		var mu sync.Mutex
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				mine := b
				mine.Phase = fmt.Sprint(i)
				ok, err := jobs.Update(ctx, mine)
				mu.Lock()
				defer mu.Unlock()
				if err != nil && !errors.Is(err, fault.CommitConflict.Sentinel()) {
					w.t.Error(err)
				}
				if ok {
					wins++
				}
			})
		}
		group.Wait()
		if wins != 1 {
			w.t.Errorf("%d of 8 updates of one version won", wins)
		}

		for i, id := range []string{"c", "d", "e"} {
			j := sampleJob(id, 3+i)
			j.Subject, j.Principal, j.ServerID = "x", "bob", "s2"
			if id != "e" {
				j.State, j.FinishedAt = job.Succeeded, j.SubmittedAt.Add(time.Hour)
			}
			w.ok(jobs.Insert(ctx, j))
		}
		for _, c := range []struct {
			q    job.Query
			want string
		}{
			{job.Query{}, "e d c b a"}, {job.Query{Limit: 2}, "e d"}, {job.Query{Subject: "u"}, "b a"}, {job.Query{Principal: "bob", Limit: 1}, "e"},
			{job.Query{ServerID: "s1"}, "b a"}, {job.Query{Unfinished: true}, "e b"}, {job.Query{Subject: "x", Unfinished: true}, "e"}, {job.Query{Subject: "none"}, ""},
		} {
			if got := w.ids(c.q); got != c.want {
				w.t.Errorf("%+v: %q, want %q", c.q, got, c.want)
			}
		}
		n, err := jobs.Prune(ctx, 2, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))
		if got := w.ids(job.Query{}); err != nil || n != 1 || got != "e d c b" {
			w.t.Errorf("pruned %d, %v; left %q", n, err, got)
		}
		n, err = jobs.Prune(ctx, 10, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
		if got := w.ids(job.Query{}); err != nil || n != 2 || got != "e b" {
			w.t.Errorf("pruned %d, %v; left %q", n, err, got)
		}
	})
}

func (w *world) ids(q job.Query) string {
	w.t.Helper()
	all, err := w.s.Jobs().List(context.Background(), q)
	w.ok(err)
	out := ""
	for i, j := range all {
		if i > 0 {
			out += " "
		}
		out += j.ID
	}
	return out
}

func TestSchedules(t *testing.T) {
	each(t, func(w *world) {
		ctx := context.Background()
		s := w.s.Schedules()
		every := 90 * time.Second
		x := refresh.Schedule{ViewID: "u", View: "main.v", Principal: "alice", Interval: &every, NextAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
		w.ok2(s.Save(ctx, x))
		if ok, err := s.Save(ctx, x); ok || err != nil {
			w.t.Errorf("inserted twice: %v, %v", ok, err)
		}
		x.Version = 1
		if got, err := s.Load(ctx); err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], x) {
			w.t.Errorf("read back %+v, %v\nwant %+v", got, err, x)
		}
		x.Interval, x.Cron, x.TimeZone, x.JobID, x.Failures, x.LastError = nil, "@daily", "UTC", "j", 2, "no room"
		x.LastEnd, x.ServerID = x.NextAt.Add(time.Hour), "s1"
		w.ok2(s.Fire(ctx, x, sampleJob("j", 1)))
		if ok, err := s.Fire(ctx, x, sampleJob("k", 1)); ok || err != nil {
			w.t.Errorf("fired twice: %v, %v", ok, err)
		}
		if got := w.ids(job.Query{}); got != "j" {
			w.t.Errorf("jobs %q", got)
		}
		x.Version = 2
		if got, err := s.Load(ctx); err != nil || !reflect.DeepEqual(got[0], x) {
			w.t.Errorf("read back %+v, %v\nwant %+v", got, err, x)
		}
		w.ok(s.Remove(ctx, "u"))
		w.ok(s.Remove(ctx, "u"))
		if got, err := s.Load(ctx); err != nil || len(got) != 0 {
			w.t.Errorf("removed: %+v, %v", got, err)
		}
	})
}

// Every older version of the tables, with rows in them, comes up to date and keeps its rows.
func TestUpgrade(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		ctx := context.Background()
		steps := migrations()
		for have := 1; have < len(steps); have++ {
			lake := laketest.New(t, k)
			w := &world{t: t, lake: lake, db: lake.Store()}
			w.ok(metadata.Migrate(ctx, w.db, publish.Component, publish.Migrations()))
			w.ok(metadata.Migrate(ctx, w.db, Component, steps[:have]))
			w.exec(`INSERT INTO {M}vega_views VALUES ('u', 'traditional', 'alice', 'd', 'h', 'main', 'v', now(), 4)`)
			w.exec(`UPDATE {M}vega_counters SET value = 17`)
			if have >= 2 {
				w.s = &Store{db: w.db}
				w.ok(w.s.Jobs().Insert(ctx, sampleJob("a", 1)))
			}
			var err error
			w.s, err = Open(ctx, w.db)
			w.ok(err)
			if f := w.facts(); len(f.Rows) != 1 || f.Rows[0].Revision != 4 || f.Revision.Rows != 17 {
				t.Errorf("from version %d: %+v", have, f.Rows)
			}
			if n, err := w.s.Views().Rows(ctx); err != nil || n != 17 {
				t.Errorf("from version %d: counter %d, %v", have, n, err)
			}
			if got := w.ids(job.Query{}); have >= 2 && got != "a" {
				t.Errorf("from version %d: jobs %q", have, got)
			}
			w.ok2(w.s.Schedules().Save(ctx, refresh.Schedule{ViewID: "u"}))
		}
		// A newer server's tables are refused.
		lake := laketest.New(t, k)
		newer := append(slices.Clone(steps), metadata.Migration{Version: len(steps) + 1})
		if err := metadata.Migrate(ctx, lake.Store(), Component, newer); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(ctx, lake.Store()); fault.CodeOf(err) != fault.DefinitionTooNew {
			t.Errorf("tables of a newer server: %v", err)
		}
	})
}
