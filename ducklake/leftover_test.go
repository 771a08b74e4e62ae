package ducklake_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
)

// dataFiles are the lake's files on disk.
func dataFiles(t *testing.T, l *ducklake.Lake) (n int) {
	t.Helper()
	err := filepath.WalkDir(l.DataPath(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".parquet") {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const (
	many = `SELECT i, md5(i::VARCHAR) AS s FROM range(400000) r(i)`
	// The rows before the last are on disk when it fails.
	manyAndAnError = `SELECT i, CASE WHEN i < 399999 THEN md5(i::VARCHAR) ELSE error('the last') END AS s FROM range(400000) r(i)`
)

func TestAFailedStatementLeavesNoFiles(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	a, b := connect(t, l), connect(t, l)
	a.exec(`CREATE TABLE t (i BIGINT, s VARCHAR)`)
	left := func(want int) {
		t.Helper()
		if n := dataFiles(t, l); n != want {
			t.Errorf("%d data files, want %d", n, want)
		}
	}
	for _, sql := range []string{`INSERT INTO t ` + manyAndAnError, `CREATE TABLE made AS ` + manyAndAnError} {
		if _, err := a.try(sql); err == nil {
			t.Fatalf("%s: no error", sql)
		}
		left(0)
	}

	// Whoever writes the same table meanwhile keeps its files.
	tx := must(a.Begin(ctx))
	a.exec(`INSERT INTO t ` + many)
	open := dataFiles(t, l)
	if open == 0 {
		t.Fatal("the test's rows are too few to be in files")
	}
	if _, err := b.try(`INSERT INTO t ` + manyAndAnError); err == nil {
		t.Fatal("no error")
	}
	if dataFiles(t, l) == open {
		t.Log("the failed statement has left nothing")
	}
	if err := a.Commit(ctx, tx); err != nil {
		t.Fatal(err)
	}
	left(open)
	b.want(`SELECT count(*), count(DISTINCT s) FROM t`, `400000|400000`)

	// A transaction clears up when it ends.
	tx = must(a.Begin(ctx))
	a.exec(`INSERT INTO t ` + many)
	if _, err := a.try(`INSERT INTO t ` + manyAndAnError); err == nil {
		t.Fatal("no error")
	}
	fails(t, a.Commit(ctx, tx), fault.TransactionFailed)
	left(open)

	// So does a statement that is stopped.
	ctx, cancel := context.WithCancel(ctx)
	an := must(b.Analyze(ctx, `INSERT INTO t SELECT i, md5(i::VARCHAR) FROM range(400000) r(i) UNION ALL SELECT i * j, '' FROM range(300000) a(i), range(300000) b(j) WHERE (i * j) % 7 = 9`))
	end := make(chan error, 1)
	go func() {
		_, err := b.Exec(ctx, an)
		end <- err
	}()
	for dataFiles(t, l) == open { // it writes
		select {
		case err := <-end:
			t.Fatal(err)
		default:
		}
	}
	cancel()
	if err := <-end; err == nil {
		t.Error("no error")
	}
	left(open)
	a.want(`SELECT count(*) FROM t`, `400000`)
}

// Where other servers may write too, what a statement has left waits for its age; what is committed or still open stays.
func TestStraysOfASharedLake(t *testing.T) {
	l := laketest.New(t, laketest.PostgreSQL)
	a, b := connect(t, l), connect(t, l)
	a.exec(`CREATE TABLE t (i BIGINT, s VARCHAR)`)
	a.exec(`INSERT INTO t ` + many)
	committed := dataFiles(t, l)
	if _, err := b.try(`INSERT INTO t ` + manyAndAnError); err == nil {
		t.Fatal("no error")
	}
	if dataFiles(t, l) == committed {
		t.Skip("DuckDB itself has removed what the statement had written")
	}
	between := time.Now()
	tx := must(a.Begin(ctx))
	a.exec(`INSERT INTO t ` + many)
	all := dataFiles(t, l)
	if info := must(l.Table(ctx, "main", "t")); l.Flushable(info) {
		t.Error("a table that is being written may be flushed")
	}
	if n := must(l.RemoveStrays(ctx, between.Add(-time.Hour))); n != 0 {
		t.Errorf("%d young files are removed", n)
	}
	n := must(l.RemoveStrays(ctx, between))
	if n == 0 || dataFiles(t, l) != all-int(n) {
		t.Errorf("%d of %d files are removed, %d are left", n, all, dataFiles(t, l))
	}
	if err := a.Commit(ctx, tx); err != nil {
		t.Fatal(err)
	}
	b.want(`SELECT count(*), count(DISTINCT s) FROM t`, `800000|400000`)
	if n := must(l.RemoveStrays(ctx, time.Now().Add(time.Hour))); n != 0 {
		t.Errorf("%d committed files are removed", n)
	}
	if info := must(l.Table(ctx, "main", "t")); !l.Flushable(info) {
		t.Error("nobody writes the table any more")
	}
}
