package lake

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

func TestMain(m *testing.M) { os.Exit(laketest.Main(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a lake with a sink.
type world struct {
	t       testing.TB
	ctx     context.Context
	lake    *ducklake.Lake
	sink    *Sink
	results Results
	commits int
}

func newWorld(t testing.TB, kind laketest.Kind, change ...func(*publish.Publisher)) *world {
	t.Helper()
	w := &world{t: t, ctx: context.Background(), lake: laketest.New(t, kind)}
	p, err := w.lake.NewPublisher(w.ctx)
	must(t, err)
	for _, f := range change {
		f(p)
	}
	rows, err := store.Open(w.ctx, w.lake.Store())
	must(t, err)
	w.sink = New(Config{Lake: w.lake, Store: rows, Publisher: p})
	w.results = w.sink.Results()
	return w
}

func inlining(rows int) func(*publish.Publisher) {
	return func(p *publish.Publisher) { p.InlineRows = rows }
}

func (w *world) conn(f func(*duck.Conn)) {
	w.t.Helper()
	must(w.t, w.sink.reading(w.ctx, func(c *duck.Conn) error { f(c); return nil }))
}

func (w *world) exec(sql string) {
	w.t.Helper()
	w.conn(func(c *duck.Conn) {
		if _, err := c.Exec(w.ctx, sql); err != nil {
			w.t.Fatalf("%s: %v", sql, err)
		}
	})
}

// rows are a query's, with weight 1 each.
func (w *world) rows(l *row.Layout, sql string) *zset.Batch {
	w.t.Helper()
	out := zset.New(l)
	w.conn(func(c *duck.Conn) {
		r, err := c.Query(w.ctx, sql)
		if err != nil {
			w.t.Fatalf("%s: %v", sql, err)
		}
		for r.Next() {
			appendArrow(w.t, out, r.RecordBatch())
		}
		must(w.t, r.Err())
		must(w.t, r.Close())
	})
	return out
}

func appendArrow(t testing.TB, out *zset.Batch, rec arrow.RecordBatch) {
	t.Helper()
	var err error
	out.Words, err = out.Layout.FromArrow(out.Words, out.Heap, rec)
	must(t, err)
	for range rec.NumRows() {
		out.Weights = append(out.Weights, 1)
	}
}

// view is a streaming view as its owner sees it: what its table should have, and the result over a store.
type view struct {
	w          *world
	table      metadata.TableInfo
	layout     *row.Layout
	dir        string
	store      *state.Store // nil: memory
	res        *result
	epoch      int64
	generation int64
	want       *zset.Batch
}

// newView makes the table; columns are "name type, …".
func (w *world) newView(name string, types []string, stored bool) *view {
	w.t.Helper()
	columns := make([]string, len(types))
	for i, t := range types {
		columns[i] = fmt.Sprintf("c%d %s", i, t)
	}
	must(w.t, w.lake.DDL(w.ctx, "CREATE TABLE lake.main."+name+"("+strings.Join(columns, ", ")+")"))
	v := &view{w: w, layout: row.ParseLayout(types...)}
	must(w.t, w.lake.Store().View(w.ctx, func(tx metadata.Tx) (err error) {
		v.table, _, err = metadata.TableByName(w.ctx, tx, "main", name, 0)
		return err
	}))
	must(w.t, w.sink.Publisher.Prepare(w.ctx, v.table))
	v.want = zset.New(v.layout)
	if stored {
		v.dir = w.t.TempDir()
	}
	v.open(stream.Mark{})
	w.t.Cleanup(func() { v.close() })
	return v
}

func (v *view) tables() dataflow.Tables {
	if v.dir == "" {
		return dataflow.Memory{}
	}
	s, err := state.OpenStore(state.StoreOptions{Dir: v.dir, Stamp: "test"})
	must(v.w.t, err)
	v.store = s
	return dataflow.Stored{Store: s}
}

func (v *view) open(at stream.Mark) {
	v.w.t.Helper()
	r, err := v.w.results.Open(v.w.ctx, stream.ResultSpec{UUID: v.table.UUID, Table: store.Table(v.table), Layout: v.layout}, v.tables(), at)
	must(v.w.t, err)
	v.res = r.(*result)
}

func (v *view) close() {
	must(v.w.t, v.res.Close())
	if v.store != nil {
		must(v.w.t, v.store.Close())
		v.store = nil
	}
}

// checkpoint writes one, and gives its mark.
func (v *view) checkpoint() stream.Mark {
	v.w.t.Helper()
	v.store.Settle()
	c := v.store.Capture([]byte("x"))
	if c == nil {
		v.w.t.Fatal("no checkpoint")
	}
	c.Drain(0)
	must(v.w.t, c.Commit(v.w.ctx))
	return v.res.Mark()
}

// restart is a crash: what was not checkpointed is gone.
func (v *view) restart(at stream.Mark) {
	v.w.t.Helper()
	v.close()
	v.open(at)
}

func (v *view) change(delta *zset.Batch) stream.Change {
	return stream.Change{View: catalog.Name{Schema: "main", Name: v.table.Name}, UUID: v.table.UUID, Result: v.res, Delta: delta,
		Generation: v.generation, Epoch: v.epoch, NextGeneration: 1}
}

// publish commits changes of views together.
func (w *world) publish(views []*view, deltas ...*zset.Batch) error {
	w.commits++
	c := stream.Commitment{ID: fmt.Sprintf("commit-%d", w.commits)}
	for i, v := range views {
		c.Members = append(c.Members, v.change(deltas[i]))
	}
	done, err := w.results.Publish(w.ctx, c)
	if err != nil {
		return err
	}
	for i, v := range views {
		v.epoch, v.generation = done[i].Epoch, done[i].Generation
		if deltas[i] != nil {
			v.want.AppendBatch(deltas[i])
			v.want.Consolidate()
		}
	}
	return nil
}

func (v *view) publish(delta *zset.Batch) {
	v.w.t.Helper()
	must(v.w.t, v.w.publish([]*view{v}, delta))
	v.check()
}

// content is what the table has.
func (v *view) content() *zset.Batch {
	v.w.t.Helper()
	out := v.w.rows(v.layout, "FROM lake.main."+v.table.Name)
	out.Consolidate()
	return out
}

// check compares the table with what it should have, and what is known of its rows' places with where they are.
func (v *view) check() {
	v.w.t.Helper()
	diff := v.content()
	minus := v.want.Clone()
	minus.Negate()
	diff.AppendBatch(minus)
	diff.Consolidate()
	if diff.Len() > 0 {
		v.w.t.Fatalf("the table has, beyond what it should:\n%s", diff.Print())
	}
	v.checkPlaces()
}

func (v *view) checkPlaces() {
	v.w.t.Helper()
	n := int64(0)
	for _, w := range v.want.Weights {
		n += w
	}
	if v.res.Rows() != n {
		v.w.t.Fatalf("%d rows are counted, %d are there", v.res.Rows(), n)
	}
	if p, err := v.res.s.current(v.w.ctx, v.table.UUID); err != nil || p.Epoch > 0 && p.Rows != n {
		v.w.t.Fatalf("%d rows are said to be published, %d are there: %v", p.Rows, n, err)
	}
	other, err := v.w.results.Open(v.w.ctx, stream.ResultSpec{UUID: v.table.UUID, Table: store.Table(v.table), Layout: v.layout}, dataflow.Memory{}, stream.Mark{})
	must(v.w.t, err)
	is, know := other.(*result).places, v.res.places
	for i, w := range v.want.Weights {
		name := v.res.names.name(v.want.Row(i), v.want.Heap)
		a, b := is.pick(nil, name, 1<<40), know.pick(nil, name, 1<<40)
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) || int64(len(a)) != w {
			v.w.t.Fatalf("row %s ×%d is at %x, known at %x", v.layout.Format(v.want.Row(i), v.want.Heap), w, a, b)
		}
	}
}

// draw makes a random delta: rows of the universe come, rows that are there go.
func (v *view) draw(rnd *rand.Rand, universe *zset.Batch, comes, goes int) *zset.Batch {
	d := zset.New(v.layout)
	for range comes {
		d.Append(universe.Row(rnd.IntN(universe.Len())), universe.Heap, 1+rnd.Int64N(2))
	}
	for range goes {
		if v.want.Len() == 0 {
			break
		}
		i := rnd.IntN(v.want.Len())
		d.Append(v.want.Row(i), v.want.Heap, -1-rnd.Int64N(v.want.Weights[i]))
	}
	d.Consolidate()
	// No more may go than are there.
	all := v.want.Clone()
	all.AppendBatch(d)
	all.Consolidate()
	for i, w := range all.Weights {
		if w < 0 {
			d.Append(all.Row(i), all.Heap, -w)
		}
	}
	d.Consolidate()
	return d
}

func (v *view) flush() { must(v.w.t, v.w.sink.Publisher.Relocate(v.w.ctx, v.table, publish.Flush)) }
func (v *view) merge() { must(v.w.t, v.w.sink.Publisher.Relocate(v.w.ctx, v.table, publish.Merge)) }

func (w *world) acquire(ctx context.Context) (*duck.Conn, func(), error) {
	return w.lake.Acquire(ctx, ducklake.Aside(""))
}
