package gate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/duck"
)

// realLake is a locked-down instance with a lake, as the server runs it, and what is in it.
type realLake struct {
	t    testing.TB
	db   *duck.DB
	conn *duck.Conn
	dir  string
}

func extension(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("VEGA_EXTENSION_DIR")
	if dir == "" {
		at, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
				break
			}
			at = filepath.Dir(at)
		}
		dir = filepath.Join(at, ".build", "extensions")
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "*", name+".duckdb_extension"))
	if err != nil || len(found) == 0 {
		t.Fatalf("the extension %s is not in %s: run make test once", name, dir)
	}
	return found[0]
}

const vegaTables = `CREATE TABLE jobs(job_id VARCHAR, state VARCHAR)`

// newRealLake makes a lake, runs setup in it, and locks the instance down.
func newRealLake(t testing.TB, setup ...string) *realLake {
	t.Helper()
	dir := t.TempDir()
	db, err := duck.Open("", duck.Options{Config: map[string]string{"threads": "2", "autoinstall_known_extensions": "false"}})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Connect()
	if err != nil {
		t.Fatal(err)
	}
	r := &realLake{t: t, db: db, conn: conn, dir: dir}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	data := filepath.Join(dir, "files") + "/"
	all := append([]string{
		"LOAD " + literal(extension(t, "ducklake")),
		"LOAD " + literal(extension(t, "postgres_scanner")),
		fmt.Sprintf("ATTACH 'ducklake:%s' AS lake (DATA_PATH '%s', DATA_INLINING_ROW_LIMIT 0)", filepath.Join(dir, "catalog.ducklake"), data),
		"ATTACH ':memory:' AS vega",
		"USE vega.main", vegaTables, "USE lake.main",
	}, setup...)
	all = append(all,
		"SET allowed_directories=['"+data+"']", "SET allowed_configs=['TimeZone', '"+strings.Join(duck.ConnSettings, "', '")+"']",
		"SET enable_external_access=false", "SET lock_configuration=true")
	for _, sql := range all {
		r.must(sql)
	}
	return r
}

func (r *realLake) must(sql string) {
	r.t.Helper()
	if _, err := r.conn.Exec(context.Background(), sql); err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
}

