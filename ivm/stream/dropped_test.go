package stream_test

import (
	"context"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// behind makes the views that follow have a watermark on ts.
func (l *lab) behind(delay time.Duration) {
	l.options = ddl.Options{
		{Name: "watermark_column", Value: ddl.Value{Kind: ddl.Text, Text: "ts"}},
		{Name: "watermark_delay", Value: ddl.Value{Kind: ddl.Duration, Duration: delay}},
	}
}

// asItIs keeps what a view has now.
func (l *lab) asItIs(name string) {
	l.t.Helper()
	l.exec("CREATE OR REPLACE TABLE was_" + name + " AS SELECT * FROM " + name)
}

// stillIs compares a view with what was kept, and what is known to have come since.
func (l *lab) stillIs(name, more string) {
	l.t.Helper()
	l.settle()
	l.same(name, "SELECT * FROM was_"+name+more)
}

// late is how many changes a view has dropped.
func (l *lab) late(name string, want int64) {
	l.t.Helper()
	if n := l.await(name, stream.Running).Figures.Late.Load(); n != want {
		l.t.Errorf("%d changes of %s are late, not %d", n, name, want)
	}
}

// anew waits until a view has gone through another state to RUNNING.
func (l *lab) anew(name string, do func()) {
	l.t.Helper()
	before := l.await(name, stream.Running).Since
	do()
	ctx, cancel := context.WithTimeout(l.ctx, patience)
	defer cancel()
	var last stream.Status
	err := l.run.Await(ctx, l.views[name].UUID, func(st stream.Status, ok bool) bool {
		last = st
		return ok && st.State == stream.Running && !st.Since.Equal(before)
	})
	if err != nil {
		l.t.Fatalf("view %s is %s (%+v) since %s, as before: %v", name, last.State, last.Reason, last.Since, err)
	}
}

// rebuilt waits until a new generation of a view is what is read.
func (l *lab) rebuilt(name, mode string) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.ctx, patience)
	defer cancel()
	watch := l.lake.Watch(ctx)
	was := l.published(name).Generation
	l.control(name, func(c *store.Control, uuid string) error { return c.Rebuild(l.ctx, uuid, mode) })
	for l.published(name).Generation == was {
		if _, ok := <-watch; !ok {
			l.t.Fatalf("view %s has no new generation", name)
		}
	}
	l.settle()
}

// published is what is published of a view.
func (l *lab) published(name string) catalog.Published {
	l.t.Helper()
	set, _, err := l.rows.Streams(func() store.Owner { return store.Owner{} }, nil).Views(l.ctx)
	l.must(err)
	return set.ByUUID(l.views[name].UUID).Published
}

// dropping is a lake whose views have dropped rows and deletions.
func dropping(t *testing.T, kind laketest.Kind) *lab {
	l := newLab(t, kind)
	l.exec("CREATE TABLE e (id BIGINT, ts TIMESTAMP, x DOUBLE, note VARCHAR)",
		"INSERT INTO e VALUES (1, '2024-01-01 10:00:00', 1.5, 'a'), (2, '2024-01-01 10:10:00', 2.5, 'b')")
	l.behind(5 * time.Minute)
	l.view("windows", "SELECT time_bucket(INTERVAL '5 minutes', ts) AS b, count(*) AS n, max(note) AS note FROM e GROUP BY b")
	l.view("rows", "SELECT id, ts, x, note FROM e")
	l.view("twice", "SELECT a.id, a.ts, b.x FROM e a JOIN e b ON a.id = b.id")
	l.settle()
	const long = "a note that is longer than twelve bytes"
	l.exec("INSERT INTO e VALUES (3, '2024-01-01 10:01:00', -0.0, '"+long+"'), (3, '2024-01-01 10:01:00', -0.0, '"+long+"'), (4, '2024-01-01 10:08:00', 'NaN', NULL)", // two are late
		"DELETE FROM e WHERE id = 1",                              // its deletion is late
		"INSERT INTO e VALUES (5, '2024-01-01 11:00:00', 5, 'e')", // now the watermark is at 10:55
		"INSERT INTO e VALUES (6, '2024-01-01 10:54:00', 6, 'f'), (7, NULL, 7, NULL), (8, '2024-01-01 10:56:00', 8, 'h')",
		"DELETE FROM e WHERE id = 3", // what was never there
		"INSERT INTO e VALUES (3, '2024-01-01 10:01:00', 0.0, '"+long+"')",
		"DELETE FROM e WHERE id IN (4, 5)") // of these the watermark lets one go
	l.settle()
	l.same("rows", "SELECT * FROM (VALUES (1, TIMESTAMP '2024-01-01 10:00:00', 1.5::DOUBLE, 'a'), (2, '2024-01-01 10:10:00', 2.5, 'b'), (4, '2024-01-01 10:08:00', 'NaN', NULL),"+
		" (7, NULL, 7, NULL), (8, '2024-01-01 10:56:00', 8, 'h'))")
	for name := range l.views {
		l.asItIs(name)
		l.late(name, 8)
	}
	return l
}

