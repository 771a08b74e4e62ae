package stream_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
)

func TestRowsThatFailHeal(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT, t VARCHAR)", "INSERT INTO o VALUES (1, '10'), (2, '20')")
	l.view("n", "SELECT id, t::INTEGER AS n FROM o")
	l.view("s", "SELECT sum(n) AS s FROM n")
	l.check()
	l.exec("INSERT INTO o VALUES (3, 'x')")
	st := l.await("n", stream.Failed)
	if st.Reason.Code != fault.RowFailed.Name() {
		t.Errorf("the reason is %+v", st.Reason)
	}
	l.await("s", stream.Recovering)
	l.same("n", "SELECT id, t::INTEGER AS n FROM o WHERE id < 3")
	l.restart("n")
	l.await("n", stream.Failed)
	l.exec("INSERT INTO o VALUES (4, '40')", "UPDATE o SET t = '30' WHERE id = 3")
	l.check() // it was restarted: it goes on by itself
	l.exec("INSERT INTO o VALUES (5, 'y')")
	l.await("n", stream.Failed)
	l.exec("DELETE FROM o WHERE id = 5")
	l.same("n", "SELECT id, t::INTEGER AS n FROM o WHERE id < 5")
	l.restart("n")
	l.check()
}

func TestPauseAndResume(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o VALUES (1, 10)")
	l.view("a", "SELECT id, v FROM o WHERE v > 5")
	l.view("b", "SELECT count(*) AS n FROM a")
	l.check()
	l.control("a", func(c *store.Control, uuid string) error { return c.Pause(l.ctx, uuid, true) })
	l.await("a", stream.Paused)
	l.await("b", stream.Recovering)
	l.exec("INSERT INTO o VALUES (2, 20)")
	l.same("a", "SELECT 1::BIGINT AS id, 10::BIGINT AS v")
	l.stop()
	l.start()
	l.await("a", stream.Paused)
	l.exec("INSERT INTO o VALUES (3, 30)")
	l.control("a", func(c *store.Control, uuid string) error { return c.Pause(l.ctx, uuid, false) })
	l.check()
}

func TestRebuild(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o SELECT i, i % 10 FROM range(1000) r(i)")
	l.view("a", "SELECT v, count(*) AS n FROM o GROUP BY v")
	l.view("b", "SELECT max(n) AS n FROM a")
	l.check()
	l.control("a", func(c *store.Control, uuid string) error { return c.Rebuild(l.ctx, uuid, "") })
	l.exec("INSERT INTO o SELECT i, i % 11 FROM range(500) r(i)")
	l.check()
	l.exec("DELETE FROM o WHERE id < 100")
	l.check()
	l.control("b", func(c *store.Control, uuid string) error { return c.Rebuild(l.ctx, uuid, "") })
	l.exec("INSERT INTO o VALUES (5000, 3)")
	l.check()
	l.stop()
	l.start()
	l.exec("INSERT INTO o VALUES (5001, 3)")
	l.check()
}

func TestSomebodyElseWritesIntoAView(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o SELECT i, i FROM range(100) r(i)")
	l.view("a", "SELECT id, v + 1 AS w FROM o")
	l.view("b", "SELECT count(*) AS n FROM a")
	l.check()
	l.exec("INSERT INTO a VALUES (-1, -1)") // the session knows nothing of views
	l.check()
	l.exec("DELETE FROM a WHERE id < 50", "INSERT INTO o VALUES (1000, 1)")
	l.check()
	l.exec("UPDATE a SET w = 0")
	l.check()
	l.stop()
	l.exec("DELETE FROM a WHERE id = 60", "INSERT INTO o VALUES (1001, 1)")
	l.start()
	l.check()
}

func TestSourcesChangeTheirColumns(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT, v INTEGER, x VARCHAR)", "INSERT INTO o VALUES (1, 10, 'a')")
	l.view("a", "SELECT id, v FROM o")
	l.check()
	l.exec("ALTER TABLE o ADD COLUMN y DOUBLE", "INSERT INTO o VALUES (2, 20, 'b', 1.5)")
	l.check()
	l.exec("ALTER TABLE o DROP COLUMN x", "INSERT INTO o VALUES (3, 30, 2.5)")
	l.check()
	l.exec("ALTER TABLE o RENAME COLUMN v TO w", "INSERT INTO o VALUES (4, 40, 2.5)")
	l.views["a"].Def.Query = "SELECT id, w AS v FROM o"
	l.check()
	l.exec("ALTER TABLE o RENAME TO p", "INSERT INTO p VALUES (5, 50, 2.5)")
	l.views["a"].Def.Query = "SELECT id, w AS v FROM p"
	l.check()
	l.exec("INSERT INTO p VALUES (6, 60, 2.5)", "ALTER TABLE p ALTER w TYPE BIGINT")
	st := l.await("a", stream.SchemaBlocked)
	if st.Reason.Code != fault.SourceChanged.Name() {
		t.Errorf("the reason is %+v", st.Reason)
	}
	l.same("a", "SELECT id, w::INTEGER AS v FROM p")
}

