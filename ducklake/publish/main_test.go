package publish_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

func TestMain(m *testing.M) { os.Exit(laketest.Main(m)) }

var ctx = context.Background()

// lake is a lake in a plain DuckDB instance: unlike the server's it has all optimizers on, as any client may, so that
// wrong statistics show.
type lake struct {
	t     testing.TB
	kind  laketest.Kind
	data  string
	where string // what to attach
	db    *duck.DB
	conn  *duck.Conn
	store metadata.Store
	lock  *metadata.CommitLock
	plain bool // DuckDB plans by statistics, as it does in other programs, and no statement stays prepared
}

var schemas atomic.Int64

// newLake opens a lake as the server does.
func newLake(t testing.TB, kind laketest.Kind) *lake {
	t.Helper()
	return makeLake(t, kind, false)
}

// newPlainLake opens a lake as other programs do: its readers believe the statistics.
func newPlainLake(t testing.TB, kind laketest.Kind) *lake {
	t.Helper()
	return makeLake(t, kind, true)
}

func makeLake(t testing.TB, kind laketest.Kind, plain bool) *lake {
	t.Helper()
	dsn, schema := "", ""
	if kind == laketest.PostgreSQL {
		dsn, schema = laketest.PostgresDSN(t), fmt.Sprintf("publish_%d", schemas.Add(1))
	}
	return openLakeAt(t, kind, t.TempDir(), dsn, schema, plain)
}

// openLakeAt opens the lake of a folder and, for PostgreSQL, a schema.
func openLakeAt(t testing.TB, kind laketest.Kind, dir, dsn, schema string, plain bool) *lake {
	t.Helper()
	l := &lake{t: t, kind: kind, lock: metadata.NewCommitLock(), data: filepath.Join(dir, "files") + "/", plain: plain}
	if kind == laketest.PostgreSQL {
		l.where = fmt.Sprintf("'ducklake:postgres:%s' AS lake (DATA_PATH '%s', METADATA_SCHEMA '%s')", dsn, l.data, schema)
	} else {
		l.where = fmt.Sprintf("'ducklake:%s/a.ducklake' AS lake (DATA_PATH '%s')", dir, l.data)
	}
	l.open()
	var err error
	if kind == laketest.PostgreSQL {
		l.store, err = metadata.OpenPostgres(ctx, dsn, schema)
	} else {
		l.store, err = metadata.OpenDuckDB("lake", func() (metadata.Conn, error) {
			c, err := l.db.Connect()
			if err == nil && !plain {
				must(t, c.Keep(context.Background(), 128))
			}
			return c, err
		})
	}
	must(t, err)
	t.Cleanup(l.close)
	return l
}

func (l *lake) open() {
	var err error
	l.db, err = duck.Open("", duck.Options{Config: map[string]string{"threads": "2"}})
	must(l.t, err)
	l.conn = l.connect()
	if !l.plain {
		l.exec("SET GLOBAL disabled_optimizers = 'statistics_propagation,compressed_materialization'")
	}
	for _, file := range extensions(l.t) {
		l.exec("LOAD '" + file + "'")
	}
	l.exec(`SET GLOBAL ducklake_retry_wait_ms = 2`)
	l.exec(`SET GLOBAL TimeZone = 'UTC'`)
	l.exec("ATTACH " + l.where)
}

// extensions are the files to LOAD.
func extensions(t testing.TB) []string {
	dir := fmt.Sprintf("%s/v1.5.5/%s_%s/", laketest.ExtensionDir(t), runtime.GOOS, runtime.GOARCH)
	return []string{dir + "ducklake.duckdb_extension", dir + "postgres_scanner.duckdb_extension"}
}

// replaceTable puts a table into a query text that has $T for it.
func replaceTable(query, table string) string { return strings.ReplaceAll(query, "$T", table) }