// lost takes the state away from the server, as a server without its folder is.
func (l *lab) lost() {
	l.stop()
	l.back("")
	l.start()
}

func TestDroppedStaysDropped(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := dropping(t, kind)
		for range 2 { // the second time, what was made again is
			l.lost()
			for name := range l.views {
				l.stillIs(name, "")
				l.late(name, 8)
			}
		}
		// The watermark is where it was, though the row that took it there is gone.
		l.exec("INSERT INTO e VALUES (9, '2024-01-01 10:54:59', 9, 'i'), (10, '2024-01-01 10:55:00', 10, 'j')", "DELETE FROM e WHERE id = 2")
		l.stillIs("rows", " UNION ALL VALUES (10, TIMESTAMP '2024-01-01 10:55:00', 10::DOUBLE, 'j')")
		l.late("rows", 10)
		l.lost()
		l.stillIs("rows", " UNION ALL VALUES (10, TIMESTAMP '2024-01-01 10:55:00', 10::DOUBLE, 'j')")
	})
}

// While the server was down, rows came late that no state and no record has.
func TestDroppedWhileTheStateWasLost(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := dropping(t, kind)
		l.stop()
		l.back("")
		l.exec("INSERT INTO e VALUES (9, '2024-01-01 10:20:00', 9, 'i'), (10, '2024-01-01 12:00:00', 10, 'j')", "INSERT INTO e VALUES (11, '2024-01-01 11:54:00', 11, 'k')", "DELETE FROM e WHERE id = 8")
		l.start()
		l.stillIs("rows", " UNION ALL VALUES (10, TIMESTAMP '2024-01-01 12:00:00', 10::DOUBLE, 'j')")
		l.late("rows", 11)
	})
}

func TestDroppedThroughRestartRescaleAndSet(t *testing.T) {
	l := dropping(t, laketest.DuckDB)
	for name := range l.views {
		l.anew(name, func() { l.restart(name) })
		l.stillIs(name, "")
		l.late(name, 8)
	}
	// A rebuild is asked for: all that the sources have counts.
	l.rebuilt("rows", stream.Backfill)
	l.same("rows", "SELECT id, ts, x, note FROM e")
	l.asItIs("rows")
	l.exec("INSERT INTO e VALUES (20, '2024-01-01 09:00:00', 1, 'late')")
	l.stillIs("rows", "")
	l.lost()
	l.stillIs("rows", "")
}

// Another delay holds from the statement on.
func TestAnotherDelayIsFollowed(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE e (id BIGINT, ts TIMESTAMP)", "INSERT INTO e VALUES (1, '2024-01-01 10:00:00')")
	l.behind(5 * time.Minute)
	l.view("rows", "SELECT id, ts FROM e")
	l.check()
	l.exec("INSERT INTO e VALUES (2, '2024-01-01 09:30:00')")
	l.settle()
	l.same("rows", "SELECT id, ts FROM e WHERE id <> 2")
	l.behind(time.Hour)
	l.anew("rows", func() { l.set("rows", l.options...) })
	l.exec("INSERT INTO e VALUES (3, '2024-01-01 09:30:00')")
	l.settle()
	l.same("rows", "SELECT id, ts FROM e WHERE id <> 2")
	l.behind(0)
	l.anew("rows", func() { l.set("rows", l.options...) })
	l.exec("INSERT INTO e VALUES (4, '2024-01-01 09:59:59'), (5, '2024-01-01 10:00:00')")
	l.settle()
	l.same("rows", "SELECT id, ts FROM e WHERE id NOT IN (2, 4)")
}