func TestATableIsMadeAgain(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT, v INTEGER)", "INSERT INTO o VALUES (1, 10), (2, 20)")
	l.view("a", "SELECT id, v FROM o")
	l.check()
	l.exec("DROP TABLE o")
	l.await("a", stream.SchemaBlocked)
	l.exec("CREATE TABLE o (v INTEGER, id BIGINT, z VARCHAR)", "INSERT INTO o VALUES (20, 2, ''), (30, 3, '')")
	l.check()
	l.exec("CREATE OR REPLACE TABLE o AS SELECT 7::BIGINT AS id, 70::INTEGER AS v")
	l.check()
	l.exec("INSERT INTO o VALUES (8, 80)")
	l.check()
}

func TestFutureCountsLaterRowsOnly(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT, v INTEGER)", "INSERT INTO o VALUES (1, 10), (2, 20)")
	l.mode = stream.Future
	l.view("a", "SELECT count(*) AS n, sum(v) AS s FROM o")
	l.settle()
	l.same("a", "SELECT 0::BIGINT AS n, NULL::DECIMAL(38,0) AS s")
	l.exec("INSERT INTO o VALUES (3, 30)", "DELETE FROM o WHERE id = 1")
	l.settle()
	l.same("a", "SELECT 1::BIGINT AS n, 30::DECIMAL(38,0) AS s")
	l.exec("UPDATE o SET v = v + 1")
	l.settle()
	l.same("a", "SELECT 2::BIGINT AS n, (31 + 21)::DECIMAL(38,0) AS s")
	l.exec("DELETE FROM o")
	l.settle()
	l.same("a", "SELECT 0::BIGINT AS n, NULL::DECIMAL(38,0) AS s")

	// What comes before a server has taken the view up comes after the view.
	l.stop()
	l.view("b", "SELECT count(*) AS n FROM o")
	l.exec("INSERT INTO o VALUES (4, 40)")
	l.start()
	l.settle()
	l.same("b", "SELECT 1::BIGINT AS n")
	l.stop()
	l.back("") // what is known of it is lost
	l.start()
	l.exec("INSERT INTO o VALUES (5, 50)")
	l.settle()
	l.same("b", "SELECT 2::BIGINT AS n")
}

// What somebody else wrote and what was taken back lie between the checkpoint and what is published.
func TestHealedBeforeAnOlderCheckpoint(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o SELECT i, i FROM range(20) r(i)")
	l.view("a", "SELECT id, v + 1 AS w FROM o")
	l.view("b", "SELECT count(*) AS n, sum(w) AS s FROM a")
	l.check()
	l.stop()
	kept := l.keep()
	l.start()
	l.exec("INSERT INTO o VALUES (100, 1)")
	l.check()
	l.exec("DELETE FROM a WHERE id < 5", "INSERT INTO a VALUES (7, 7)")
	l.check()
	l.exec("INSERT INTO o VALUES (101, 1)", "DELETE FROM o WHERE id = 3")
	l.check()
	l.stop()
	l.back(kept)
	l.start()
	l.check()
	l.stop()
	l.exec("DELETE FROM a WHERE id = 10") // and nothing of o changes
	l.back(kept)
	l.start()
	l.settle()
	l.exec("INSERT INTO o VALUES (102, 1)")
	l.check()
}

// A value that the types of the lake do not hold fails its row, as one that cannot be computed.
func TestValuesThatTheLakeCannotKeep(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT, v DECIMAL(38, 3))", "INSERT INTO o VALUES (1, 99999999999999999999999999999999999.999)")
	l.view("a", "SELECT sum(v) AS s FROM o")
	l.view("b", "SELECT count(*) AS n FROM a")
	l.check()
	l.exec("INSERT INTO o VALUES (2, 99999999999999999999999999999999999.999)")
	if st := l.await("a", stream.Failed); st.Reason.Code != fault.RowFailed.Name() {
		t.Errorf("the reason is %+v", st.Reason)
	}
	l.same("a", "SELECT 99999999999999999999999999999999999.999::DECIMAL(38, 3) AS s")
	l.exec("DELETE FROM o WHERE id = 2")
	l.restart("a")
	l.check()
}

