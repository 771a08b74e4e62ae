package publish_test

import (
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// Publications without rows do not make a transaction fail that they overtake.
func TestNothingToPublishHurtsNobody(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		p := l.publisher()
		table := l.published(p, "v", "k BIGINT")
		l.exec("CREATE TABLE lake.main.other (k BIGINT)")
		other := l.connect()
		defer func() { must(t, other.Close()) }()
		run := func(sql string) {
			t.Helper()
			_, err := other.Exec(ctx, sql)
			must(t, err)
		}
		run("BEGIN")
		run("INSERT INTO lake.main.other VALUES (1)")
		epoch := int64(0)
		for _, pub := range []publish.Publication{
			{Replace: l.stage(p, table, 0, publish.Fence{})}, {}, {Delta: &publish.Delta{}}, {Replace: l.stage(p, table, 0, publish.Fence{})},
		} {
			pub.CommitID, pub.Table = commitID(), table
			pub.Swap = publish.Swap{UUID: "v", Epoch: epoch}
			epoch = one(t, p, pub).Epoch
			l.exec("CREATE TABLE lake.main.t" + pub.CommitID[len("commit-"):] + " (k BIGINT)")
		}
		run("COMMIT")
		if n := l.number("SELECT count(*) FROM lake.main.other"); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}
