package ducklake_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
)

// firstRows reads a stream's first batch and returns how many rows it had.
func firstRows(t *testing.T, st *ducklake.Stream) int64 {
	t.Helper()
	if !st.Next() {
		t.Fatalf("no first batch: %v", st.Err())
	}
	return st.RecordBatch().NumRows()
}

func restRows(t *testing.T, st *ducklake.Stream) (n int64) {
	t.Helper()
	for st.Next() {
		n += st.RecordBatch().NumRows()
	}
	if err := st.Err(); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

const million = `SELECT range AS i, range::VARCHAR || ' and some text' AS v FROM range(1000000)`

func TestOpenStreamsAndAWrite(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	c := connect(t, l)
	c.exec(`CREATE TABLE t (i BIGINT)`)
	one, two := c.open(million), c.open(million)
	a, b := firstRows(t, one), firstRows(t, two)
	c.exec(`INSERT INTO t VALUES (1)`)
	c.want(`FROM t`, "1")
	if n := l.SpooledBytes(); n != 0 {
		t.Errorf("%d bytes spooled: pooled reads need no spool", n)
	}
	if n := a + restRows(t, one); n != 1_000_000 {
		t.Errorf("the first stream gave %d rows", n)
	}
	if n := b + restRows(t, two); n != 1_000_000 {
		t.Errorf("the second stream gave %d rows", n)
	}
}

func TestStreamsOfATransactionAreSpooled(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	c := connect(t, l)
	c.exec(`CREATE TABLE t (i BIGINT, v VARCHAR)`)
	id := c.begin()
	c.exec(`INSERT INTO t ` + million)
	const sums = 499999500000
	open := make([]*ducklake.Stream, 3)
	sum := make([]int64, len(open))
	count := func(i int) {
		b := open[i].RecordBatch()
		for r := range int(b.NumRows()) {
			var n int64
			fmt.Sscan(b.Column(0).ValueStr(r), &n)
			sum[i] += n
		}
	}
	for i := range open {
		open[i] = c.open(`SELECT i, v FROM t`)
		firstRows(t, open[i])
		count(i)
	}
	if l.SpooledBytes() == 0 {
		t.Error("nothing was spooled")
	}
	c.exec(`INSERT INTO t VALUES (-1, 'late')`) // the open results do not see it
	c.commit(id)
	for i, st := range open {
		for st.Next() {
			count(i)
		}
		if err := st.Err(); err != nil {
			t.Fatal(err)
		}
		if sum[i] != sums {
			t.Errorf("stream %d sums to %d", i, sum[i])
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := l.SpooledBytes(); n != 0 {
		t.Errorf("%d bytes still taken", n)
	}
	c.want(`SELECT count(*) FROM t`, "1000001")
}

func TestSpoolQuota(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB, func(c *ducklake.Config) { c.SpoolQuota = 5 << 20 })
	c := connect(t, l)
	c.exec(`CREATE TEMP TABLE big AS ` + million)
	st := c.open(`SELECT * FROM big`)
	n := firstRows(t, st)
	_, err := c.try(`INSERT INTO big VALUES (1, 'x')`)
	fails(t, err, fault.QuotaExceeded)
	if n += restRows(t, st); n != 1_000_000 { // the refused statement cost the stream nothing
		t.Errorf("the stream gave %d rows", n)
	}
	c.exec(`INSERT INTO big VALUES (1, 'x')`)
	c.want(`SELECT count(*) FROM big`, "1000001")
	if n := l.SpooledBytes(); n != 0 {
		t.Errorf("%d bytes still taken", n)
	}
}

func TestStreamLimits(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	c := connect(t, l, func(c *ducklake.SessionConfig) { c.Streams = 2 })
	one, two := c.open(million), c.open(million)
	a := must(c.Analyze(ctx, `SELECT 1`))
	_, err := c.Query(ctx, a)
	fails(t, err, fault.QuotaExceeded)
	one.Close()
	c.want(`SELECT 1`, "1")
	two.Close()
}

func TestCancelledStream(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	c := connect(t, l)
	a := must(c.Analyze(ctx, `SELECT count(*) FROM range(100000) a, range(1000000) b WHERE a.range * b.range % 7 = 3`))
	stop, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		st, err := c.Query(stop, a)
		if err == nil {
			_, err = read(st)
		}
		ended <- err
	}()
	waitBusy(t, l, ended)
	cancel()
	if err := <-ended; err == nil {
		t.Error("the cancelled statement gave no error")
	}
	c.want(`SELECT 1`, "1")

	if err := c.SetOption(ctx, "vega.statement_timeout", int64(50)); err != nil {
		t.Fatal(err)
	}
	st, err := c.Query(ctx, a)
	if err == nil {
		_, err = read(st)
	}
	fails(t, err, fault.TimedOut)
	if err := c.SetOption(ctx, "vega.statement_timeout", nil); err != nil {
		t.Fatal(err)
	}
}

func TestCloseEndsStreams(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	s, err := l.NewSession(ctx, ducklake.SessionConfig{})
	if err != nil {
		t.Fatal(err)
	}
	c := client{s, t}
	st := c.open(million)
	firstRows(t, st)
	id := c.begin()
	c.exec(`CREATE TABLE t (i INTEGER)`)
	c.exec(`INSERT INTO t VALUES (1)`)
	_ = id
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if st.Next() {
		t.Error("a stream of a closed session goes on")
	}
	_, err = c.Begin(ctx)
	fails(t, err, fault.SessionNotFound)
	_, err = c.try(`SELECT 1`)
	fails(t, err, fault.SessionNotFound)
	connect(t, l).want(`SELECT count(*) FROM t`, "0")
}

func TestDescribeIsExact(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	c := connect(t, l)
	c.exec(`CREATE TABLE t (i BIGINT, d DECIMAL(12,3), l INTEGER[], s STRUCT(a DATE, b UUID), z TIMESTAMPTZ, u UTINYINT, j JSON, b BLOB)`)
	c.exec(`CREATE TEMP TABLE mine (i INTEGER)`)
	for _, sql := range []string{`FROM t`, `SELECT i + 1, sum(d) FROM t GROUP BY ALL`, `SELECT * FROM mine`, `SELECT ?::INTEGER AS p`, `EXPLAIN SELECT * FROM t`, `DESCRIBE t`} {
		a := must(c.Analyze(ctx, sql))
		d, err := c.Describe(ctx, a)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		var args []any
		for range d.Params {
			args = append(args, int64(1))
		}
		st := c.open(sql, args...)
		if !st.Schema().Equal(d.Schema) {
			t.Errorf("%s: described as %s, streamed as %s", sql, d.Schema, st.Schema())
		}
		st.Close()
	}
	d, err := c.Describe(ctx, must(c.Analyze(ctx, `SELECT ? AS p`)))
	if err != nil || d.Schema != nil || len(d.Params) != 1 {
		t.Errorf("an undecided parameter: %+v, %v", d, err)
	}
}

// A statement that runs for long in one session holds up no other: the others finish while it has not.
func TestLongWriteHoldsUpNobody(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	a, b := connect(t, l), connect(t, l)
	a.exec(`CREATE TABLE t (i BIGINT)`)
	for _, sql := range []string{
		`INSERT INTO t SELECT count(*) FROM range(100000) a, range(10000000) b WHERE a.range * b.range % 7 = 3`,
		`CREATE TABLE long AS SELECT count(*) FROM range(100000) a, range(10000000) b WHERE a.range * b.range % 7 = 3`,
	} {
		stop, cancel := context.WithCancel(ctx)
		st := must(a.Analyze(ctx, sql))
		ended := make(chan error, 1)
		go func() {
			_, err := a.Exec(stop, st)
			ended <- err
		}()
		waitBusy(t, l, ended)
		b.exec(`INSERT INTO t VALUES (1)`)
		b.exec(`CREATE OR REPLACE TABLE mine AS SELECT 1 AS i`)
		b.want(`FROM mine`, "1")
		a.want(`SELECT count(*) > 0 FROM t`, "true") // nor the session itself
		select {
		case err := <-ended:
			t.Fatalf("the long statement ended early: %v", err)
		default:
		}
		cancel()
		if err := <-ended; err == nil {
			t.Error("the cancelled statement gave no error")
		}
	}
	names := b.rows(`SELECT table_name FROM information_schema.tables WHERE table_catalog = 'lake' ORDER BY 1`)
	if !slices.Equal(names, []string{"mine", "t"}) {
		t.Errorf("after the cancelled CREATE TABLE AS there are %q", names)
	}
}
