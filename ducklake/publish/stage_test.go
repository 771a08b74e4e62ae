package publish_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
)

// files lists the Parquet files under the data path.
func (l *lake) files() []string {
	l.t.Helper()
	var out []string
	err := filepath.WalkDir(l.data, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.t.Fatal(err)
	}
	return out
}

func (l *lake) registered() int64 {
	l.t.Helper()
	var n int64
	must(l.t, l.store.View(ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(ctx, `SELECT count(*) FROM {M}vega_staged`)
		if err == nil {
			n = rows[0][0].(int64)
		}
		return err
	}))
	return n
}

// Many rows become several files of about the target size, all of them read as one table.
func TestStageSplitsFiles(t *testing.T) {
	l := newLake(t, laketest.DuckDB)
	p := l.publisher(func(c *publish.Config) { c.TargetFileBytes = 1 << 20 })
	table := l.published(p, "v", "k BIGINT, s VARCHAR")
	var last publish.StageProgress
	staged, err := p.Stage(ctx, l.conn, publish.StageSpec{Table: table, Query: "SELECT range, hash(range)::VARCHAR FROM range(1000000)", JobID: "j"},
		func(s publish.StageProgress) { last = s })
	must(t, err)
	if len(staged.Files) < 3 || staged.Rows != 1000000 || len(l.files()) != len(staged.Files) {
		t.Fatalf("%d files with %d rows, %d on disk (last progress %+v)", len(staged.Files), staged.Rows, len(l.files()), last)
	}
	if n := l.number("SELECT count(*) FROM lake.main.v"); n != 0 {
		t.Fatalf("%d rows are seen before the commit", n)
	}
	one(t, p, publish.Publication{CommitID: commitID(), Table: table, Replace: staged, Swap: publish.Swap{UUID: "v"}})
	if n := l.differ("FROM lake.main.v", "SELECT range AS k, hash(range)::VARCHAR AS s FROM range(1000000)"); n != 0 {
		t.Errorf("%d rows differ", n)
	}
	if n := l.number("SELECT count(DISTINCT rowid) FROM lake.main.v"); n != 1000000 {
		t.Errorf("%d row ids", n)
	}
	if n := l.registered(); n != 0 {
		t.Errorf("%d folders are still registered as staged", n)
	}
}

// Discard removes exactly what the job staged and did not publish.
func TestDiscardRemovesOnlyTheJobsFiles(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		p := l.publisher()
		table := l.published(p, "v", "k BIGINT")
		stage := func(job string) *publish.Staged {
			s, err := p.Stage(ctx, l.conn, publish.StageSpec{Table: table, Query: "FROM range(3)", JobID: job}, nil)
			must(t, err)
			return s
		}
		live := stage("live")
		one(t, p, publish.Publication{CommitID: commitID(), Table: table, Replace: live, Swap: publish.Swap{UUID: "v"}})
		mine, also, other := stage("mine"), stage("mine"), stage("other")
		must(t, p.Discard(ctx, "mine"))
		must(t, p.Discard(ctx, "live"))
		must(t, p.Discard(ctx, "never heard of"))
		for _, c := range []struct {
			s    *publish.Staged
			left bool
		}{{live, true}, {mine, false}, {also, false}, {other, true}} {
			for _, path := range c.s.Paths(l.data) {
				if _, err := os.Stat(path); (err == nil) != c.left {
					t.Errorf("%s: %v", path, err)
				}
			}
		}
		if n := l.registered(); n != 1 {
			t.Errorf("%d folders are registered", n)
		}
		r, err := p.Publish(ctx, publish.Publication{CommitID: commitID(), Table: table, Replace: mine, Swap: publish.Swap{UUID: "v", Epoch: 1}})
		must(t, err)
		if fault.CodeOf(r[0].Err) != fault.Fenced {
			t.Errorf("publishing discarded files gave %v", r[0].Err)
		}
		if n := l.number("SELECT count(*) FROM lake.main.v"); n != 3 {
			t.Errorf("%d rows", n)
		}
	})
}

