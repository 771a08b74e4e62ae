package types_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// lab is a lake that only the extension writes, with nothing of ours between.
type lab struct {
	t      *testing.T
	kind   laketest.Kind
	db     *duck.DB
	conn   *duck.Conn
	schema string // of a PostgreSQL catalog, with its dot
	deaths int    // instances that internal errors have ended
}

var schemas, tables atomic.Int64

func newLab(t *testing.T, kind laketest.Kind) *lab {
	t.Helper()
	l := &lab{t: t, kind: kind}
	l.open()
	return l
}

// open begins with a new instance and a new lake.
func (l *lab) open() {
	l.t.Helper()
	db, err := duck.Open("", duck.Options{Config: map[string]string{"threads": "1"}})
	if err != nil {
		l.t.Fatal(err)
	}
	conn, err := db.Connect()
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		conn.Close()
		db.Close()
	})
	l.db, l.conn = db, conn
	dir := l.t.TempDir()
	target, options := filepath.Join(dir, "lake.ducklake"), ""
	extensions := []string{"ducklake"}
	if l.kind == laketest.PostgreSQL {
		schema := fmt.Sprintf("types_%d", schemas.Add(1))
		target, options, l.schema = "postgres:"+laketest.PostgresDSN(l.t), fmt.Sprintf(", METADATA_SCHEMA '%s'", schema), schema+"."
		extensions = append(extensions, "postgres_scanner")
	}
	for _, e := range extensions {
		l.must(fmt.Sprintf("LOAD '%s/v1.5.5/linux_amd64/%s.duckdb_extension'", laketest.ExtensionDir(l.t), e))
	}
	l.must("SET GLOBAL disabled_optimizers = 'statistics_propagation,compressed_materialization'")
	l.must("SET TimeZone = 'UTC'")
	l.must(fmt.Sprintf("ATTACH 'ducklake:%s' AS lake (DATA_PATH '%s/data'%s)", target, dir, options))
}

func (l *lab) must(sql string) {
	l.t.Helper()
	if err := l.try(sql); err != nil {
		l.t.Fatalf("%s: %v", sql, err)
	}
}

func (l *lab) try(sql string) error {
	_, err := l.conn.Exec(context.Background(), sql)
	return err
}

// observation is what became of a type's values: stage by stage what went wrong, if anything.
type observation struct {
	refused string   // why CREATE TABLE failed
	wrong   []string // "stage: what", the first of each stage
}

func (o observation) kept() bool { return o.refused == "" && len(o.wrong) == 0 }

func (o *observation) note(stage string, err error) {
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		o.wrong = append(o.wrong, stage+": "+shorten(text))
	}
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 160 {
		return string(r[:160]) + "…"
	}
	return s
}

// observe writes the values into lake tables of the type and reads them back
// through everything that may befall them. Values are cast to the type as CREATE
// TABLE AS would.
func (l *lab) observe(typ string, values []string, inline bool) (o observation) {
	n := tables.Add(1)
	inlined, files := fmt.Sprintf("lake.inlined%d", n), fmt.Sprintf("lake.files%d", n)
	rows := make([]string, len(values))
	for k, v := range values {
		rows[k] = fmt.Sprintf("SELECT %d AS k, CAST(%s AS %s) AS x", k, v, typ)
	}
	l.must(fmt.Sprintf("CREATE OR REPLACE TEMP TABLE want (k INTEGER, x %s)", typ))
	l.must("INSERT INTO want " + strings.Join(rows, " UNION ALL "))
	defer func() {
		if l.db.Poisoned() != nil {
			l.deaths++
			l.open()
			return
		}
		// What cannot be flushed would stop the flush of every other table.
		l.must("DROP TABLE IF EXISTS " + inlined + "; DROP TABLE IF EXISTS " + files)
	}()
	if err := l.try(fmt.Sprintf("CREATE TABLE %s (k INTEGER, x %s)", inlined, typ)); err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		o.refused = shorten(text)
		return o
	}
	l.inline(inlined, inline)
	if err := l.try(fmt.Sprintf("INSERT INTO %s FROM want", inlined)); err != nil {
		o.note("insert", err)
		return o
	}
	before := l.version()
	l.forgetFloatStatistics()
	o.note("inlined", l.same(inlined))
	o.note("inlined, filtered", l.sameFiltered(inlined, typ, values, "="))
	if err := l.try("CALL ducklake_flush_inlined_data('lake')"); err != nil {
		o.note("flush", err)
		return o
	}
	l.forgetFloatStatistics()
	o.note("flushed", l.same(inlined))
	o.note("before the flush", l.same(fmt.Sprintf("%s AT (VERSION => %d)", inlined, before)))
	o.note("flushed, filtered", l.sameFiltered(inlined, typ, values, "="))

	// One file a value, so that a filter may skip files by their statistics.
	l.must(fmt.Sprintf("CREATE TABLE %s (k INTEGER, x %s)", files, typ))
	l.inline(files, false)
	for k := range values {
		if err := l.try(fmt.Sprintf("INSERT INTO %s FROM want WHERE k = %d", files, k)); err != nil {
			o.note("insert into files", err)
			return o
		}
	}
	l.forgetFloatStatistics()
	o.note("files", l.same(files))
	o.note("files, filtered", l.sameFiltered(files, typ, values, "=", "<", ">="))
	l.inline(files, inline)
	for _, table := range []string{inlined, files} {
		if err := l.try(fmt.Sprintf("UPDATE %s SET k = k WHERE k %% 2 = 0", table)); err != nil {
			o.note("update", err)
			return o
		}
		o.note("updated", l.same(table))
	}
	if err := l.try("CALL ducklake_merge_adjacent_files('lake')"); err != nil {
		o.note("merge", err)
		return o
	}
	o.note("merged", l.same(files))
	o.note("before the updates", l.same(fmt.Sprintf("%s AT (VERSION => %d)", inlined, before)))
	return o
}