// A view that is rebuilt while what it reads stops goes on with the next generation.
func TestRebuildOverAViewThatRestarts(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o SELECT i, i % 10 FROM range(1000) r(i)")
	l.view("a", "SELECT v, count(*) AS n FROM o GROUP BY v")
	l.view("b", "SELECT max(n) AS n FROM a")
	l.check()
	for i := range 5 {
		l.control("b", func(c *store.Control, uuid string) error { return c.Rebuild(l.ctx, uuid, "") })
		l.restart("a")
		l.exec(fmt.Sprintf("INSERT INTO o VALUES (%d, 3)", 5000+i))
		l.check()
	}
}

// A table that was dropped may come back: what is in its place meanwhile is told, with what is wrong about it and what helps.
func TestTablesThatAreMadeAgain(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o VALUES (1, 10)")
	l.view("a", "SELECT id, v FROM o WHERE v > 5")
	l.check()
	why := func(message string) {
		t.Helper()
		var last stream.Status
		ctx, cancel := context.WithTimeout(l.ctx, patience)
		defer cancel()
		err := l.run.Await(ctx, l.views["a"].UUID, func(st stream.Status, ok bool) bool {
			last = st
			return ok && st.State == stream.SchemaBlocked && strings.Contains(st.Reason.Message, message) && st.Reason.Hint != ""
		})
		if err != nil {
			t.Fatalf("%v; it is %s, and the reason is %+v", err, last.State, last.Reason)
		}
	}
	l.exec("DROP TABLE o")
	why("was dropped")
	l.exec("CREATE TABLE o (id BIGINT, v VARCHAR)")
	why("its column v, which view main.a reads as BIGINT, is now VARCHAR")
	l.exec("DROP TABLE o", "CREATE TABLE o (id BIGINT)")
	why("made again without column v")
	l.exec("DROP TABLE o", "CREATE TABLE o (v BIGINT, id BIGINT)", "INSERT INTO o VALUES (20, 2), (3, 3)")
	l.check()
}

// paused does something while a view is paused.
func (l *lab) paused(name string, do func()) {
	l.t.Helper()
	pause := func(on bool) {
		l.control(name, func(c *store.Control, uuid string) error { return c.Pause(l.ctx, uuid, on) })
	}
	pause(true)
	l.await(name, stream.Paused)
	do()
	pause(false)
}

// A rebuild that begins in the future counts what comes after the statement, however late it is built, and again when its state is lost.
func TestARebuildInTheFutureBeginsWithItsStatement(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLab(t, kind)
		l.exec("CREATE TABLE o (id BIGINT)", "INSERT INTO o VALUES (1)")
		l.view("a", "SELECT id FROM o")
		l.check()
		l.paused("a", func() {
			l.exec("INSERT INTO o VALUES (2)")
			l.control("a", func(c *store.Control, uuid string) error { return c.Rebuild(l.ctx, uuid, stream.Future) })
			l.exec("INSERT INTO o VALUES (3), (4)", "DELETE FROM o WHERE id IN (1, 3)")
		})
		l.settle()
		l.same("a", "SELECT 4::BIGINT AS id")
		l.stop()
		l.back("")
		l.start()
		l.exec("INSERT INTO o VALUES (5)")
		l.settle()
		l.same("a", "SELECT unnest([4, 5])::BIGINT AS id")
		l.rebuilt("a", "")
		l.same("a", "SELECT id FROM o WHERE false")
	})
}

// Generations that were asked for and never ran leave nothing held, nor does the one before them.
func TestHoldsOfGenerationsThatNeverRan(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLab(t, kind)
		l.exec("CREATE TABLE o (id BIGINT)", "INSERT INTO o VALUES (1)")
		l.view("a", "SELECT id FROM o")
		l.check()
		l.paused("a", func() {
			for range 3 {
				l.control("a", func(c *store.Control, uuid string) error { return c.Rebuild(l.ctx, uuid, "") })
			}
		})
		l.check()
		want := fmt.Sprintf("[[%s.%d]]", l.views["a"].UUID, l.published("a").Generation)
		holders := ""
		for i := 0; i < 200 && holders != want; i++ { // it lets go when it runs
			l.exec("INSERT INTO o VALUES (2)")
			l.check()
			l.must(l.lake.Store().View(l.ctx, func(tx metadata.Tx) error {
				rows, err := tx.Query(l.ctx, "SELECT DISTINCT holder FROM {M}vega_holds ORDER BY holder")
				holders = fmt.Sprint(rows)
				return err
			}))
		}
		if holders != want {
			t.Errorf("%s hold history, of %s", holders, want)
		}
	})
}