// A Stage that fails or is cancelled leaves nothing behind.
func TestFailedStageLeavesNothing(t *testing.T) {
	l := newLake(t, laketest.DuckDB)
	p := l.publisher()
	table := l.published(p, "v", "k BIGINT")
	clean := func(t *testing.T) {
		t.Helper()
		if files := l.files(); len(files) != 0 || l.registered() != 0 {
			t.Errorf("%v are left, %d folders are registered", files, l.registered())
		}
	}
	t.Run("error in a late row", func(t *testing.T) {
		_, err := p.Stage(ctx, l.conn, publish.StageSpec{Table: table, JobID: "j",
			Query: "SELECT CASE WHEN range = 900000 THEN error('no') ELSE range END FROM range(1000000)"}, nil)
		if err == nil || !strings.Contains(err.Error(), "no") {
			t.Errorf("it gave %v", err)
		}
		clean(t)
	})
	t.Run("cancelled", func(t *testing.T) {
		run, cancel := context.WithCancel(ctx)
		_, err := p.Stage(run, l.conn, publish.StageSpec{Table: table, JobID: "j",
			Query: "SELECT sum(a.range + b.range) FROM range(100000) a, range(100000) b GROUP BY a.range"},
			func(publish.StageProgress) { cancel() })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it gave %v", err)
		}
		clean(t)
		l.number("SELECT 1") // the connection is still good
	})
	t.Run("unstable type", func(t *testing.T) {
		for i, typ := range []string{"HUGEINT", "TIMETZ", "INTERVAL", "TIMESTAMP_S", "STRUCT(a INTEGER, b UHUGEINT[])"} {
			name := fmt.Sprint("bad", i)
			l.exec("CREATE TABLE lake.main." + name + "(k " + typ + ")")
			if _, err := p.Stage(ctx, l.conn, publish.StageSpec{Table: l.table(name), Query: "SELECT NULL"}, nil); fault.CodeOf(err) != fault.UnstableType {
				t.Errorf("%s gave %v", typ, err)
			}
			if err := p.Prepare(ctx, l.table(name)); fault.CodeOf(err) != fault.UnstableType {
				t.Errorf("%s gave %v", typ, err)
			}
		}
		clean(t)
	})
}

// A full disk is said by its name, and frees what was written.
func TestStageOnAFullDisk(t *testing.T) {
	l := newLake(t, laketest.DuckDB)
	p := l.publisher()
	table := l.published(p, "v", "k BIGINT, s VARCHAR")
	must(t, os.MkdirAll(l.data, 0o755))
	if err := syscall.Mount("tmpfs", l.data, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(l.data, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	_, err := p.Stage(ctx, l.conn, publish.StageSpec{Table: table, JobID: "j", Query: "SELECT range, hash(range)::VARCHAR FROM range(2000000)"}, nil)
	if fault.CodeOf(err) != fault.DiskFull {
		t.Errorf("it gave %v", err)
	}
	if files := l.files(); len(files) != 0 || l.registered() != 0 {
		t.Errorf("%v are left, %d folders are registered", files, l.registered())
	}
	one(t, p, publish.Publication{CommitID: commitID(), Table: table, Swap: publish.Swap{UUID: "v"},
		Replace: must2(p.Stage(ctx, l.conn, publish.StageSpec{Table: table, JobID: "j", Query: "SELECT range, '' FROM range(10)"}, nil))})
	if n := l.number("SELECT count(*) FROM lake.main.v"); n != 10 {
		t.Errorf("%d rows", n)
	}
}

func must2[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprint(err))
	}
	return v
}

