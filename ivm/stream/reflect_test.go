package stream_test

import (
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/catalog"
)

// What a view reflects is known in the catalog soon after the last of many changes without output, though nothing else happens.
func TestChangesWithoutOutputAreReflected(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o VALUES (1, 10)")
	l.view("top", "SELECT max(v) AS v FROM o")
	l.view("twice", "SELECT v * 2 AS v FROM top")
	l.exec("CREATE TABLE p (id BIGINT)")
	l.view("nothing", "SELECT id FROM o LIMIT 0") // and of what its plan has left out
	l.view("part", "SELECT v FROM o WHERE v > 100 UNION ALL SELECT id FROM p WHERE false")
	l.check()
	for range 5 {
		l.exec("INSERT INTO o VALUES (2, 5)")
		l.settle()
	}
	l.exec("INSERT INTO p VALUES (1)")
	l.settle()
	head, err := l.lake.Snapshot(l.ctx)
	l.must(err)
	guard := time.NewTimer(patience)
	defer guard.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for min(l.reflected("top").SourceVersion, l.reflected("twice").SourceVersion, l.reflected("nothing").SourceVersion, l.reflected("part").SourceVersion) < head.ID {
		select {
		case <-tick.C:
		case <-guard.C:
			t.Fatalf("the catalog knows of %+v, %+v, %+v and %+v, and the lake is at %d", l.reflected("top"), l.reflected("twice"), l.reflected("nothing"), l.reflected("part"), head.ID)
		}
	}
	if after, err := l.lake.Snapshot(l.ctx); err != nil || after.ID != head.ID {
		t.Errorf("%v: a snapshot was made for that: %d after %d", err, after.ID, head.ID)
	}
}

// reflected is the frontier that the catalog has of a view.
func (l *lab) reflected(name string) (f catalog.Frontier) {
	l.t.Helper()
	l.must(l.lake.Store().View(l.ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(l.ctx, `SELECT frontier FROM {M}vega_published WHERE uuid = $1`, l.views[name].UUID)
		if err != nil || len(rows) == 0 {
			return err
		}
		f, err = catalog.DecodeFrontier(rows[0][0].([]byte))
		return err
	}))
	return f
}
