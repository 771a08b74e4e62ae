package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/fault"
)

// secrets must not come out of any statement, whatever is admitted.
const (
	hostSecret    = "TOPSECRET-of-the-host"
	deletedSecret = "row-that-was-deleted"
)

// prison is a lake with something to steal: a file of the host, and a deleted row in a data file.
func prison(t testing.TB, more ...string) (*realLake, string, string) {
	t.Helper()
	lake := newRealLake(t, append(append([]string{}, sales...), append([]string{
		"CREATE TABLE gone(x VARCHAR)", "INSERT INTO gone VALUES ('" + deletedSecret + "'), ('kept')", "DELETE FROM gone WHERE x <> 'kept'",
		"CREATE TABLE victim(a INTEGER)", "INSERT INTO victim VALUES (7)",
	}, more...)...)...)
	host := filepath.Join(lake.dir, "host.csv")
	if err := os.WriteFile(host, []byte("a\n"+hostSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(lake.dir, "files", "main", "gone", "*.parquet"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no data file of gone: %v", err)
	}
	for _, f := range found {
		if !strings.Contains(f, "delete") {
			return lake, host, f
		}
	}
	t.Fatal("no data file of gone")
	return nil, "", ""
}

// sources are table expressions that must not be reachable.
func sources(host, data string) []string {
	dir := filepath.Dir(data)
	list := []string{
		// files, in every way to name one
		"'" + host + "'", `"` + host + `"`, "'" + data + "'", `"` + data + `"`, "lake.\"" + data + "\"", "lake.main.\"" + data + "\"", "main.\"" + data + "\"",
		"'" + dir + "/*.parquet'", `"` + dir + `/*.parquet"`, "'" + filepath.Join(dir, "..", "gone", filepath.Base(data)) + "'",
		"read_csv('" + host + "')", "read_csv_auto('" + host + "')", "read_text('" + host + "')", "read_blob('" + host + "')",
		"read_parquet('" + data + "')", "parquet_scan('" + data + "')", "read_parquet(['" + data + "'])", "read_parquet(files := '" + data + "')",
		"parquet_metadata('" + data + "')", "parquet_schema('" + data + "')", "parquet_file_metadata('" + data + "')", "parquet_kv_metadata('" + data + "')",
		"parquet_full_metadata('" + data + "')", "parquet_bloom_probe('" + data + "', 'x', 1)",
		"glob('" + dir + "/*')", "sniff_csv('" + host + "')", "read_json('" + host + "')", "read_ndjson('" + host + "')", "read_json_objects('" + host + "')",
		"read_duckdb('" + host + "')", "read_blob(getvariable('f'))", "read_blob(?)", "read_blob($f)", "read_text('/proc/self/environ')",
		// spellings of one function
		"READ_BLOB('" + host + "')", `"read_blob"('` + host + "')", `"Read_Blob" ('` + host + "')", "read_blob/**/('" + host + "')", "read_blob -- x\n('" + host + "')",
		"read_blob\u00a0('" + host + "')", "read_blob\u200b('" + host + "')", "system.main.read_blob('" + host + "')", `"system"."main"."read_blob"('` + host + "')",
		"main.read_blob('" + host + "')", "read_blob($$" + host + "$$)", "read_blob($a$" + host + "$a$)", "read_blob(e'" + host + "')",
		`U&"read\005fblob"('` + host + "')", "read_blob/* /* */ */('" + host + "')", "read_blob\f('" + host + "')", "read_blob\t\r\n('" + host + "')",
		// SQL and names in strings
		"query('select 1')", "query('from read_blob(''" + host + "'')')", "query_table('t')", "query_table('__ducklake_metadata_lake.ducklake_table')", "query_table(['t'])",
		"query_table(?)", "query_table(getvariable('x'))",
		`json_execute_serialized_sql('{}')`, "json_execute_serialized_sql(json_serialize_sql('select 1'))", "json_execute_serialized_sql(?)",
		"histogram_values('" + data + "', x)", "histogram('" + data + "', x)", `histogram_values('"` + data + `"', x)`, "histogram_values(?, x)", "summary('" + data + "')",
		// the metadata catalog, in every spelling
		"__ducklake_metadata_lake.ducklake_table", "__ducklake_metadata_lake.main.ducklake_snapshot", `"__ducklake_metadata_lake"."ducklake_table"`,
		"__DUCKLAKE_METADATA_LAKE.ducklake_table", `"__DuckLake_Metadata_lake".main."ducklake_table"`, "__ducklake_metadata_lake/**/.ducklake_table",
		`U&"__ducklake_metadata_lake".ducklake_table`, "ducklake_table", "lake.ducklake_table", "main.ducklake_table",
		"(table __ducklake_metadata_lake.ducklake_table)", "(from __ducklake_metadata_lake.ducklake_table)", "(describe __ducklake_metadata_lake.ducklake_table)",
		"pragma_table_info('__ducklake_metadata_lake.ducklake_table')", "pragma_show('__ducklake_metadata_lake.ducklake_table')", "pragma_storage_info('t')",
		"duckdb_table_sample('t')", "seq_scan('t')",
		// the lake's maintenance and internals
		"ducklake_list_files('lake', 't')", "ducklake_settings('lake')", "ducklake_options('lake')", "lake.options()", "lake.settings()", "lake.set_option('compression', 'zstd')",
		"ducklake_expire_snapshots('lake', older_than => now())", "ducklake_cleanup_old_files('lake', cleanup_all => true)", "ducklake_delete_orphaned_files('lake', cleanup_all => true)",
		"ducklake_merge_adjacent_files('lake')", "ducklake_rewrite_data_files('lake')", "ducklake_flush_inlined_data('lake')", "ducklake_add_data_files('lake', 't', '" + data + "')",
		"ducklake_set_commit_message('lake', 'me', 'x')", "ducklake_set_option('lake', 'parquet_compression', 'zstd')", "ducklake_commit('lake')", "ducklake_scan()",
		"lake.merge_adjacent_files()", "lake.expire_snapshots()", "lake.main.set_commit_message('a', 'b')", "set_option('a', 'b')", "lake.cleanup_old_files()", "lake.flush_inlined_data()",
		"checkpoint('lake')", "force_checkpoint('lake')", "checkpoint()",
		"ducklake_snapshots('other')", "ducklake_snapshots(?)", "ducklake_table_changes('__ducklake_metadata_lake', 'main', 't', 0, 9)", "ducklake_snapshots(getvariable('x'))",
		"ducklake_snapshots(catalog => 'lake')", "lake.table_changes(?, 0, 9)", "lake.table_changes(getvariable('x'), 0, 9)", "lake.table_changes('nothing', 0, 9)",
		// other servers
		"postgres_scan('host=127.0.0.1', 'public', 't')", "postgres_query('lake', 'select 1')", "postgres_execute('lake', 'select 1')", "postgres_attach('host=127.0.0.1')",
		"postgres_scan_pushdown('host=127.0.0.1', 'public', 't')", "sqlite_scan('" + host + "', 't')", "'http://127.0.0.1/x.parquet'", "'s3://b/x.parquet'", "read_parquet('http://127.0.0.1/x.parquet')",
		// the server's own state
		"duckdb_settings()", "duckdb_databases()", "duckdb_secrets()", "duckdb_logs()", "duckdb_logs", "duckdb_log_contexts()", "duckdb_connection_count()", "duckdb_extensions()",
		"duckdb_memory()", "duckdb_temporary_files()", "duckdb_external_file_cache()", "duckdb_prepared_statements()", "duckdb_secret_types()", "duckdb_optimizers()", "duckdb_variables()",
		"duckdb_logs_parsed('QueryLog')", "duckdb_profiling_settings()", "pragma_database_size()", "pragma_metadata_info('lake')", "pragma_user_agent()", "which_secret('x', 'y')",
		"pg_catalog.pg_settings", "pg_settings", "pg_database", "duckdb_databases", "pragma_database_list", "duckdb_settings", "duckdb_approx_database_count()",
		"enable_logging('QueryLog')", "disable_logging()", "truncate_duckdb_logs()", "enable_profiling()", "arrow_scan(1, 2, 3)", "arrow_scan_dumb(1, 2, 3)", "test_vector_types(1)",
		"pg_clear_cache()", "postgres_configure_pool('a')", "enable_peg_parser()", "disable_peg_parser()", "sql_auto_complete('FROM ''/')", "duck_arrow_stream(1)", "(show variables)",
		// other catalogs
		"memory.main.t", "memory.t", "system.main.t", "other.main.t", `memory.main."unusable object"`,
	}
	return list
}

// values are expressions that must not be evaluated.
func values(host string) []string {
	return []string{
		"(select content from read_text('" + host + "'))", "(select count(*) from '" + host + "')",
		"current_setting('temp_directory')", "current_setting('allowed_directories')", "current_setting('secret_directory')", "current_setting('time' || 'zone')", "current_setting(?)",
		"current_setting(getvariable('x'))", `"current_setting"('access_mode')`, "main.current_setting('allowed_paths')", "'allowed_paths'.current_setting()",
		"json_serialize_plan('select * from read_blob(''" + host + "'')')", "nextval('s')", "currval('s')", "write_log('x')", "sleep_ms(1)", "pg_sleep(1)", "get_block_size('lake')",
		"getenv('HOME')", "list_transform(['" + host + "'], lambda f: (select content from read_text(f)))", "[x for x in ['" + host + "'] if (select count(*) from read_text(x)) > 0]",
		"list_transform([1], x -> write_log('x'))", "struct_pack(a := write_log('x'))", "coalesce(write_log('x'), 1)", "case when true then write_log('x') end",
		"'x'.write_log()", "'x'.\"write_log\"()", "finalize('x'::blob)", "combine('x'::blob, 'y'::blob)", "parse_duckdb_log_message('QueryLog', 'x')",
		"(from query('select 1'))", "exists (from duckdb_settings())", "1 in (select 1 from glob('*'))", "list(write_log('x')) over ()", "count(*) filter (where write_log('x') is null)",
		"(with q as (from read_blob('" + host + "')) select count(*) from q)", "array(select content from read_text('" + host + "'))", "__internal_compress_integral_utinyint(1, 1)",
		"(select max(columns(lambda c: write_log(c) is null)) from t)", "(select ducklake_table from __ducklake_metadata_lake.ducklake_table)",
	}
}

// wraps put a table expression into all the places that a statement can have one.
var wraps = []string{
	"SELECT * FROM %s", "FROM %s", "WITH c AS (SELECT * FROM %s) SELECT * FROM c", "WITH c AS MATERIALIZED (FROM %s) FROM c",
	"SELECT * FROM t, %s", "SELECT * FROM t JOIN %s ON true", "SELECT (SELECT count(*) FROM %s)", "SELECT * FROM t WHERE EXISTS (FROM %s)",
	"SELECT * FROM t, LATERAL (SELECT * FROM %s)", "SELECT 1 UNION ALL BY NAME SELECT * FROM %s", "(SELECT * FROM %s)", "((FROM %s)) LIMIT 1",
	"EXPLAIN SELECT * FROM %s", "EXPLAIN ANALYZE SELECT * FROM %s", "EXPLAIN (ANALYZE, FORMAT JSON) FROM %s", "DESCRIBE SELECT * FROM %s", "SUMMARIZE SELECT * FROM %s",
	"SELECT * FROM (DESCRIBE FROM %s)", "SELECT * FROM (SUMMARIZE FROM %s)", "CREATE VIEW w AS SELECT * FROM %s", "CREATE TEMP VIEW w AS SELECT * FROM %s", "CREATE OR REPLACE VIEW v AS FROM %s",
	"CREATE TABLE w AS SELECT * FROM %s", "CREATE TEMP TABLE w AS FROM %s", "CREATE MACRO w() AS TABLE SELECT * FROM %s", "CREATE MACRO w() AS (SELECT count(*) FROM %s)",
	"INSERT INTO t SELECT 1, 'x' FROM %s", "UPDATE t SET b = 'x' FROM %s", "UPDATE t SET b = (SELECT count(*)::VARCHAR FROM %s)", "DELETE FROM t USING %s", "DELETE FROM t WHERE EXISTS (FROM %s)",
	"MERGE INTO t USING (SELECT 1 AS a FROM %s) s ON s.a = t.a WHEN MATCHED THEN DELETE", "INSERT INTO t VALUES (1, 'x') RETURNING (SELECT count(*) FROM %s)",
	"WITH c AS (FROM %s) INSERT INTO t SELECT 1, 'x' FROM c", "SET VARIABLE x = (SELECT count(*) FROM %s)", "PIVOT (FROM %s) ON 1 IN (1) USING count(*)",
	"SELECT * FROM t AT (VERSION => (SELECT count(*) FROM %s))", "SELECT * FROM t ORDER BY (SELECT 1 FROM %s)", "SELECT * FROM t LIMIT (SELECT count(*) FROM %s)",
	"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r, %s WHERE n < 2) FROM r",
}

var exprWraps = []string{
	"SELECT %s", "SELECT * FROM t WHERE (%s) IS NULL", "VALUES (%s)", "WITH c AS (SELECT %s AS x) FROM c", "SELECT * FROM t ORDER BY %s", "SELECT a FROM t GROUP BY a HAVING (%s) IS NULL",
	"EXPLAIN SELECT %s", "EXPLAIN ANALYZE VALUES (%s)", "DESCRIBE SELECT %s", "CREATE VIEW w AS SELECT %s AS x", "CREATE MACRO w(a) AS %s", "CREATE TEMP MACRO w(a) AS %s",
	"CREATE TABLE w(x VARCHAR DEFAULT (%s))", "ALTER TABLE t ADD COLUMN z VARCHAR DEFAULT (%s)", "ALTER TABLE t ALTER a TYPE VARCHAR USING (%s)", "ALTER TABLE t ALTER a SET DEFAULT (%s)",
	"INSERT INTO t(b) VALUES (%s)", "UPDATE t SET b = %s", "DELETE FROM t WHERE (%s) IS NULL", "SET VARIABLE x = %s", "SELECT * FROM range(1) WHERE (%s) IS NOT NULL", "SELECT * FROM t LIMIT %s",
	"SELECT COLUMNS(*) FROM (SELECT %s AS x)", "CREATE TABLE w(x INTEGER, CHECK ((%s) IS NULL))", "MERGE INTO t USING (SELECT 1 AS a) s ON s.a = t.a WHEN MATCHED AND (%s) IS NULL THEN DELETE",
	"CREATE MACRO w(a := (%s)) AS a", "SELECT list_filter([1], lambda x: (%s) IS NULL)", "SELECT * FROM t AT (VERSION => %s)",
}

// statements that must be refused as they are.
var forbidden = []string{
	"ATTACH ':memory:' AS x", "ATTACH '/tmp/x.db'", "ATTACH 'ducklake:/tmp/x' AS y", "DETACH lake", "DETACH DATABASE IF EXISTS lake", "COPY t TO '/tmp/x'", "COPY t FROM '/tmp/x'",
	"COPY (SELECT 1) TO '/tmp/x.parquet'", "COPY FROM DATABASE lake TO memory", "EXPORT DATABASE '/tmp/x'", "IMPORT DATABASE '/tmp/x'", "PRAGMA database_list", "PRAGMA enable_profiling",
	"PRAGMA threads=1", "CALL pragma_version()", "CALL lake.set_option('x', 'y')", "CALL enable_logging('QueryLog')", "CHECKPOINT", "CHECKPOINT lake", "FORCE CHECKPOINT lake", "VACUUM", "VACUUM t", "ANALYZE",
	"LOAD httpfs", "INSTALL httpfs", "FORCE INSTALL httpfs", "UPDATE EXTENSIONS", "UPDATE EXTENSIONS (httpfs)", "CREATE SECRET s (TYPE s3)", "CREATE PERSISTENT SECRET s (TYPE s3)", "DROP SECRET s",
	"PREPARE p AS SELECT 1", "EXECUTE p", "DEALLOCATE p", "CREATE INDEX i ON t(a)", "CREATE UNIQUE INDEX i ON t(a)", "CREATE SEQUENCE s", "CREATE TEMP SEQUENCE s", "CREATE TYPE e AS ENUM ('a')",
	"CREATE TEMP TYPE e AS ENUM ('a')", "DROP INDEX i", "DROP SCHEMA main", "DROP SCHEMA IF EXISTS lake.MAIN CASCADE", `DROP SCHEMA "main" CASCADE`, "DROP SEQUENCE s", "DROP TYPE e", "CREATE DATABASE x", "DROP DATABASE lake", "ALTER DATABASE lake SET x", "ALTER SCHEMA sales RENAME TO z",
	"ALTER SEQUENCE s OWNED BY t", "COMMENT ON SCHEMA sales IS 'x'", "COMMENT ON DATABASE lake IS 'x'", "COMMENT ON MACRO plus IS 'x'", "SET threads = 1", "SET memory_limit = '1GB'", "SET GLOBAL TimeZone = 'UTC'",
	"SET allowed_directories = ['/']", "SET enable_external_access = true", "SET lock_configuration = false", "SET SESSION ducklake_max_retry_count = 1", "RESET threads", "RESET GLOBAL TimeZone", "SET autoinstall_known_extensions = true",
	"SET catalog = 'memory'", "SET search_path = 'lake.main,memory.main'", "SET schema = '__ducklake_metadata_lake.main'", "SET search_path = '__ducklake_metadata_lake'", "USE __ducklake_metadata_lake",
	`USE "__ducklake_metadata_lake"`, "USE __DUCKLAKE_METADATA_LAKE.main", "USE memory", "USE vega", "USE vega.main", "USE system", "USE temp", "USE memory.main", "USE information_schema", "USE nothing", "USE lake.nothing",
	"SET VARIABLE x = (SELECT 1", "SELECT 1; SELECT 2", "SELECT 1; DROP TABLE victim", "SELECT 1;; ; DROP TABLE victim", "", ";", "-- nothing", "/* x */", "SELECT 'a", "SELECT \"a", "SELECT $$a", "SELECT /* a", "SELECT 1 $",
	"EXPLAIN ATTACH ':memory:'", "EXPLAIN COPY t TO '/tmp/x'", "EXPLAIN CREATE TABLE x(a int)", "EXPLAIN DROP TABLE victim", "EXPLAIN EXPLAIN SELECT 1", "EXPLAIN ANALYZE DROP TABLE victim", "EXPLAIN CALL pragma_version()",
	"EXPLAIN PRAGMA database_list", "EXPLAIN SET threads = 1", "EXPLAIN CREATE TABLE x AS SELECT 1", "EXPLAIN (ANALYZE) CREATE TABLE x AS SELECT 1", "EXPLAIN CHECKPOINT", "EXPLAIN PREPARE p AS SELECT 1",
	"WITH x AS (INSERT INTO victim VALUES (1) RETURNING *) FROM x", "WITH x AS (DELETE FROM victim RETURNING *) SELECT * FROM x", "(DROP TABLE victim)", "(INSERT INTO victim VALUES (1))", "WITH x AS (SELECT 1) COPY x TO '/tmp/x'",
	"INSERT INTO __ducklake_metadata_lake.ducklake_snapshot VALUES (1)", "DELETE FROM __ducklake_metadata_lake.ducklake_snapshot", "DROP TABLE __ducklake_metadata_lake.ducklake_snapshot", "DROP SCHEMA __ducklake_metadata_lake.main CASCADE",
	"UPDATE __ducklake_metadata_lake.main.ducklake_table SET path = '/etc'", "TRUNCATE __ducklake_metadata_lake.ducklake_table", "ALTER TABLE __ducklake_metadata_lake.ducklake_table RENAME TO x",
	"MERGE INTO __ducklake_metadata_lake.ducklake_table USING (SELECT 1 AS a) s ON false WHEN NOT MATCHED THEN INSERT DEFAULT VALUES", "CREATE TABLE __ducklake_metadata_lake.x(a int)", "CREATE VIEW __ducklake_metadata_lake.x AS SELECT 1",
	"CREATE TABLE memory.x(a INTEGER)", "CREATE TABLE memory.main.x(a INTEGER)", "CREATE VIEW memory.x AS SELECT 1", "CREATE MACRO memory.main.x() AS 1", "CREATE SCHEMA memory.x", "CREATE TABLE vega.x(a INTEGER)", "CREATE TABLE vega.main.x(a INTEGER)",
	"CREATE VIEW vega.x AS SELECT 1", "CREATE SCHEMA vega.x", "INSERT INTO vega.jobs VALUES ('x', 'y')", "DELETE FROM vega.jobs", "UPDATE vega.main.jobs SET state = 'x'", "TRUNCATE vega.jobs", "DROP TABLE vega.jobs", "ALTER TABLE vega.jobs ADD COLUMN x INTEGER",
	"COMMENT ON TABLE vega.jobs IS 'x'", "CREATE SCHEMA vega", "CREATE SCHEMA lake", "CREATE SCHEMA temp", "CREATE SCHEMA system", "CREATE SCHEMA memory", "CREATE SCHEMA pg_catalog", "CREATE SCHEMA __ducklake_metadata_x", `CREATE SCHEMA "VEGA"`,
	"CREATE TABLE system.main.x(a INTEGER)", "CREATE MACRO read_blob(x) AS x", "CREATE MACRO set_option(a, b) AS TABLE SELECT 1", "CREATE MACRO snapshots() AS TABLE SELECT 1", "CREATE TEMP MACRO table_changes(a, b, c) AS TABLE SELECT 1",
	`CREATE TABLE "x.parquet"(a INTEGER)`, `CREATE TABLE "/data/x"(a INTEGER)`, `CREATE VIEW "x.csv" AS SELECT 1`, `ALTER TABLE t RENAME TO "t.parquet"`, `CREATE TEMP TABLE "y.json.gz"(a INTEGER)`, `ALTER VIEW v RENAME TO "*.parquet"`,
	"CREATE TABLE x(a INTEGER DEFAULT nextval('s'))", "CREATE VIEW w AS INSERT INTO t VALUES (1, 'x')", "CREATE VIEW w AS DROP TABLE victim", "CREATE TABLE w AS CALL pragma_version()",
	"CREATE UNLOGGED TABLE x(a INTEGER)", "CREATE PERSISTENT TABLE x(a INTEGER)", "DROP TABLE t, victim", "SELECT * FROM t AT (VERSION => f(1))", "SELECT 1 + AT (VERSION => 1)",
	"GRANT ALL ON t TO x", "SAVEPOINT a", "KILL 1", "LISTEN x", "DO $$ x $$", "SELECT 1 INTO x", "SHOW VARIABLES", "DESCRIBE '/etc/passwd'", "SUMMARIZE '/etc/passwd'", "SHOW __ducklake_metadata_lake.ducklake_table",
	"DESCRIBE __ducklake_metadata_lake.ducklake_table", "SHOW TABLES FROM __ducklake_metadata_lake", "SELECT * FROM t\x00; DROP TABLE victim", "SELECT '\xff'", "RESET search", "SET TimeZone = 'Nowhere'", "SET TimeZone = 1", "SET vega.x = (SELECT 1)",
}

func TestEscapesAreRefused(t *testing.T) {
	lake, host, data := prison(t)
	_, s := newGate(t, lake)
	before := lake.fingerprint()
	lake.must("USE lake.main")
	try := func(sql string) {
		t.Helper()
		a, err := s.Analyze(context.Background(), sql, Env{Catalog: "lake", Schema: "main"})
		if err != nil {
			if code := fault.CodeOf(err); code == nil || code == fault.InternalError {
				t.Errorf("%s\n\t%v", sql, err)
			}
			return
		}
		lake.harmless(a, before)
		switch {
		case a.Kind == Describe, a.Kind == Explain && !a.Execute, a.Kind == Select && strings.Contains(sql, "(DESCRIBE "):
			// The columns of a system view are no secret, and nothing of it is read.
		case a.Kind == CreateMacro:
			// DuckDB binds a macro's body when it is used, and so does the gate.
			lake.useless(s, a)
		default:
			t.Errorf("admitted: %s", sql)
		}
	}
	for _, sql := range forbidden {
		try(sql)
	}
	for _, source := range sources(host, data) {
		for _, wrap := range wraps {
			try(fmt.Sprintf(wrap, source))
		}
	}
	for _, value := range values(host) {
		for _, wrap := range exprWraps {
			try(fmt.Sprintf(wrap, value))
		}
	}
}

// fingerprint is the lake's content, its files and the instance's catalogs.
func (r *realLake) fingerprint() string {
	var b strings.Builder
	for _, sql := range []string{
		"SELECT database_name FROM duckdb_databases() ORDER BY 1", "SELECT database_name, schema_name, table_name FROM duckdb_tables() ORDER BY ALL",
		"SELECT name, value FROM duckdb_settings() WHERE name NOT IN ('schema', 'search_path') ORDER BY 1", "FROM lake.main.victim", "FROM lake.main.t ORDER BY ALL", "SELECT count(*) FROM lake.sales.orders",
	} {
		fmt.Fprintln(&b, r.rows(sql))
	}
	_ = filepath.Walk(r.dir, func(path string, _ os.FileInfo, _ error) error {
		fmt.Fprintln(&b, path)
		return nil
	})
	return b.String()
}

// harmless runs an admitted statement for real and looks what it told and did.
func (r *realLake) harmless(a *Analysis, before string) {
	r.t.Helper()
	if a.Kind.Transaction() || a.Effect != nil {
		return
	}
	rows, err := r.conn.Rows(context.Background(), "USE lake.main; "+a.SQL, make([]any, len(a.Params))...)
	told := fmt.Sprint(rows)
	if err != nil {
		told += err.Error()
	}
	for _, secret := range []string{hostSecret, deletedSecret, r.dir} {
		if strings.Contains(told, secret) {
			r.t.Errorf("\tand it told %q", secret)
		}
	}
	if after := r.fingerprint(); a.ReadOnly && after != before {
		was := strings.Split(before, "\n")
		for i, line := range strings.Split(after, "\n") {
			if i >= len(was) || line != was[i] {
				r.t.Fatalf("%s\n\tchanged something: %.300s", a.SQL, line)
			}
		}
	}
}

// useless makes an admitted macro for real and shows that no statement may use it.
func (r *realLake) useless(s *Session, a *Analysis) {
	r.t.Helper()
	ctx := context.Background()
	if len(a.Creates) != 1 || a.Creates[0].Catalog == tempCatalog {
		r.t.Errorf("admitted: %s", a.SQL)
		return
	}
	if _, err := r.conn.Exec(ctx, "USE lake.main; "+a.SQL); err != nil {
		return
	}
	if err := s.gate.Sync(ctx, r); err != nil {
		r.t.Fatal(err)
	}
	for _, use := range []string{"SELECT w()", "FROM w()", "SELECT w(1)", "DESCRIBE FROM w()"} {
		if b, err := s.Analyze(ctx, use, Env{}); err == nil && b.Kind != Describe {
			r.t.Errorf("admitted: %s after %s", use, a.SQL)
		}
	}
	kind := "MACRO"
	if a.Creates[0].Type == TableMacroObject {
		kind = "MACRO TABLE"
	}
	r.must("DROP " + kind + " lake.main.w")
}

// Stored texts that another program wrote into the lake.
func TestForeignObjectsAreChecked(t *testing.T) {
	outside := t.TempDir()
	host := filepath.Join(outside, "host.csv")
	if err := os.WriteFile(host, []byte("a\n"+hostSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lake, _, _ := prison(t,
		"CREATE VIEW evil AS SELECT * FROM read_csv('"+host+"')",
		"CREATE VIEW evil_file AS SELECT * FROM '"+host+"'",
		"CREATE VIEW evil_meta AS SELECT * FROM __ducklake_metadata_lake.ducklake_table",
		"CREATE VIEW evil_settings AS SELECT * FROM duckdb_settings()",
		"CREATE VIEW over AS SELECT * FROM evil",
		"CREATE VIEW over_over AS SELECT * FROM over",
		"CREATE MACRO evil_macro(f) AS (SELECT content FROM read_text(f))",
		"CREATE MACRO evil_table(f) AS TABLE SELECT * FROM read_text(f)",
		"CREATE MACRO abs(x) AS (SELECT content FROM read_text('"+host+"'))",
		"CREATE MACRO sales.lower(x) AS (SELECT max(content) FROM read_blob('"+host+"'))",
		"CREATE MACRO innocent(x) AS abs(x)",
		"CREATE VIEW uses_macro AS SELECT abs(a) AS x FROM t",
		"CREATE MACRO set_option(a, b) AS TABLE SELECT 1",
		"CREATE TABLE main.shadowed(a INTEGER)",
		"CREATE VIEW sales.shadowed AS SELECT * FROM '"+host+"'",
		"CREATE VIEW broken AS SELECT * FROM victim",
		"CREATE TABLE lost(a INTEGER)", "CREATE VIEW dangling AS SELECT * FROM lost", "DROP TABLE lost",
		`CREATE TABLE "sneaky.csv"(a INTEGER)`,
	)
	g, s := newGate(t, lake)
	before := lake.fingerprint()
	ctx := context.Background()
	for _, c := range []struct{ schema, sql string }{
		{"main", "FROM evil"}, {"main", "SELECT count(*) FROM evil"}, {"main", "DESCRIBE evil"}, {"main", "SHOW evil"}, {"main", "EXPLAIN DESCRIBE FROM evil"}, {"main", "SUMMARIZE evil"}, {"main", "FROM evil_file"}, {"main", "FROM evil_meta"}, {"main", "FROM evil_settings"},
		{"main", "FROM over"}, {"main", "FROM over_over"}, {"main", "SELECT evil_macro('" + host + "')"}, {"main", "FROM evil_table('" + host + "')"}, {"main", "SELECT abs(-1)"}, {"main", "SELECT lake.main.abs(-1)"},
		{"main", "SELECT (-1).abs()"}, {"sales", "SELECT lower('X')"}, {"main", "SELECT sales.lower('X')"}, {"main", "SELECT innocent(1)"}, {"main", "FROM uses_macro"}, {"main", "FROM lake.set_option('a', 'b')"},
		{"sales", "FROM shadowed"}, {"main", "FROM sales.shadowed"}, {"main", "FROM dangling"}, {"main", `FROM "sneaky.csv"`}, {"main", `INSERT INTO "sneaky.csv" VALUES (1)`}, {"main", "CREATE VIEW w AS FROM evil"},
		{"main", "CREATE TABLE w AS FROM over"}, {"main", "INSERT INTO t SELECT 1, 'x' FROM evil"}, {"main", "EXPLAIN ANALYZE FROM evil"}, {"main", "CREATE MACRO w(x) AS evil_macro(x)"}, {"main", "WITH x AS (FROM over_over) FROM x"},
		{"main", "DELETE FROM t WHERE a IN (SELECT 1 FROM evil)"}, {"main", "SET VARIABLE x = (SELECT count(*) FROM evil)"}, {"main", "SELECT t.a FROM t WHERE EXISTS (FROM evil)"},
	} {
		a, err := s.Analyze(ctx, c.sql, Env{Catalog: "lake", Schema: c.schema})
		if err == nil {
			t.Errorf("admitted: %s", c.sql)
			lake.harmless(a, before)
		} else if code := fault.CodeOf(err); code == nil || code == fault.InternalError {
			t.Errorf("%s\n\t%v", c.sql, err)
		}
	}
	// They can be dropped and replaced, and what has nothing to do with them works.
	for _, sql := range []string{"DROP VIEW evil", "CREATE OR REPLACE VIEW evil AS SELECT 1 AS x", "DROP MACRO abs", "FROM broken", "FROM main.shadowed", "SELECT upper('x')", "FROM t AS evil_twin", "DROP VIEW dangling"} {
		if _, err := s.Analyze(ctx, sql, Env{}); err != nil {
			t.Errorf("%s\n\t%v", sql, err)
		}
	}
	// Once the bad one is gone its name is free again.
	lake.must("DROP MACRO lake.main.abs")
	if err := g.Sync(ctx, lake); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"SELECT abs(-1)", "SELECT innocent(1)", "FROM uses_macro"} {
		if _, err := s.Analyze(ctx, sql, Env{}); err != nil {
			t.Errorf("%s\n\t%v", sql, err)
		}
	}
}

// A table that goes away between the analysis and the run must not turn into a file.
func TestCodesOfRefusals(t *testing.T) {
	_, s := newGate(t, newRealLake(t, sales...))
	for _, c := range []struct {
		sql  string
		code *fault.Code
		at   int
	}{
		{"select * from nothing", fault.ObjectNotFound, 14},
		{"select\n  nocolumn\nfrom t", fault.SQLError, 9},
		{"selct 1", fault.SyntaxError, 0},
		{"select from where", fault.SyntaxError, 12},
		{"select 'x", fault.SyntaxError, 7},
		{"select 1, read_blob('x')", fault.StatementForbidden, 10},
		{"create table t(a int)", fault.ObjectExists, fault.NoPosition},
		{"insert into nothing values (1)", fault.ObjectNotFound, 12},
		{"set threads = 4", fault.UnknownOption, 4},
		{"attach 'x'", fault.StatementForbidden, 0},
		{"from 'x.csv'", fault.StatementForbidden, fault.NoPosition},
		{"pivot t on a using count(*)", fault.NotYetSupported, fault.NoPosition},
	} {
		_, err := s.Analyze(context.Background(), c.sql, Env{})
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != c.code || f.Position != c.at {
			t.Errorf("%s: %v (at %v)", c.sql, err, f)
		}
	}
}