func (r *realLake) rows(sql string) [][]any {
	r.t.Helper()
	rows, err := r.conn.Rows(context.Background(), sql)
	if err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// Objects reads the lake's catalog.
func (r *realLake) Objects(ctx context.Context, have int64) (*Objects, error) {
	version := r.rows(`SELECT schema_version FROM __ducklake_metadata_lake.ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1`)[0][0].(int64)
	if version == have {
		return nil, nil
	}
	o := &Objects{SchemaVersion: version}
	for _, row := range r.rows(`SELECT schema_name FROM duckdb_schemas() WHERE database_name = 'lake'`) {
		o.Schemas = append(o.Schemas, row[0].(string))
	}
	for _, row := range r.rows(`SELECT t.table_id, t.table_uuid::VARCHAR, s.schema_name, t.table_name FROM __ducklake_metadata_lake.ducklake_table t
			JOIN __ducklake_metadata_lake.ducklake_schema s USING (schema_id) WHERE t.end_snapshot IS NULL ORDER BY ALL`) {
		t := Table{ID: row[0].(int64), UUID: row[1].(string), Schema: row[2].(string), Name: row[3].(string)}
		for _, c := range r.rows(fmt.Sprintf(`SELECT column_name, data_type, is_nullable, column_default FROM duckdb_columns()
				WHERE database_name = 'lake' AND schema_name = %s AND table_name = %s ORDER BY column_index`, literal(t.Schema), literal(t.Name))) {
			column := TableColumn{Name: c[0].(string), Type: c[1].(string), NotNull: !c[2].(bool)}
			if d, _ := c[3].(string); d != "" && d != "NULL" {
				column.Default = d
			}
			t.Columns = append(t.Columns, column)
		}
		o.Tables = append(o.Tables, t)
	}
	for _, row := range r.rows(`SELECT v.view_uuid::VARCHAR, s.schema_name, v.view_name, v.sql, v.column_aliases FROM __ducklake_metadata_lake.ducklake_view v
			JOIN __ducklake_metadata_lake.ducklake_schema s USING (schema_id) WHERE v.end_snapshot IS NULL`) {
		v := View{UUID: row[0].(string), Schema: row[1].(string), Name: row[2].(string), SQL: row[3].(string)}
		if a, _ := row[4].(string); a != "" {
			for _, name := range strings.Split(a, ",") {
				v.Aliases = append(v.Aliases, strings.Trim(strings.TrimSpace(name), `"`))
			}
		}
		o.Views = append(o.Views, v)
	}
	macros := map[string]int{}
	for _, row := range r.rows(`SELECT m.macro_id::VARCHAR, i.impl_id::VARCHAR, s.schema_name, m.macro_name, i.sql, i.type FROM __ducklake_metadata_lake.ducklake_macro m
			JOIN __ducklake_metadata_lake.ducklake_schema s USING (schema_id) JOIN __ducklake_metadata_lake.ducklake_macro_impl i USING (macro_id)
			WHERE m.end_snapshot IS NULL ORDER BY m.macro_id, i.impl_id`) {
		id := row[0].(string)
		if _, ok := macros[id]; !ok {
			macros[id] = len(o.Macros)
			o.Macros = append(o.Macros, Macro{Schema: row[2].(string), Name: row[3].(string)})
		}
		body := MacroOverload{SQL: row[4].(string), Table: row[5].(string) == "table"}
		for _, p := range r.rows(fmt.Sprintf(`SELECT parameter_name, parameter_type, default_value, default_value_type FROM __ducklake_metadata_lake.ducklake_macro_parameters
				WHERE macro_id = %s AND impl_id = %s ORDER BY column_id`, id, row[1])) {
			param := MacroParam{Name: p[0].(string)}
			if typ, _ := p[1].(string); typ != "unknown" {
				param.Type = map[string]string{"float64": "DOUBLE", "int32": "INTEGER"}[typ]
			}
			if d, _ := p[2].(string); p[3] != "unknown" {
				param.Default = literal(d)
				if typ, _ := p[3].(string); typ != "varchar" {
					param.Default = "CAST(" + literal(d) + " AS " + typ + ")"
				}
			}
			body.Params = append(body.Params, param)
		}
		m := &o.Macros[macros[id]]
		m.Overloads = append(m.Overloads, body)
	}
	return o, nil
}

// sales is the lake most tests use.
var sales = []string{
	"CREATE SCHEMA sales",
	"CREATE TABLE t(a INTEGER, b VARCHAR)", "INSERT INTO t VALUES (1, 'one'), (2, 'two')",
	"CREATE TABLE sales.orders(id BIGINT, customer INTEGER, amount DECIMAL(10,2), placed TIMESTAMP, tags VARCHAR[], info STRUCT(k VARCHAR, v INTEGER))",
	"INSERT INTO sales.orders VALUES (1, 1, 10.5, '2026-01-01', ['x'], {k: 'a', v: 1}), (2, 2, 20, '2026-01-02', [], NULL)",
	"CREATE TABLE sales.customer(id INTEGER, name VARCHAR, region VARCHAR)", "INSERT INTO sales.customer VALUES (1, 'ann', 'eu'), (2, 'bob', 'us')",
	"CREATE VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a",
	"CREATE VIEW sales.big(order_id, who) AS SELECT o.id, c.name FROM orders o JOIN customer c ON o.customer = c.id WHERE o.amount > 15",
	"CREATE MACRO plus(x, y := 1) AS x + y",
	"CREATE MACRO sales.of(c) AS TABLE SELECT * FROM sales.orders WHERE customer = c",
}

// newGate makes a gate over a real lake and a session of it.
func newGate(t testing.TB, lake *realLake) (*Gate, *Session) {
	t.Helper()
	ctx := context.Background()
	g, err := New(ctx, Config{Lake: "lake", Vega: []string{vegaTables}})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Sync(ctx, lake); err != nil {
		t.Fatal(err)
	}
	s, err := g.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g, s
}
