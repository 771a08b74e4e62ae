package stream_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// stagings lets a test act while files are there that no commit has yet.
type stagings struct {
	n      atomic.Int64
	waits  atomic.Bool // the next one waits
	came   chan struct{}
	goOn   chan struct{}
	commit failing
}

func (s *stagings) on(l *lab) {
	s.came, s.goOn = make(chan struct{}), make(chan struct{})
	l.publisher.Faults.Staged = func() {
		s.n.Add(1)
		if s.waits.Swap(false) {
			s.came <- struct{}{}
			<-s.goOn
		}
	}
	l.publisher.Faults.BeforeCommit = s.commit.next
}

// between makes a view and does something when its first content lies in files and is not committed.
func (s *stagings) between(l *lab, name, query string, do func()) {
	l.t.Helper()
	before := s.n.Load()
	s.waits.Store(true)
	l.view(name, query)
	<-s.came
	do()
	s.goOn <- struct{}{}
	l.check()
	if now := s.n.Load(); now == before {
		l.t.Errorf("the content of %s was not made by a query", name)
	}
}

// left is how many folders are staged and of no commit.
func (l *lab) left() (n int64) {
	l.t.Helper()
	l.must(l.lake.Store().View(l.ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(l.ctx, `SELECT count(*) FROM {M}vega_staged`)
		if err == nil {
			n, _ = rows[0][0].(int64)
		}
		return err
	}))
	return n
}

// The first content of a view without state is made by a query, while its source goes on, commits fail and servers end.
func TestAFirstContentIsStaged(t *testing.T) {
	for _, kind := range []laketest.Kind{laketest.DuckDB, laketest.PostgreSQL} {
		t.Run(kind.String(), func(t *testing.T) {
			s := &stagings{}
			l := newLab(t, kind, s.on)
			l.exec(`CREATE TABLE "a ""t" AS SELECT i AS k, (i * 7919) % 1000 AS v, CASE WHEN i % 3 = 0 THEN NULL ELSE 'text ' || i % 10 END AS s FROM range(140000) r(i)`,
				`DELETE FROM "a ""t" WHERE k % 50 = 0`, `UPDATE "a ""t" SET s = 'other' WHERE k < 100`)
			change := func() {
				l.exec(`INSERT INTO "a ""t" SELECT i, i % 100, 'new' FROM range(150000, 150500) r(i)`, `DELETE FROM "a ""t" WHERE k < 10`, `UPDATE "a ""t" SET v = v + 1 WHERE k BETWEEN 20 AND 30`)
			}
			s.between(l, "filtered", `SELECT k, v * 2 AS twice, s FROM "a ""t" WHERE v < 500`, change)
			s.between(l, "equal", `SELECT v % 7 AS m, s FROM "a ""t"`, change)
			s.between(l, "none", `SELECT k FROM "a ""t" WHERE v < 0`, change)

			// A commit that is tried again has the same files.
			s.commit.fail(2, fault.CommitConflict.Newf("somebody was faster"))
			s.between(l, "retried", `SELECT k, s FROM "a ""t" WHERE v >= 250`, change)

			// Who ends before the commit leaves nothing.
			s.waits.Store(true)
			l.view("late", `SELECT s, k FROM "a ""t" WHERE v <> 3`)
			<-s.came
			go func() { s.goOn <- struct{}{} }()
			l.stop()
			l.start()
			l.check()
			change()
			l.check()
			l.stop()
			if n := l.left(); n != 0 {
				t.Errorf("%d folders are left of what was staged", n)
			}
			l.back("") // no checkpoint
			l.start()
			change()
			l.check()
			l.stop()
			l.start()
			l.exec(`DELETE FROM "a ""t"`)
			l.check()
		})
	}
}

// A row without a value is found, though a query cannot say which it is.
func TestARowThatFailsInAStagedContent(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec(`CREATE TABLE t AS SELECT i AS k, i::INTEGER AS v FROM range(140000) r(i)`)
	l.view("w", "SELECT k, v * 20000 AS much FROM t WHERE v <> 5")
	if st := l.await("w", stream.Failed); st.Reason.Code != fault.RowFailed.Name() {
		t.Errorf("it failed with %+v", st.Reason)
	}
	l.exec(`DELETE FROM t WHERE v > 100000`)
	l.restart("w")
	l.check()
	if n := l.left(); n != 0 {
		t.Errorf("%d folders are left", n)
	}
}

func (s *summing) Relation(ctx context.Context, r stream.Reading, at int64) (string, error) {
	return s.Source.(stream.Summariser).Relation(ctx, r, at)
}
