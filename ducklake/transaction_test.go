package ducklake_test

import (
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
)

func (c client) begin() string {
	c.t.Helper()
	id, err := c.Begin(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	return id
}

func (c client) commit(id string) {
	c.t.Helper()
	if err := c.Commit(ctx, id); err != nil {
		c.t.Fatalf("commit: %v", err)
	}
}

func TestTransactionBeginsAtItsFirstWrite(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		l := laketest.New(t, k)
		a, b := connect(t, l), connect(t, l)
		a.exec(`CREATE TABLE t (i INTEGER)`)
		id := a.begin()
		a.want(`SELECT count(*) FROM t`, "0")
		b.exec(`INSERT INTO t VALUES (1)`)
		a.want(`SELECT count(*) FROM t`, "1") // nothing is written yet: the newest commit is seen
		if tx, wrote := a.InTransaction(); tx != id || wrote {
			t.Errorf("transaction %q, wrote %v", tx, wrote)
		}
		a.exec(`INSERT INTO t VALUES (2)`)
		if _, wrote := a.InTransaction(); !wrote {
			t.Error("the transaction does not know that it has written")
		}
		b.exec(`INSERT INTO t VALUES (3)`)
		a.want(`SELECT i FROM t ORDER BY 1`, "1", "2")
		b.want(`SELECT i FROM t ORDER BY 1`, "1", "3")
		before := must(l.Snapshot(ctx)).ID
		a.exec(`INSERT INTO t VALUES (4)`)
		a.commit(id)
		if after := must(l.Snapshot(ctx)).ID; after != before+1 {
			t.Errorf("the transaction made %d snapshots", after-before)
		}
		b.want(`SELECT i FROM t ORDER BY 1`, "1", "2", "3", "4")
		fails(t, a.Commit(ctx, id), fault.TransactionUnknown)
	})
}

func TestRollback(t *testing.T) {
	c := connect(t, laketest.New(t, laketest.DuckDB))
	c.exec(`CREATE TABLE t (i INTEGER)`)
	id := c.begin()
	c.exec(`INSERT INTO t VALUES (1)`)
	if _, err := c.Begin(ctx); fault.CodeOf(err) != fault.InvalidParameter {
		t.Errorf("a second transaction: %v", err)
	}
	if err := c.Rollback(ctx, id); err != nil {
		t.Fatal(err)
	}
	c.want(`SELECT count(*) FROM t`, "0")
	id = c.begin() // one without writes costs nothing
	c.commit(id)
}

func TestFailedTransaction(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		c := connect(t, laketest.New(t, k))
		c.exec(`CREATE TABLE t (i INTEGER NOT NULL)`)
		id := c.begin()
		c.exec(`INSERT INTO t VALUES (1)`)
		if _, err := c.try(`SELECT nothing FROM t`); err == nil {
			t.Fatal("no error")
		}
		c.exec(`INSERT INTO t VALUES (2)`) // an error before anything ran costs the statement only
		if _, err := c.try(`INSERT INTO t SELECT 1 / (i - 1) + CAST('x' AS INTEGER) FROM t`); err == nil {
			t.Fatal("no error")
		}
		_, err := c.try(`INSERT INTO t VALUES (3)`)
		fails(t, err, fault.TransactionFailed)
		a := must(c.Analyze(ctx, `SELECT 1`))
		_, err = c.Query(ctx, a)
		fails(t, err, fault.TransactionFailed)
		fails(t, c.Commit(ctx, id), fault.TransactionFailed)
		c.want(`SELECT count(*) FROM t`, "0")
		c.exec(`INSERT INTO t VALUES (4)`)
		c.want(`FROM t`, "4")
	})
}

func TestDDLInTransaction(t *testing.T) {
	c := connect(t, laketest.New(t, laketest.DuckDB))
	c.exec(`CREATE TABLE t (i INTEGER)`)
	id := c.begin()
	c.exec(`CREATE TABLE u (i INTEGER)`) // nothing is written yet: it runs by itself
	c.exec(`CREATE TABLE v AS SELECT 1 AS i`)
	c.exec(`INSERT INTO t VALUES (1)`)
	for _, sql := range []string{`CREATE TABLE w (i INTEGER)`, `CREATE TABLE w AS SELECT 1`, `DROP TABLE u`, `ALTER TABLE u ADD COLUMN j INTEGER`, `CREATE VIEW w AS SELECT 1`} {
		_, err := c.try(sql)
		fails(t, err, fault.DDLInTransaction)
	}
	c.exec(`INSERT INTO t VALUES (2)`)
	c.commit(id)
	c.want(`SELECT count(*) FROM t`, "2")
	c.want(`SELECT table_name FROM information_schema.tables WHERE table_catalog = 'lake' ORDER BY 1`, "t", "u", "v")
}

func TestSnapshotIsolation(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	a, b := connect(t, l), connect(t, l)
	a.exec(`CREATE TABLE t (i INTEGER)`)
	a.exec(`INSERT INTO t VALUES (1)`)
	a.exec(`SET vega.isolation = 'snapshot'`)
	id := a.begin()
	a.want(`FROM t`, "1")
	b.exec(`INSERT INTO t VALUES (2)`)
	a.want(`FROM t`, "1")
	a.exec(`INSERT INTO t VALUES (3)`)
	a.want(`SELECT i FROM t ORDER BY 1`, "1", "3")
	a.commit(id)
	a.want(`SELECT i FROM t ORDER BY 1`, "1", "2", "3")
}

func TestConflictingWrites(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		l := laketest.New(t, k)
		a, b := connect(t, l), connect(t, l)
		a.exec(`CREATE TABLE t (i INTEGER)`)
		a.exec(`INSERT INTO t SELECT range FROM range(10)`)
		id := a.begin()
		a.exec(`DELETE FROM t WHERE i = 1`)
		b.exec(`DELETE FROM t WHERE i = 1`)
		fails(t, a.Commit(ctx, id), fault.CommitConflict)
		a.want(`SELECT count(*) FROM t`, "9")
		a.exec(`DELETE FROM t WHERE i = 2`)
		b.want(`SELECT count(*) FROM t`, "8")
	})
}

func TestResultsInTransactions(t *testing.T) {
	c := connect(t, laketest.New(t, laketest.DuckDB))
	c.exec(`CREATE TABLE t (i BIGINT)`)
	id := c.begin()
	c.exec(`INSERT INTO t SELECT range FROM range(500000)`)
	st := c.open(`SELECT i FROM t`)
	firstRows(t, st)
	if err := st.Close(); err != nil { // a result that is not read to its end costs the transaction nothing
		t.Fatal(err)
	}
	c.exec(`INSERT INTO t VALUES (-1)`)
	c.exec(`SELECT 1`) // a query run for its effect
	c.commit(id)
	c.want(`SELECT count(*), min(i) FROM t`, "500001|-1")

	id = c.begin()
	c.exec(`INSERT INTO t VALUES (-2)`)
	// DuckDB gives up the transaction when rows of it fail while they are read.
	st = c.open(`SELECT CASE WHEN i < 400000 THEN i ELSE error('late') END FROM t WHERE i >= 0`)
	if _, err := read(st); err == nil {
		t.Fatal("no error")
	}
	fails(t, c.Commit(ctx, id), fault.TransactionFailed)
	c.want(`SELECT count(*), min(i) FROM t`, "500001|-1")
}
