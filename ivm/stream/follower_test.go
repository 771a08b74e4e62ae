package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ivmtest"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// follower is a streaming view as the engine's tests see it: it has whatever its table has.
type follower struct {
	m      *mirror
	view   *catalog.View
	layout *row.Layout
	read   string // a query
	has    *zset.Batch
	failed string
	expect ivmtest.Expectation
}

func newFollower(m *mirror, d ivmtest.Definition, v *catalog.View) (*follower, error) {
	v.UUID = v.Table.UUID
	f := &follower{m: m, view: v}
	var types []row.Type
	var items []string
	for i, c := range d.Plan.Columns() {
		types = append(types, c.Type)
		item := metadata.QuoteIdent(v.Table.Columns[i].Name)
		if t := c.Type; t.Kind != row.Null {
			t.Collation = ""
			item = fmt.Sprintf("CAST(%s AS %s)", item, t)
		}
		items = append(items, item)
	}
	f.layout = row.NewLayout(types...)
	f.read = "SELECT " + strings.Join(items, ", ") + " FROM lake.main." + metadata.QuoteIdent(v.Row.Name.Name)
	f.has = zset.New(f.layout)
	return f, nil
}

// Layout implements [ivmtest.Maintained].
func (f *follower) Layout() *row.Layout { return f.layout }

// Expect implements [ivmtest.Finder].
func (f *follower) Expect(e ivmtest.Expectation, now int64) {
	f.expect = e
	f.m.now = now
	f.m.fate.clock.Store(now)
}

// settle waits until the view is where it should be. What has failed on the way is restarted.
func (f *follower) settle(ctx context.Context) (stream.Status, error) {
	head, err := f.m.lake.Snapshot(ctx)
	if err != nil {
		return stream.Status{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last stream.Status
	there := func() bool {
		switch f.expect {
		case ivmtest.Refusal:
			return last.State == stream.Failed
		case ivmtest.Unknown:
			return true
		}
		return last.State == stream.Running && last.Frontier >= head.ID && (last.Figures.Clock.Load() == 0 || last.Figures.Clock.Load() >= f.m.now)
	}
	for restarted, again := false, 2*time.Second; ; {
		// A view that was restarted and still has the rows that fail is FAILED as well, until it is at the head. On a slow machine it needs
		// longer for that than it is given at first.
		wait := patience
		if restarted {
			wait, again = again, min(2*again, patience)
		}
		part, done := context.WithTimeout(ctx, wait)
		err := f.m.run.Await(part, f.view.UUID, func(st stream.Status, ok bool) bool {
			last = st
			return ok && (there() || st.State == stream.Failed && f.expect == ivmtest.Rows && !restarted)
		})
		done()
		switch {
		case err == nil && there():
			return last, nil
		case err == nil || restarted && ctx.Err() == nil && last.State == stream.Failed:
			restarted = true
			if err := f.m.lab.rows.Control().Restart(ctx, f.view.UUID); err != nil {
				return last, err
			}
			f.m.changed()
		case ctx.Err() != nil:
			clock, own, seen := int64(-1), int64(-1), int64(-1)
			if x := last.Figures; x != nil {
				clock, own, seen = x.Clock.Load(), x.Frontier.Load(), x.Seen.Load()
			}
			return last, fmt.Errorf("the view is %s (%+v) at %d (%d, others' writes %d), clock %d, and the lake at %d, clock %d; expected is %d (rows, refusal, unknown)",
				last.State, last.Reason, last.Frontier, own, seen, clock, head.ID, f.m.now, f.expect)
		}
	}
}

// Step implements [ivmtest.Maintained].
func (f *follower) Step(ctx context.Context, _ int64, _ map[string]*zset.Batch) (*zset.Batch, error) {
	f.m.fate.mend()
	st, err := f.settle(ctx)
	if err = errors.Join(err, f.m.given.check()); err != nil {
		return nil, err
	}
	f.failed = ""
	if f.expect == ivmtest.Refusal {
		f.failed = st.Reason.Message
	}
	now, err := f.content(ctx)
	if err != nil {
		return nil, err
	}
	change := f.has
	change.Negate()
	change.AppendBatch(now)
	change.Consolidate()
	f.has = now
	return change.Clone(), nil
}

// content is what the table has.
func (f *follower) content(ctx context.Context) (*zset.Batch, error) {
	conn, release, err := f.m.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	b, err := ivmtest.Read(ctx, conn, f.read)
	if err != nil {
		return nil, err
	}
	out := &zset.Batch{Layout: f.layout, Words: b.Words, Weights: b.Weights, Heap: b.Heap}
	out.Consolidate()
	return out, nil
}

// Load implements [ivmtest.Maintained].
func (f *follower) Load(ctx context.Context, now int64, _ map[string]*zset.Batch) (*zset.Batch, error) {
	return f.Step(ctx, now, nil)
}

// Again implements [ivmtest.Finder].
func (f *follower) Again(ctx context.Context) error {
	f.m.note("rebuilt")
	err := f.m.lab.rows.Control().Rebuild(ctx, f.view.UUID, "")
	f.m.changed()
	return err
}

// Errors implements [ivmtest.Maintained].
func (f *follower) Errors() []string {
	if f.failed != "" {
		return []string{f.failed}
	}
	return nil
}

// Close drops the view.
func (f *follower) Close() error {
	for i, x := range f.m.made {
		if x == f {
			f.m.made = append(f.m.made[:i], f.m.made[i+1:]...)
			break
		}
	}
	v := *f.view
	err := f.m.sink.Drop(f.m.ctx, []*catalog.View{&v})
	f.m.changed()
	return err
}

// control changes what is wanted of the view.
func (f *follower) control(change func(c *store.Control, uuid string) error) error {
	err := change(f.m.lab.rows.Control(), f.view.UUID)
	f.m.changed()
	return err
}

var _ ivmtest.Finder = (*follower)(nil)

var errStopped = errors.New("injected")
