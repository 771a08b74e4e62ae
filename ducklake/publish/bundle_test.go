package publish_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
)

// batch is a query's rows as one record batch.
func (l *lake) batch(sql string) arrow.RecordBatch {
	l.t.Helper()
	r, err := l.conn.Query(ctx, sql)
	must(l.t, err)
	if !r.Next() {
		l.t.Fatalf("%s gives nothing: %v", sql, r.Err())
	}
	b := r.RecordBatch()
	b.Retain()
	l.t.Cleanup(b.Release)
	must(l.t, r.Close())
	return b
}

// Publications of a bundle are committed all or none, and what is not of the bundle goes on without them.
func TestBundle(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		p := l.publisher()
		var tables []metadata.TableInfo
		for i := range 4 {
			tables = append(tables, l.published(p, fmt.Sprint("v", i), "k BIGINT"))
		}
		pub := func(i int, bundle string, epoch int64) publish.Publication {
			return publish.Publication{CommitID: commitID(), Table: tables[i], Bundle: bundle, Swap: publish.Swap{UUID: fmt.Sprint("v", i), Epoch: epoch},
				Delta: &publish.Delta{Insert: []arrow.RecordBatch{l.batch(fmt.Sprintf("SELECT %d::BIGINT", i))}}}
		}
		count := func() (out [4]int64) {
			for i := range out {
				out[i] = l.number(fmt.Sprint("SELECT count(*) FROM lake.main.v", i))
			}
			return out
		}
		r, err := p.Publish(ctx, pub(0, "a", 0), pub(1, "a", 0), pub(2, "", 0), pub(3, "b", 0))
		must(t, err)
		for i := range r {
			must(t, r[i].Err)
		}
		if got := count(); got != [4]int64{1, 1, 1, 1} {
			t.Errorf("%v", got)
		}
		r, err = p.Publish(ctx, pub(0, "a", 1), pub(1, "a", 7), pub(2, "", 1), pub(3, "b", 1))
		must(t, err)
		if got := count(); got != [4]int64{1, 1, 2, 2} {
			t.Errorf("%v", got)
		}
		for i, lost := range []bool{true, true, false, false} {
			if (fault.CodeOf(r[i].Err) == fault.RefreshConflict) != lost {
				t.Errorf("publication %d: %v", i, r[i].Err)
			}
		}
		// A member that is refused before the commit is tried takes its bundle with it too.
		last := pub(0, "a", 1)
		last.Also = append(last.Also, func(context.Context, metadata.Tx, metadata.Snapshot) error { return fault.Fenced.Newf("by the test") })
		r, err = p.Publish(ctx, pub(1, "a", 1), last, pub(2, "", 2))
		must(t, err)
		if got := count(); got != [4]int64{1, 1, 3, 2} {
			t.Errorf("%v", got)
		}
		if fault.CodeOf(r[0].Err) != fault.Fenced || fault.CodeOf(r[1].Err) != fault.Fenced || r[2].Err != nil {
			t.Errorf("%v", r)
		}
		lost := 1
		p.Faults.AfterCommit = func() error {
			if lost--; lost == 0 {
				return errors.New("gone")
			}
			return nil
		}
		r, err = p.Publish(ctx, pub(1, "a", 1), pub(0, "a", 1))
		must(t, err)
		if r[0].Err != nil || r[1].Err != nil || r[0].Snapshot != r[1].Snapshot || r[0].NextRowID != 0 || r[0].Inserted != nil {
			t.Errorf("%v", r)
		}
		if got := count(); got != [4]int64{2, 2, 3, 2} {
			t.Errorf("%v", got)
		}
	})
}

// A result says where its rows are.
func TestInsertedRows(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		p := l.publisher(func(c *publish.Config) { c.InlineRows = 100 })
		table := l.published(p, "v", "k BIGINT")
		for epoch, c := range []struct {
			from, to int64
			inlined  bool
		}{{0, 10, true}, {10, 110, true}, {110, 1110, false}, {1110, 1111, true}} {
			d := &publish.Delta{Insert: []arrow.RecordBatch{l.batch(fmt.Sprintf("SELECT range FROM range(%d, %d)", c.from, c.to))}}
			r := one(t, p, publish.Publication{CommitID: commitID(), Table: table, Swap: publish.Swap{UUID: "v", Epoch: int64(epoch)}, Delta: d})
			if r.NextRowID != c.to || len(r.Inserted) != 1 || r.Inserted[0].Rows != c.to-c.from || (r.Inserted[0].File == publish.Inlined) != c.inlined {
				t.Fatalf("%+v", r)
			}
			if c.inlined && r.Inserted[0].First != c.from {
				t.Errorf("%+v", r)
			}
			at := map[int64]publish.Location{}
			_, err := p.Locate(ctx, l.conn, table, []string{"k"}, "", func(b arrow.RecordBatch, where []publish.Location) error {
				for i, k := range b.Column(0).(interface{ Int64Values() []int64 }).Int64Values() {
					at[k] = where[i]
				}
				return nil
			})
			must(t, err)
			for k := c.from; k < c.to; k++ {
				want := publish.Location{File: r.Inserted[0].File, Position: r.Inserted[0].First + k - c.from}
				if at[k] != want {
					t.Fatalf("row %d is at %v, not %v", k, at[k], want)
				}
			}
		}
	})
}

// Files that are staged before are a delta's new rows like any other.
func TestStagedDelta(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		p := l.publisher()
		table := l.published(p, "v", "k BIGINT")
		staged := l.stage(p, table, 10, publish.Fence{})
		r, err := p.Publish(ctx, publish.Publication{CommitID: commitID(), Table: table, Swap: publish.Swap{UUID: "v", Generation: 5, Epoch: 3},
			Delta: &publish.Delta{Files: staged}})
		must(t, err)
		if fault.CodeOf(r[0].Err) != fault.RefreshConflict {
			t.Errorf("%v", r[0].Err)
		}
		done := one(t, p, publish.Publication{CommitID: commitID(), Table: table, Swap: publish.Swap{UUID: "v"}, Delta: &publish.Delta{Files: staged}})
		if done.Rows != 10 || done.NextRowID != 10 || len(done.Inserted) != 1 || done.Inserted[0].Rows != 10 {
			t.Errorf("%+v", done)
		}
		if n := l.number("SELECT count(*) FROM lake.main.v"); n != 10 {
			t.Errorf("%d rows", n)
		}
	})
}
