package stream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/stream"
)

func TestLateRowsAreDroppedAndCounted(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE e (id BIGINT, ts TIMESTAMP)", "INSERT INTO e VALUES (1, '2024-01-01 10:00:00'), (2, '2024-01-01 10:10:00')")
	l.options = ddl.Options{
		{Name: "watermark_column", Value: ddl.Value{Kind: ddl.Text, Text: "ts"}},
		{Name: "watermark_delay", Value: ddl.Value{Kind: ddl.Duration, Duration: 5 * time.Minute}},
	}
	l.view("w", "SELECT time_bucket(INTERVAL '5 minutes', ts) AS b, count(*) AS n FROM e GROUP BY b")
	l.settle()
	const both = "SELECT * FROM (VALUES (TIMESTAMP '2024-01-01 10:00:00', 1::BIGINT), (TIMESTAMP '2024-01-01 10:10:00', 1::BIGINT)) v(b, n)"
	l.same("w", both)
	l.exec("INSERT INTO e VALUES (3, '2024-01-01 10:01:00')") // the watermark is at 10:05
	l.settle()
	l.same("w", both)
	l.exec("INSERT INTO e VALUES (4, '2024-01-01 10:06:00'), (5, '2024-01-01 10:30:00')", "DELETE FROM e WHERE id = 2", "INSERT INTO e VALUES (6, '2024-01-01 10:26:00')")
	l.settle()
	const later = "SELECT * FROM (VALUES (TIMESTAMP '2024-01-01 10:00:00', 1::BIGINT), (TIMESTAMP '2024-01-01 10:10:00', 1::BIGINT)," +
		" (TIMESTAMP '2024-01-01 10:05:00', 1::BIGINT), (TIMESTAMP '2024-01-01 10:30:00', 1::BIGINT), (TIMESTAMP '2024-01-01 10:25:00', 1::BIGINT)) v(b, n)"
	l.same("w", later)
	late := func() int64 { return l.await("w", stream.Running).Figures.Late.Load() }
	if n := late(); n != 2 {
		t.Errorf("%d changes are late, not 2", n)
	}
	l.stop()
	l.exec("INSERT INTO e VALUES (7, '2024-01-01 09:00:00')")
	l.start()
	l.settle()
	l.same("w", later)
	if n := late(); n != 3 {
		t.Errorf("%d changes are late, not 3", n)
	}
	a, err := l.run.Analyze(l.ctx, l.views["w"].UUID)
	l.must(err)
	if len(a.Nodes) == 0 || len(a.Watermarks) != 1 || a.Watermarks[0].Late != 3 {
		t.Errorf("the analysis is %+v", a)
	}
}

func TestTheClockMovesByItself(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE e (id BIGINT, ts TIMESTAMPTZ)", "INSERT INTO e VALUES (1, now() + INTERVAL '3 seconds'), (2, now() - INTERVAL '1 hour'), (3, now() + INTERVAL '1 hour')")
	l.options = ddl.Options{{Name: "temporal_tick", Value: ddl.Value{Kind: ddl.Duration, Duration: 50 * time.Millisecond}}}
	l.view("w", "SELECT id FROM e WHERE ts < now()")
	l.settle()
	watch := l.lake.Watch(l.ctx)
	for {
		if rows := l.rowsOf("SELECT count(*) FROM w"); rows[0][0] == int64(2) {
			break
		}
		<-watch // a publication
	}
	l.same("w", "SELECT id FROM e WHERE id < 3")
}

// A row that its own transaction takes back never was, wherever the lake has kept it: it moves no watermark.
func TestWhatATransactionTakesBackIsNoTime(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		for _, limit := range []int{0, 1000} {
			l := newLab(t, kind)
			l.must(l.raw(fmt.Sprintf("CALL lake.set_option('data_inlining_row_limit', %d)", limit)))
			l.exec("CREATE TABLE e (id BIGINT, ts TIMESTAMP)", "INSERT INTO e VALUES (1, '2024-01-01 10:00:00')")
			l.behind(0)
			l.view("rows", "SELECT id, ts FROM e")
			l.check()
			for _, taken := range []string{"DELETE FROM e WHERE ts > '2024-01-01 11:00:00'", "UPDATE e SET ts = '2024-01-01 10:10:00' WHERE ts > '2024-01-01 11:00:00'"} {
				id, err := l.session.Begin(l.ctx)
				l.must(err)
				l.exec("INSERT INTO e VALUES (2, '2024-01-01 12:00:00'), (2, '2024-01-01 10:10:00')", taken)
				l.must(l.session.Commit(l.ctx, id))
				l.exec("INSERT INTO e VALUES (3, '2024-01-01 10:10:00')")
				l.check()
			}
			l.exec("INSERT INTO e VALUES (4, '2024-01-01 10:09:59')")
			l.settle()
			l.same("rows", "SELECT id, ts FROM e WHERE id < 4")
		}
	})
}
