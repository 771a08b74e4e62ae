package changelog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/ivm/changelog"
	source "github.com/vegadb/vega-flight/ivm/source/lake"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
)

var ctx = context.Background()

// world is a lake with tables that stand for views, a writer, and a changelog over it.
type world struct {
	t         testing.TB
	lake      *ducklake.Lake
	session   *ducklake.Session
	source    *judged
	fence     publish.Fence
	publisher *publish.Publisher
	log       *changelog.Changelog
	clock     *clock
}

func newWorld(t testing.TB, kind laketest.Kind, change ...func(*changelog.Config)) *world {
	t.Helper()
	return openWorld(t, laketest.New(t, kind), "one", change...)
}

// openWorld puts a server on a lake.
func openWorld(t testing.TB, lake *ducklake.Lake, id string, change ...func(*changelog.Config)) *world {
	t.Helper()
	w := &world{t: t, lake: lake, clock: newClock()}
	var err error
	w.session, err = lake.NewSession(ctx, ducklake.SessionConfig{Principal: "ann", Admin: true})
	w.must(err)
	t.Cleanup(func() { w.must(w.session.Close()) })
	w.publisher, err = lake.NewPublisher(ctx)
	w.must(err)
	w.source = &judged{Source: source.New(source.Config{Lake: lake}), foreign: map[int64]bool{}}
	t.Cleanup(func() { w.must(w.source.Close()) })
	w.fence, err = (&maintain.Servers{Store: lake.Store()}).Register(ctx, id, "")
	w.must(err)
	c := changelog.Config{
		Source: w.source, Holds: &source.Holds{Store: lake.Store(), Fence: func() publish.Fence { return w.fence }}, Clock: w.clock, Dir: t.TempDir(),
	}
	for _, f := range change {
		f(&c)
	}
	w.log = changelog.New(c)
	t.Cleanup(func() {
		if n := w.log.Subscribers(); n != 0 {
			t.Errorf("%d subscriptions are left", n)
		}
		w.log.Close()
		if len(w.holds()) > 0 {
			t.Errorf("holds are left: %v", w.holds())
		}
	})
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// exec runs statements, each a commit of its own.
func (w *world) exec(sql ...string) {
	w.t.Helper()
	for _, q := range sql {
		a, err := w.session.Analyze(ctx, q)
		if err == nil {
			_, err = w.session.Exec(ctx, a)
		}
		if err != nil {
			w.t.Fatalf("%s: %v", q, err)
		}
	}
}

func (w *world) head() int64 {
	w.t.Helper()
	s, err := w.lake.Snapshot(ctx)
	w.must(err)
	return s.ID
}

// view is a table as if it were a view's.
func (w *world) view(name string, key ...int) changelog.View {
	w.t.Helper()
	var v changelog.View
	w.must(w.lake.Store().View(ctx, func(tx metadata.Tx) error {
		tables, err := metadata.Tables(ctx, tx, metadata.Filter{})
		for _, t := range tables {
			if t.Name == name {
				x := store.Table(t)
				v = changelog.View{UUID: x.UUID, Name: x.Name, TableID: x.ID, Streaming: true, Columns: x.Columns, Key: key}
			}
		}
		return err
	}))
	if v.UUID == "" {
		w.t.Fatalf("there is no table %s", name)
	}
	return v
}

func (w *world) holds() (out []int64) {
	w.t.Helper()
	w.must(w.lake.Store().View(ctx, func(tx metadata.Tx) error {
		all, err := maintain.Holds(ctx, tx)
		out = nil
		for _, h := range all {
			out = append(out, h.Snapshot)
		}
		return err
	}))
	return out
}

// judged takes all commits for publications of ours but those that are named: what stands for views' tables is written by statements.
type judged struct {
	*source.Source
	mu      sync.Mutex
	foreign map[int64]bool
	changes atomic.Int64 // times that they were read
}

func (j *judged) Commits(ctx context.Context, from, to int64) ([]stream.Commit, error) {
	commits, err := j.Source.Commits(ctx, from, to)
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range commits {
		for id, t := range c.Tables {
			t.Ours = !j.foreign[c.Snapshot]
			c.Tables[id] = t
		}
	}
	return commits, err
}

// other says that a commit is another program's.
func (j *judged) other(snapshot int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.foreign[snapshot] = true
}

// bag is rows with how often each is there.
type bag map[string]int64

func rowsOf(batch arrow.RecordBatch, from int) []string {
	out := make([]string, batch.NumRows())
	for i := range out {
		cells := make([]string, 0, 8)
		for _, c := range batch.Columns()[from:] {
			cells = append(cells, cell(c, i))
		}
		out[i] = strings.Join(cells, "|")
	}
	return out
}

func cell(c arrow.Array, i int) string {
	if c.IsNull(i) {
		return "NULL"
	}
	return c.ValueStr(i)
}

// content is what a table has at a snapshot, said by DuckDB.
func (w *world) content(v changelog.View, at int64) bag {
	w.t.Helper()
	a, err := w.session.Analyze(ctx, fmt.Sprintf("SELECT * FROM %s AT (VERSION => %d)", v.Name, at))
	w.must(err)
	r, err := w.session.Query(ctx, a)
	w.must(err)
	defer r.Close()
	out := bag{}
	for r.Next() {
		for _, row := range rowsOf(r.RecordBatch(), 0) {
			out[row]++
		}
	}
	w.must(r.Err())
	return out
}

// copied is a subscriber's copy of a view.
type copied struct {
	w        *world
	view     changelog.View
	opt      changelog.Options
	sub      *changelog.Subscription
	rows     bag
	byKey    map[string]string
	framed   bool
	at       int64
	compared int
	seen     []changelog.Note
	batches  int
	frames   int
}

var retract = changelog.Options{Snapshot: true, AsOf: changelog.None, UpTo: changelog.None}

func (w *world) request(v changelog.View, o changelog.Options) (*changelog.Subscription, error) {
	r, err := w.log.Request(v, o)
	if err == nil {
		err = r.Start(ctx)
	}
	if err != nil {
		return nil, err
	}
	return r.Open(ctx)
}

// follow subscribes.
func (w *world) follow(v changelog.View, o changelog.Options) *copied {
	w.t.Helper()
	s, err := w.request(v, o)
	w.must(err)
	w.t.Cleanup(s.Close)
	return &copied{w: w, view: v, opt: o, sub: s, rows: bag{}, byKey: map[string]string{}, at: -1}
}

// resume goes on in a new subscription.
func (c *copied) resume(w *world) {
	c.w.t.Helper()
	c.sub.Close()
	o := c.opt
	o.AsOf, o.Snapshot = c.at, false
	s, err := w.request(c.view, o)
	c.w.must(err)
	c.w.t.Cleanup(s.Close)
	c.sub = s
}

// next applies one batch.
func (c *copied) next() (changelog.Note, error) {
	c.w.t.Helper()
	m, err := c.sub.Next(ctx)
	if err != nil {
		return m.Note, err
	}
	c.apply(m)
	return m.Note, nil
}

func (c *copied) apply(m changelog.Message) {
	c.w.t.Helper()
	c.batches++
	b := m.Batch
	if b.NumRows() > 0 {
		c.seen = append(c.seen, m.Note)
	}
	rows := rowsOf(b, 3)
	for i := range rows {
		if at := b.Column(0).(*array.Int64).Value(i); at != m.Note.Time {
			c.w.t.Fatalf("a row's _time is %d, beside it stands %d", at, m.Note.Time)
		}
		if p := cell(b.Column(2), i); p != "NULL" {
			if p != string(m.Note.Progress) {
				c.w.t.Fatalf("a row says %s, beside it stands %s", p, m.Note.Progress)
			}
			if p == "begin" {
				c.frames++
				clear(c.rows)
				clear(c.byKey)
			}
			c.framed = p == "begin"
			continue
		}
		if c.opt.Upsert {
			key := c.key(rows[i])
			if op := cell(b.Column(1), i); op == "delete" {
				if _, there := c.byKey[key]; !there {
					c.w.t.Fatalf("key %s is deleted at %d, and is not there", key, m.Note.Time)
				}
				delete(c.byKey, key)
			} else {
				c.byKey[key] = rows[i]
			}
			continue
		}
		c.rows[rows[i]] += b.Column(1).(*array.Int64).Value(i)
		if c.rows[rows[i]] == 0 {
			delete(c.rows, rows[i])
		}
	}
	if m.Note.AsOf == nil {
		return
	}
	if *m.Note.AsOf < c.at {
		c.w.t.Fatalf("as_of went from %d back to %d", c.at, *m.Note.AsOf)
	}
	c.at = *m.Note.AsOf
	if c.at == m.Note.Time && !c.framed {
		c.compare()
	}
}

// compare is the oracle: what was applied is what the table had.
func (c *copied) compare() {
	c.w.t.Helper()
	have := c.rows
	if c.opt.Upsert {
		have = bag{}
		for _, row := range c.byKey {
			have[row]++
		}
	}
	want := c.w.content(c.view, c.at)
	if c.opt.Upsert && c.twice(want) {
		return
	}
	if !maps.Equal(have, want) {
		c.w.t.Fatalf("at %d: applied\n%.2000s\nthe table has\n%.2000s", c.at, fmt.Sprint(sorted(have)), fmt.Sprint(sorted(want)))
	}
	c.compared++
}

// key is that of a row.
func (c *copied) key(row string) (key string) {
	cells := strings.Split(row, "|")
	for _, k := range c.view.Key {
		key += cells[k] + "|"
	}
	return key
}

// twice says that a key is there twice, so that nobody can have a copy by key.
func (c *copied) twice(b bag) bool {
	keys := map[string]bool{}
	for row, n := range b {
		if n > 1 || keys[c.key(row)] {
			return true
		}
		keys[c.key(row)] = true
	}
	return false
}

func sorted(b bag) []string {
	var out []string
	for row, n := range b {
		out = append(out, fmt.Sprintf("%d x %s", n, row))
	}
	slices.Sort(out)
	return out
}

// until applies what comes until everything up to a snapshot was applied.
func (c *copied) until(at int64) {
	c.w.t.Helper()
	for c.at < at {
		if _, err := c.next(); err != nil {
			c.w.t.Fatalf("waiting for %d at %d: %v", at, c.at, err)
		}
	}
}

// rest applies all that comes until the subscription ends.
func (c *copied) rest() {
	c.w.t.Helper()
	for {
		if _, err := c.next(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			c.w.t.Fatal(err)
		}
	}
}

// clock stands still until it is moved.
type clock struct {
	mu      sync.Mutex
	now     time.Time
	timers  map[chan time.Time]time.Time
	changed chan struct{}
}

func newClock() *clock {
	return &clock{now: time.Unix(1e9, 0), timers: map[chan time.Time]time.Time{}, changed: make(chan struct{}, 1)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) After(d time.Duration) (<-chan time.Time, func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	c.timers[ch] = c.now.Add(d)
	select {
	case c.changed <- struct{}{}:
	default:
	}
	return ch, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, ch)
		return true
	}
}

// add moves the clock.
func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for ch, at := range c.timers {
		if !at.After(c.now) {
			ch <- c.now
			delete(c.timers, ch)
		}
	}
}