// Values of every type that is taken come back unchanged: staged, inlined, and flushed after that.
func TestValuesRoundTrip(t *testing.T) {
	columns := []struct{ typ, values string }{
		{"BOOLEAN", "true, false, NULL"},
		{"TINYINT", "-128, 127, NULL"}, {"SMALLINT", "-32768, 32767, NULL"}, {"INTEGER", "-2147483648, 2147483647, NULL"},
		{"BIGINT", "-9223372036854775808, 9223372036854775807, NULL"}, {"UTINYINT", "0, 255, NULL"}, {"USMALLINT", "0, 65535, NULL"},
		{"UINTEGER", "0, 4294967295, NULL"}, {"UBIGINT", "0, 18446744073709551615, NULL"},
		{"FLOAT", "'nan'::FLOAT, '-inf', 1.1"}, {"DOUBLE", "'nan'::DOUBLE, 'inf', 5e-324"},
		{"DECIMAL(4,1)", "-999.9, 0.1, NULL"}, {"DECIMAL(38,10)", "-1234567890123456789012345678.0000000001, 1, NULL"},
		{"DATE", "'infinity', '0044-03-15 (BC)', '5881580-07-10'"}, {"TIME", "'00:00:00.000001', '24:00:00', NULL"},
		{"TIMESTAMP", "'-infinity', '0044-03-15 (BC) 01:02:03', '294247-01-10 04:00:54'"},
		{"TIMESTAMPTZ", "'infinity', '0044-03-15 (BC) 01:02:03+00', '2024-02-29 12:00:00.000001+05:30'"},
		{"TIMESTAMP_MS", "'1969-12-31 23:59:59.999', '2024-02-29 12:00:00.001', NULL"},
		{"TIMESTAMP_NS", "'1969-12-31 23:59:59.999999999', '2024-02-29 12:00:00.000000001', NULL"},
		{"UUID", "'00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', NULL"},
		{"VARCHAR", `'', 'it''s "é" \ ' || chr(10) || chr(0) || '😀', NULL`},
		{"BLOB", `'\x00\xFF''"'::BLOB, ''::BLOB, NULL`},
		{"JSON", `'{"a": [1, "x''y"]}', 'null', NULL`},
		{"INTEGER[]", "[], [1, NULL, -1], NULL"}, {"VARCHAR[]", "['a,b', NULL, ''], [], NULL"}, {"INTEGER[][]", "[[1, NULL], NULL, []], [], NULL"},
		{`STRUCT(a INTEGER, "b c" VARCHAR)`, `{'a': 1, 'b c': 'x, ''y'' {}'}, {'a': NULL, 'b c': NULL}, NULL`},
		{"STRUCT(d DATE, t TIMESTAMPTZ, l DOUBLE[])[]", `[{'d': '2024-02-29'::DATE, 't': '2024-02-29 12:00:00+02'::TIMESTAMPTZ, 'l': ['nan'::DOUBLE, 0.1]}, NULL], [], NULL`},
		{"MAP(VARCHAR, INTEGER[])", `MAP {'a=b': [1], 'c,''d''': NULL}, MAP {}, NULL`},
		{"MAP(INTEGER, STRUCT(u UUID, b BLOB))", `MAP {1: {'u': 'ffffffff-ffff-ffff-ffff-ffffffffffff'::UUID, 'b': '\x00z'::BLOB}}, MAP {}, NULL`},
	}
	var schema, exprs []string
	for i, c := range columns {
		schema = append(schema, fmt.Sprintf(`"c %d" %s`, i, c.typ))
		exprs = append(exprs, fmt.Sprintf(`unnest([%s]::%s[]) AS c%d`, c.values, c.typ, i))
		if strings.HasSuffix(c.typ, "[]") || strings.HasSuffix(c.typ, "[][]") {
			exprs[i] = fmt.Sprintf(`unnest(CAST([%s] AS %s[])) AS c%d`, c.values, c.typ, i)
		}
	}
	query := "SELECT " + strings.Join(exprs, ", ")
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		p := l.publisher()
		l.exec("CREATE TABLE memory.main.oracle AS " + query)
		compare := func(table, how string) {
			t.Helper()
			for i, c := range columns {
				a, b := fmt.Sprintf(`SELECT "c %d" FROM lake.main.%s`, i, table), fmt.Sprintf("SELECT c%d FROM memory.main.oracle", i)
				if n := l.differ(a, b); n != 0 {
					t.Errorf("%s %s: %d values differ: %v, not %v", how, c.typ, n,
						l.rows(fmt.Sprintf(`SELECT "c %d"::VARCHAR FROM lake.main.%s`, i, table)), l.rows(fmt.Sprintf("SELECT c%d::VARCHAR FROM memory.main.oracle", i)))
				}
			}
		}
		staged := l.published(p, "staged", strings.Join(schema, ", "))
		files, err := p.Stage(ctx, l.conn, publish.StageSpec{Table: staged, Query: query, JobID: "j"}, nil)
		must(t, err)
		one(t, p, publish.Publication{CommitID: commitID(), Table: staged, Replace: files, Swap: publish.Swap{UUID: "staged"}})
		compare("staged", "staged")

		inlined := l.published(p, "inlined", strings.Join(schema, ", "))
		reader, err := l.conn.Query(ctx, "FROM memory.main.oracle")
		must(t, err)
		if !reader.Next() {
			t.Fatal(reader.Err())
		}
		batch := reader.RecordBatch()
		batch.Retain()
		defer batch.Release()
		must(t, reader.Close())
		one(t, p, publish.Publication{CommitID: commitID(), Table: inlined, Swap: publish.Swap{UUID: "inlined"}, Delta: &publish.Delta{Insert: []arrow.RecordBatch{batch}}})
		if n := l.number("SELECT count(*) FROM lake.main.inlined WHERE filename LIKE '%.parquet'"); n != 0 {
			t.Fatalf("%d rows are in files", n)
		}
		compare("inlined", "inlined")
		must(t, p.Relocate(ctx, inlined, publish.Flush))
		if n := l.number("SELECT count(*) FROM lake.main.inlined WHERE filename LIKE '%.parquet'"); n != 3 {
			t.Fatalf("%d rows are in files", n)
		}
		compare("inlined", "flushed")
	})
}

// DuckDB cannot read every nested text back; where inlined rows would be such text, they become files.
func TestNestedTextsAreNotInlinedAsText(t *testing.T) {
	const values = `[['a,b', 'c]"''', NULL, ''], NULL, []]`
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		p := l.publisher()
		table := l.published(p, "v", "x VARCHAR[][]")
		reader, err := l.conn.Query(ctx, "SELECT CAST("+values+" AS VARCHAR[][]) AS x")
		must(t, err)
		if !reader.Next() {
			t.Fatal(reader.Err())
		}
		batch := reader.RecordBatch()
		batch.Retain()
		defer batch.Release()
		must(t, reader.Close())
		one(t, p, publish.Publication{CommitID: commitID(), Table: table, Swap: publish.Swap{UUID: "v"}, Delta: &publish.Delta{Insert: []arrow.RecordBatch{batch}}})
		if n := l.differ("FROM lake.main.v", "SELECT CAST("+values+" AS VARCHAR[][]) AS x"); n != 0 {
			t.Errorf("%d rows differ", n)
		}
		if n := l.number("SELECT count(*) FROM lake.main.v WHERE filename LIKE '%.parquet'"); (n == 1) != (kind == laketest.PostgreSQL) {
			t.Errorf("%d rows are in files", n)
		}
	})
}