// close ends everything; it may be called before the test's end.
func (l *lake) close() {
	if l.db == nil {
		return
	}
	must(l.t, l.store.Close())
	must(l.t, l.conn.Close())
	must(l.t, l.db.Close())
	l.db = nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (l *lake) connect() *duck.Conn {
	l.t.Helper()
	c, err := l.db.Connect()
	must(l.t, err)
	return c
}

func (l *lake) exec(sql string, args ...any) int64 {
	l.t.Helper()
	n, err := l.conn.Exec(ctx, sql, args...)
	if err != nil {
		l.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (l *lake) rows(sql string, args ...any) [][]any {
	l.t.Helper()
	r, err := l.conn.Rows(ctx, sql, args...)
	if err != nil {
		l.t.Fatalf("%s: %v", sql, err)
	}
	return r
}

// number is the single integer of a query's answer.
func (l *lake) number(sql string, args ...any) int64 {
	l.t.Helper()
	r := l.rows(sql, args...)
	n, ok := r[0][0].(int64)
	if !ok {
		l.t.Fatalf("%s: %v is no integer", sql, r[0][0])
	}
	return n
}

func (l *lake) acquire(context.Context) (*duck.Conn, func(), error) {
	c, err := l.db.Connect()
	if err != nil {
		return nil, nil, err
	}
	return c, func() { _ = c.Close() }, nil
}

func (l *lake) publisher(change ...func(*publish.Config)) *publish.Publisher {
	l.t.Helper()
	c := publish.Config{Store: l.store, Lock: l.lock, Lake: "lake", DataPath: l.data, ServerID: "s1", Acquire: l.acquire}
	for _, f := range change {
		f(&c)
	}
	p, err := publish.New(ctx, c)
	must(l.t, err)
	return p
}

func (l *lake) table(name string) metadata.TableInfo {
	l.t.Helper()
	var table metadata.TableInfo
	must(l.t, l.store.View(ctx, func(tx metadata.Tx) error {
		t, found, err := metadata.TableByName(ctx, tx, "main", name, 0)
		if err == nil && !found {
			l.t.Fatalf("no table %s", name)
		}
		table = t
		return err
	}))
	return table
}

func (l *lake) snapshot() int64 {
	l.t.Helper()
	var id int64
	must(l.t, l.store.View(ctx, func(tx metadata.Tx) error {
		s, err := metadata.Latest(ctx, tx)
		id = s.ID
		return err
	}))
	return id
}

// published makes a table ready and gives it to a publisher.
func (l *lake) published(p *publish.Publisher, name, columns string) metadata.TableInfo {
	l.t.Helper()
	l.exec(`CREATE TABLE lake.main.` + name + `(` + columns + `)`)
	table := l.table(name)
	must(l.t, p.Prepare(ctx, table))
	return table
}

// one publishes a single publication and fails the test if that fails.
func one(t testing.TB, p *publish.Publisher, pub publish.Publication) publish.Result {
	t.Helper()
	r, err := p.Publish(ctx, pub)
	must(t, err)
	must(t, r[0].Err)
	return r[0]
}

var commits atomic.Int64

func commitID() string { return fmt.Sprintf("commit-%d", commits.Add(1)) }

// differ is how many rows the two queries do not share, as multisets.
func (l *lake) differ(a, b string) int64 {
	l.t.Helper()
	return l.number(fmt.Sprintf(`SELECT (SELECT count(*) FROM (%[1]s EXCEPT ALL %[2]s)) + (SELECT count(*) FROM (%[2]s EXCEPT ALL %[1]s))`, a, b))
}

// unequal is the same as differ with one scan of each side: it counts the kinds of rows that are there a different
// number of times.
func (l *lake) unequal(a, b string) int64 {
	l.t.Helper()
	return l.number(fmt.Sprintf(`SELECT count(*) FROM (SELECT r FROM (SELECT left_row AS r, 1 AS w FROM (%s) left_row UNION ALL SELECT right_row AS r, -1 AS w FROM (%s) right_row)
		GROUP BY r HAVING sum(w) <> 0)`, a, b))
}
