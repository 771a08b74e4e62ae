package publish_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// lake is a small open lake of a test.
type lake struct {
	t     *testing.T
	dir   string
	data  string
	db    *duck.DB
	conn  *duck.Conn
	store metadata.Store
	lock  *metadata.CommitLock
	kind  string
}

func extensionDir(t testing.TB) string {
	dir, _ := os.Getwd()
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, ".build/extensions/v1.5.5/linux_amd64")
		}
	}
}

func newLake(t *testing.T, kind string) *lake {
	l := &lake{t: t, kind: kind, dir: t.TempDir(), lock: metadata.NewCommitLock()}
	l.data = filepath.Join(l.dir, "files") + "/"
	l.open()
	return l
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (l *lake) open() {
	t := l.t
	var err error
	l.db, err = duck.Open("", duck.Options{})
	must(t, err)
	l.conn = l.connect()
	ext := extensionDir(t)
	l.exec("LOAD '" + ext + "/ducklake.duckdb_extension'")
	l.exec(`SET GLOBAL disabled_optimizers = 'statistics_propagation,compressed_materialization'`)
	l.exec(`SET GLOBAL ducklake_retry_wait_ms = 2`)
	if l.kind == "postgres" {
		l.exec("LOAD '" + ext + "/postgres_scanner.duckdb_extension'")
		dsn := os.Getenv("VEGA_PG")
		schema := "t" + strings.ToLower(strings.NewReplacer("/", "_", "-", "_").Replace(t.Name()))
		l.exec("ATTACH '" + dsn + "' AS p (TYPE postgres)")
		l.exec("CALL postgres_execute('p', 'drop schema if exists " + schema + " cascade; create schema " + schema + "')")
		l.exec("DETACH p")
		l.exec("ATTACH 'ducklake:postgres:" + dsn + "' AS lake (DATA_PATH '" + l.data + "', METADATA_SCHEMA '" + schema + "')")
		l.store, err = metadata.OpenPostgres(context.Background(), dsn, schema)
	} else {
		l.exec("ATTACH 'ducklake:" + l.dir + "/a.ducklake' AS lake (DATA_PATH '" + l.data + "')")
		l.store, err = metadata.OpenDuckDB("lake", func() (metadata.Conn, error) { return l.db.Connect() })
	}
	must(t, err)
	t.Cleanup(func() {
		l.store.Close()
		l.conn.Close()
		l.db.Close()
	})
}

func (l *lake) connect() *duck.Conn {
	c, err := l.db.Connect()
	must(l.t, err)
	return c
}

func (l *lake) exec(sql string, args ...any) int64 {
	l.t.Helper()
	n, err := l.conn.Exec(context.Background(), sql, args...)
	if err != nil {
		l.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (l *lake) rows(sql string, args ...any) [][]any {
	l.t.Helper()
	r, err := l.conn.Rows(context.Background(), sql, args...)
	if err != nil {
		l.t.Fatalf("%s: %v", sql, err)
	}
	return r
}

func (l *lake) publisher(change ...func(*publish.Config)) *publish.Publisher {
	c := publish.Config{Store: l.store, Lock: l.lock, Lake: "lake", DataPath: l.data, ServerID: "s1",
		Acquire: func(context.Context) (*duck.Conn, func(), error) {
			conn := l.connect()
			conn.Exec(context.Background(), "SET TimeZone = 'UTC'")
			return conn, func() { conn.Close() }, nil
		}}
	for _, f := range change {
		f(&c)
	}
	p, err := publish.New(context.Background(), c)
	must(l.t, err)
	return p
}

func (l *lake) table(name string) metadata.TableInfo {
	l.t.Helper()
	var table metadata.TableInfo
	must(l.t, l.store.View(context.Background(), func(tx metadata.Tx) error {
		t, found, err := metadata.TableByName(context.Background(), tx, "main", name, 0)
		if err == nil && !found {
			l.t.Fatalf("no table %s", name)
		}
		table = t
		return err
	}))
	return table
}
