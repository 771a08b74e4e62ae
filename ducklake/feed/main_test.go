package feed_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/feed"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

func TestMain(m *testing.M) { os.Exit(laketest.Main(m)) }

var ctx = context.Background()

// lab is a lake with a feed, and an oracle: plain DuckDB tables that had the same done to them.
type lab struct {
	t      testing.TB
	lake   *ducklake.Lake
	conn   *duck.Conn // writes the lake
	oracle *duck.Conn // of another instance
	feed   *feed.Feed
}

func newLab(t testing.TB, kind laketest.Kind) *lab {
	t.Helper()
	return openLab(t, laketest.New(t, kind))
}

func openLab(t testing.TB, l *ducklake.Lake) *lab {
	t.Helper()
	b := &lab{t: t, lake: l}
	b.conn = b.connect()
	db, err := duck.Open("", duck.Options{Config: map[string]string{"threads": "2"}})
	b.must(err)
	t.Cleanup(func() { b.must(db.Close()) })
	b.oracle, err = db.Connect()
	b.must(err)
	t.Cleanup(func() { b.must(b.oracle.Close()) })
	b.ask("SET TimeZone = 'UTC'")
	b.feed, err = b.lake.NewFeed(ctx)
	b.must(err)
	t.Cleanup(func() { b.must(b.feed.Close()) })
	return b
}

// connect is another connection to the lake's instance.
func (b *lab) connect() *duck.Conn {
	b.t.Helper()
	c, release, err := b.lake.Acquire(ctx, ducklake.ConnSettings{})
	b.must(err)
	b.t.Cleanup(release)
	return c
}

func (b *lab) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func run(t testing.TB, c *duck.Conn, sql string, args ...any) int64 {
	t.Helper()
	n, err := c.Exec(ctx, sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// do changes the lake.
func (b *lab) do(sql string, args ...any) { b.t.Helper(); run(b.t, b.conn, sql, args...) }

// ask asks or changes the oracle.
func (b *lab) ask(sql string, args ...any) [][]any {
	b.t.Helper()
	rows, err := b.oracle.Rows(ctx, sql, args...)
	if err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// head is the newest snapshot.
func (b *lab) head() int64 {
	b.t.Helper()
	s, err := b.lake.Snapshot(ctx)
	b.must(err)
	return s.ID
}

func (b *lab) table(name string) metadata.TableInfo {
	b.t.Helper()
	var out metadata.TableInfo
	b.must(b.lake.Store().View(ctx, func(tx metadata.Tx) error {
		t, found, err := metadata.TableByName(ctx, tx, "main", name, 0)
		if err == nil && !found {
			err = fmt.Errorf("no table %s", name)
		}
		out = t
		return err
	}))
	return out
}

func (b *lab) open(t metadata.TableInfo) *feed.Reader {
	b.t.Helper()
	r, err := b.feed.Open(ctx, t, nil)
	b.must(err)
	b.t.Cleanup(func() { b.must(r.Close()) })
	return r
}

// read brings a stream into a table of the oracle's instance, and says how many rows it has.
func (b *lab) read(s *feed.Stream, err error, into string) (int64, error) {
	b.t.Helper()
	if err != nil {
		return 0, err
	}
	defer s.Close()
	var batches []arrow.RecordBatch
	defer func() {
		for _, r := range batches {
			r.Release()
		}
	}()
	rows := int64(0)
	for s.Next() {
		r := s.RecordBatch()
		r.Retain()
		batches, rows = append(batches, r), rows+r.NumRows()
	}
	if err := s.Err(); err != nil {
		return rows, err
	}
	if err := s.Close(); err != nil {
		return rows, err
	}
	reader, err := array.NewRecordReader(s.Schema(), batches)
	b.must(err)
	defer reader.Release()
	release, err := b.oracle.RegisterArrow("arrived", reader)
	b.must(err)
	b.ask("CREATE OR REPLACE TABLE " + into + " AS FROM arrived")
	b.must(release())
	return rows, nil
}

// differ are the rows that two queries do not share, as multisets.
func (b *lab) differ(x, y string) [][]any {
	b.t.Helper()
	return b.ask(fmt.Sprintf("(SELECT '+' AS side, * FROM ((%[1]s) EXCEPT ALL (%[2]s))) UNION ALL (SELECT '-' AS side, * FROM ((%[2]s) EXCEPT ALL (%[1]s))) LIMIT 10", x, y))
}
