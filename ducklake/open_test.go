package ducklake_test

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

func TestOpenNewAndAgain(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		p := laketest.NewPlace(t, k)
		l := must(ducklake.Open(ctx, p.Config))
		if err := l.DDL(ctx, `CREATE TABLE t AS SELECT range i FROM range(10)`); err != nil {
			t.Fatal(err)
		}
		before := must(l.Snapshot(ctx))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = p.Open(t)
		if after := must(l.Snapshot(ctx)); after != before {
			t.Fatalf("snapshot %v, want %v", after, before)
		}
		connect(t, l).want(`SELECT count(*) FROM t`, "10")
		if l.Shared() != (k == laketest.PostgreSQL) {
			t.Errorf("shared: %v", l.Shared())
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	db := filepath.Join(dir, "other.duckdb")
	plain := must(duck.Open(db, duck.Options{}))
	conn := must(plain.Connect())
	must(conn.Exec(ctx, `CREATE TABLE mine AS SELECT 1 AS i`))
	must(0, errors.Join(conn.Close(), plain.Close()))

	for _, test := range []struct {
		name, catalog string
		change        func(*ducklake.Config)
		code          *fault.Code
	}{
		{"nothing", "", nil, fault.ConfigInvalid},
		{"SQLite by scheme", "sqlite:" + dir + "/x.db", nil, fault.CatalogRefused},
		{"SQLite by suffix", dir + "/x.sqlite", nil, fault.CatalogRefused},
		{"SQLite by content", write("any.db", "SQLite format 3\x00 and more"), nil, fault.CatalogRefused},
		{"MySQL", "mysql:db=x", nil, fault.CatalogRefused},
		{"a URL", "https://user:secret@host/x.ducklake", nil, fault.CatalogRefused},
		{"garbage", write("garbage.ducklake", strings.Repeat("no database ", 1000)), nil, fault.LakeUnreadable},
		{"a database that is no lake", db, nil, fault.LakeUnreadable},
		{"a folder that cannot be made", write("file.txt", "x") + "/lake", nil, fault.LakeUnreadable},
		{"PostgreSQL that is not there", "postgres://nobody@127.0.0.1:1/none", nil, fault.CatalogGone},
		{"a reserved schema", "postgres://nobody@127.0.0.1:1/none", func(c *ducklake.Config) { c.MetadataSchema = "pg_lake" }, fault.ConfigInvalid},
		{"a reserved name", dir + "/lake", func(c *ducklake.Config) { c.Name = "vega" }, fault.ConfigInvalid},
		{"a question mark", dir + "/what?/lake", nil, fault.ConfigInvalid},
		{"a backslash", dir + `/a\b/lake`, nil, fault.ConfigInvalid},
		{"a backslash in the data path", dir + "/lake", func(c *ducklake.Config) { c.DataPath = dir + `/a\b` }, fault.ConfigInvalid},
		{"no extension", dir + "/lake", func(c *ducklake.Config) { c.ExtensionDir = dir }, fault.ExtensionMissing},
		{"a bad memory limit", dir + "/lake", func(c *ducklake.Config) { c.MemoryLimit = "much" }, fault.ConfigInvalid},
		{"a remote data path", dir + "/lake", func(c *ducklake.Config) { c.DataPath = "s3://bucket/x" }, fault.NotYetSupported},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := ducklake.Config{Catalog: test.catalog, ExtensionDir: laketest.ExtensionDir(t), TempDir: filepath.Join(dir, "tmp")}
			if test.change != nil {
				test.change(&c)
			}
			l, err := ducklake.Open(ctx, c)
			if err == nil {
				l.Close()
			}
			fails(t, err, test.code)
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the password is in the message: %v", err)
			}
		})
	}
	// The database that is no lake is as it was.
	plain = must(duck.Open(db, duck.Options{}))
	conn = must(plain.Connect())
	rows := must(conn.Rows(ctx, `SELECT table_name FROM duckdb_tables()`))
	if len(rows) != 1 || rows[0][0] != "mine" {
		t.Errorf("the foreign database now has %v", rows)
	}
	must(0, errors.Join(conn.Close(), plain.Close()))
	if left, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(left) != 0 {
		t.Errorf("temporary folders are left: %v", left)
	}
}

