package ducklake_test

import (
	"context"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
)

func TestOpenNewAndAgain(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		ctx := context.Background()
		p := laketest.NewPlace(t, k)
		l, err := ducklake.Open(ctx, p.Config)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.DDL(ctx, `CREATE TABLE t AS SELECT range i FROM range(10)`); err != nil {
			t.Fatal(err)
		}
		before, err := l.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = p.Open(t)
		after, err := l.Snapshot(ctx)
		if err != nil || after.ID != before.ID {
			t.Fatalf("snapshot %v, %v; want %v", after, err, before)
		}
		conn, release, err := l.Acquire(ctx, ducklake.ConnSettings{})
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		rows, err := conn.Rows(ctx, `SELECT count(*) FROM t`)
		if err != nil || rows[0][0] != int64(10) {
			t.Fatalf("%v %v", rows, err)
		}
	})
}