func (l *lab) inline(table string, on bool) {
	limit := 0
	if on {
		limit = 1000
	}
	l.must(fmt.Sprintf("CALL lake.set_option('data_inlining_row_limit', %d, table_name => '%s')", limit, strings.TrimPrefix(table, "lake.")))
}

// forgetFloatStatistics removes what [TestFloatStatisticsSkipFiles] shows to be harmful.
func (l *lab) forgetFloatStatistics() {
	l.must(`UPDATE __ducklake_metadata_lake.` + l.schema + `ducklake_file_column_stats SET min_value = NULL, max_value = NULL
		WHERE (table_id, column_id) IN (SELECT (table_id, column_id) FROM __ducklake_metadata_lake.` + l.schema + `ducklake_column WHERE column_type IN ('float32', 'float64'))`)
}

func (l *lab) version() any {
	rows, err := l.conn.Rows(context.Background(), "SELECT max(snapshot_id) FROM lake.snapshots()")
	if err != nil {
		l.t.Fatal(err)
	}
	return rows[0][0]
}

// same compares a table with the wanted values: equal to DuckDB, of the same
// type, and with the same text, since equality does not see all (-0.0, the parts of an INTERVAL, a TIMETZ's offset).
func (l *lab) same(table string) error {
	rows, err := l.conn.Rows(context.Background(), fmt.Sprintf(`
		SELECT w.k, w.x::VARCHAR, typeof(w.x), t.x::VARCHAR, typeof(t.x), t.k
		FROM want w FULL JOIN (FROM %s) t ON t.k = w.k
		WHERE t.k IS NULL OR w.k IS NULL OR t.x IS DISTINCT FROM w.x OR t.x::VARCHAR IS DISTINCT FROM w.x::VARCHAR OR typeof(t.x) <> typeof(w.x)
		ORDER BY coalesce(w.k, t.k)`, table))
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return nil
	}
	r := rows[0]
	if r[2] != r[4] {
		return fmt.Errorf("%v became %v", r[2], r[4])
	}
	return fmt.Errorf("%v became %v", text(r[1]), text(r[3]))
}

func text(v any) any {
	if v == nil {
		return "NULL"
	}
	return v
}

// sameFiltered compares how many rows meet each comparison with each value.
func (l *lab) sameFiltered(table, typ string, values []string, ops ...string) error {
	if strings.Contains(typ, "GEOMETRY") || strings.Contains(typ, "VARIANT") {
		return nil // not ordered
	}
	var counts []string
	for _, v := range values {
		if strings.Contains(v, "chr(0)") {
			continue // DuckLake cannot look for a NUL byte: an error, not a wrong answer
		}
		for _, op := range ops {
			where := fmt.Sprintf("x %s CAST(%s AS %s)", op, v, typ)
			counts = append(counts, fmt.Sprintf("SELECT '%s' AS w, (SELECT count(*) FROM %s WHERE %s) AS got, (SELECT count(*) FROM want WHERE %[3]s) AS wanted",
				strings.ReplaceAll(where, "'", "''"), table, where))
		}
	}
	rows, err := l.conn.Rows(context.Background(), "SELECT * FROM ("+strings.Join(counts, " UNION ALL ")+") WHERE got <> wanted")
	if err != nil {
		return err
	}
	for _, r := range rows {
		return fmt.Errorf("WHERE %v finds %v rows of %v", r[0], r[1], r[2])
	}
	return nil
}