func TestTamperedExtension(t *testing.T) {
	from := filepath.Join(laketest.ExtensionDir(t), "v1.5.5")
	platforms, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	to := filepath.Join(dir, "v1.5.5", platforms[0].Name())
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	bytes, err := os.ReadFile(filepath.Join(from, platforms[0].Name(), "ducklake.duckdb_extension"))
	if err != nil {
		t.Fatal(err)
	}
	bytes[len(bytes)/2] ^= 1
	if err := os.WriteFile(filepath.Join(to, "ducklake.duckdb_extension"), bytes, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = ducklake.Open(ctx, ducklake.Config{Catalog: filepath.Join(dir, "lake"), ExtensionDir: dir, TempDir: dir})
	fails(t, err, fault.ExtensionInvalid)
}

// A second process is refused while this one has the lake, and gets it afterwards.
func TestSecondProcess(t *testing.T) {
	p := laketest.NewPlace(t, laketest.DuckDB)
	child := process(t, "hold", p)
	in := must(child.StdinPipe())
	out := must(child.StdoutPipe())
	must(0, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "open\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	_, err = ducklake.Open(ctx, p.Config)
	fails(t, err, fault.LakeLocked)
	in.Close()
	must(0, child.Wait())
	p.Open(t)
	_, err = ducklake.Open(ctx, p.Config) // nor twice in one process, by any path
	fails(t, err, fault.LakeLocked)
	link := filepath.Join(t.TempDir(), "link")
	must(0, os.Symlink(p.Config.Catalog, link))
	p.Config.Catalog = link
	_, err = ducklake.Open(ctx, p.Config)
	fails(t, err, fault.LakeLocked)
}

func TestFoldersAndFiles(t *testing.T) {
	dir, extensions := t.TempDir(), laketest.ExtensionDir(t)
	open := func(c ducklake.Config) (*ducklake.Lake, error) {
		c.ExtensionDir, c.TempDir = extensions, filepath.Join(dir, "tmp")
		return ducklake.Open(ctx, c)
	}
	t.Chdir(dir)
	l := must(open(ducklake.Config{Catalog: "./a/lake"}))
	if want := filepath.Join(dir, "a/lake/data") + "/"; l.DataPath() != want {
		t.Errorf("data in %s, want %s", l.DataPath(), want)
	}
	must(0, l.DDL(ctx, `CREATE TABLE t AS SELECT range AS i FROM range(5000)`))
	must(0, l.Close())
	if _, err := os.Stat("a/lake/catalog.ducklake"); err != nil {
		t.Error(err)
	}
	// A folder lake goes where its folder goes.
	must(0, os.Rename("a/lake", "moved"))
	l = must(open(ducklake.Config{Catalog: "moved"}))
	connectAndClose(t, l, "5000")
	must(0, l.Close())

	l = must(open(ducklake.Config{Catalog: "file.ducklake", DataPath: "elsewhere"}))
	must(0, l.DDL(ctx, `CREATE TABLE t AS SELECT range AS i FROM range(5000)`))
	must(0, l.Close())
	l = must(open(ducklake.Config{Catalog: "ducklake:file.ducklake"})) // the catalog knows where its data is
	if want := filepath.Join(dir, "elsewhere") + "/"; l.DataPath() != want {
		t.Errorf("data in %s, want %s", l.DataPath(), want)
	}
	connectAndClose(t, l, "5000")
	must(0, l.Close())
	_, err := open(ducklake.Config{Catalog: "file.ducklake", DataPath: "wrong"})
	fails(t, err, fault.ConfigInvalid)
	must(0, os.Rename("elsewhere", "unmounted"))
	_, err = open(ducklake.Config{Catalog: "file.ducklake"})
	fails(t, err, fault.LakeUnreadable)
	for range 2 { // the catalog goes on to name the old folder
		l = must(open(ducklake.Config{Catalog: "file.ducklake", DataPath: "unmounted"}))
		connectAndClose(t, l, "5000")
		must(0, l.Close())
	}
}

// The lakes that DuckDB makes with a relative DATA_PATH, as its documentation shows.
func TestRelativeDataPaths(t *testing.T) {
	dir, extensions := t.TempDir(), laketest.ExtensionDir(t)
	open := func(c ducklake.Config) (*ducklake.Lake, error) {
		c.ExtensionDir, c.TempDir = extensions, filepath.Join(dir, "tmp")
		return ducklake.Open(ctx, c)
	}
	t.Chdir(dir)
	must(0, os.Mkdir("made", 0o755))
	t.Chdir("made")
	l := must(open(ducklake.Config{Catalog: "mine.ducklake", DataPath: "files"}))
	must(0, l.DDL(ctx, `CREATE TABLE t AS SELECT range AS i FROM range(5000)`))
	must(0, l.Store().Update(ctx, func(tx metadata.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE {M}ducklake_metadata SET value = 'files/' WHERE key = 'data_path'`)
		return err
	}))
	must(0, l.Close())
	t.Chdir(dir)
	files := filepath.Join(dir, "made", "files") + "/"
	for _, data := range []string{"", "made/files", files} {
		l = must(open(ducklake.Config{Catalog: "made/mine.ducklake", DataPath: data}))
		if l.DataPath() != files {
			t.Errorf("data in %s, want %s", l.DataPath(), files)
		}
		connectAndClose(t, l, "5000")
		must(0, l.DDL(ctx, `INSERT INTO t SELECT range FROM range(5000)`))
		must(0, l.DDL(ctx, `DELETE FROM t WHERE rowid >= 5000`))
		must(0, l.Close())
	}
	must(0, os.Rename("made/files", "away"))
	_, err := open(ducklake.Config{Catalog: "made/mine.ducklake"})
	fails(t, err, fault.LakeUnsupported)
	l = must(open(ducklake.Config{Catalog: "made/mine.ducklake", DataPath: "away"}))
	connectAndClose(t, l, "5000")
	must(0, l.Close())
}

func connectAndClose(t *testing.T, l *ducklake.Lake, want string) {
	t.Helper()
	s := must(l.NewSession(ctx, ducklake.SessionConfig{}))
	client{s, t}.want(`SELECT count(*) FROM t`, want)
	must(0, s.Close())
}

func TestUnsupportedFormat(t *testing.T) {
	for _, change := range []string{
		`UPDATE {M}ducklake_metadata SET value = '1.1-dev1' WHERE key = 'version'`,
		`UPDATE {M}ducklake_metadata SET value = 'true' WHERE key = 'encrypted'`,
		`ALTER TABLE {M}ducklake_delete_file ADD COLUMN row_group_count BIGINT`,
	} {
		p := laketest.NewPlace(t, laketest.DuckDB)
		l := must(ducklake.Open(ctx, p.Config))
		must(0, l.Store().Update(ctx, func(tx metadata.Tx) error {
			_, err := tx.Exec(ctx, change)
			return err
		}))
		must(0, l.Close())
		_, err := ducklake.Open(ctx, p.Config)
		fails(t, err, fault.LakeUnsupported)
	}
}

func TestTemporaryFoldersOfKilledProcesses(t *testing.T) {
	p := laketest.NewPlace(t, laketest.DuckDB)
	left := filepath.Join(p.Config.TempDir, "vega-flight-0000")
	must(0, os.MkdirAll(left, 0o755))
	must(0, os.WriteFile(filepath.Join(left, "in-use"), nil, 0o600))
	must(0, os.WriteFile(filepath.Join(left, "spool-1"), []byte("x"), 0o600))
	l := p.Open(t)
	found, err := os.ReadDir(p.Config.TempDir)
	if err != nil || len(found) != 1 || filepath.Join(p.Config.TempDir, found[0].Name()) != l.TempDir() {
		t.Errorf("there are %v, %v; only %s should be", found, err, l.TempDir())
	}
}

// The instance's configuration is final, whoever asks.
func TestLockdown(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		l := laketest.New(t, k)
		conn, release, err := l.Acquire(ctx, ducklake.ConnSettings{})
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		for _, sql := range []string{
			`SELECT * FROM read_text('/etc/passwd')`,
			`COPY (SELECT 1) TO '/tmp/vega-test-leak.csv'`,
			`ATTACH '/tmp/vega-test-leak.db' AS x`,
			`SET GLOBAL enable_external_access = true`,
			`SET GLOBAL disabled_optimizers = ''`,
			`SET allowed_directories = ['/']`,
			`SET memory_limit = '1GB'`,
			`INSTALL httpfs`,
			`LOAD '/tmp/x.duckdb_extension'`,
		} {
			if _, err := conn.Exec(ctx, sql); err == nil {
				t.Errorf("%s is possible", sql)
			}
		}
		rows := must(conn.Rows(ctx, `SELECT current_setting('disabled_optimizers'), current_setting('TimeZone')`))
		if !strings.Contains(rows[0][0].(string), "statistics_propagation") || rows[0][1] != "UTC" {
			t.Errorf("settings are %v", rows)
		}
	})
}

// Names and paths may hold anything.
func TestOddNames(t *testing.T) {
	p := laketest.NewPlace(t, laketest.DuckDB)
	p.Config.Catalog = filepath.Join(t.TempDir(), `it's a "lake", really`)
	p.Config.Name = `My "Lake's" 1`
	l := p.Open(t)
	c := connect(t, l)
	c.exec(`CREATE SCHEMA "a.b"`)
	c.exec(`USE "My ""Lake's"" 1"."a.b"`)
	c.exec(`CREATE TABLE "t's" AS SELECT range AS i FROM range(3000)`)
	c.exec(`CREATE OR REPLACE TABLE "t's" AS SELECT range AS i FROM range(4000)`)
	c.exec(`INSERT INTO "t's" VALUES (-1)`)
	c.want(`SELECT count(*), current_schema(), current_catalog() FROM "t's"`, `4001|a.b|My "Lake's" 1`)
	if _, err := c.Ingest(ctx, ducklake.IngestSpec{Table: "t's", IfExists: ducklake.ReplaceTable}, rowsFrom(0, 1, 5)); err != nil {
		t.Fatal(err)
	}
	ctx := ducklake.WithCommitID(ctx, `an "id" that's odd`)
	if _, err := c.Exec(ctx, must(c.Analyze(ctx, `DELETE FROM "t's" WHERE i = 1`))); err != nil {
		t.Fatal(err)
	}
	c.want(`SELECT count(*) FROM "t's"`, "4")
}
