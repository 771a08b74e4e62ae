package ducklake_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// madeTypes are all types that a lake keeps, alone and in others.
var madeTypes = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE", "DECIMAL(4,1)", "DECIMAL(38,10)",
	"VARCHAR", "BLOB", "UUID", "JSON", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_MS", "TIMESTAMP_NS",
	"INTEGER[]", "VARCHAR[][]", `STRUCT(a INTEGER, "B c""d" VARCHAR[], s STRUCT(t TIMESTAMP WITH TIME ZONE))`, "MAP(VARCHAR, DECIMAL(10,2))",
	`MAP(INTEGER, STRUCT("time" TIME, m MAP(UUID, BLOB)[]))[]`, "FLOAT[]",
}

// A table that is made in one commit leaves the rows in the catalog that the extension's statements leave for its twin, and is as good for all that
// is done with it.
func TestCreateIsAsTheExtensionDoesIt(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		l := laketest.New(t, k)
		p := must(l.NewPublisher(ctx))
		c := connect(t, l)
		c.exec(`CREATE SCHEMA "Other ""s"`)
		sets := map[string][]string{"all": madeTypes, "few": {"VARCHAR"}, "nested": {"FLOAT[]"}}
		for set, list := range sets {
			schema := "main"
			if set == "all" {
				schema = `Other "s`
			}
			var defs []string
			var columns []gate.Column
			for i, typ := range list {
				name := fmt.Sprintf(`It's "%d"`, i)
				defs = append(defs, metadata.QuoteIdent(name)+" "+typ)
				columns = append(columns, gate.Column{Name: name, LakeType: typ})
			}
			c.exec(`CREATE TABLE ` + metadata.QuoteIdent(schema) + `.theirs_` + set + `(` + strings.Join(defs, ", ") + `)`)
			info := twinInfo(t, l, schema, "theirs_"+set)
			must(0, p.Prepare(ctx, info))
			made := must(l.Create(ctx, ducklake.NewTable{Schema: schema, Name: "ours_" + set, Comment: "it's ours", Columns: columns, CommitID: "made " + set}, p.Furnish))
			p.Furnished(ctx, made)
			must(0, l.Store().View(ctx, func(tx metadata.Tx) error {
				rows, err := tx.Query(ctx, `SELECT value FROM {M}ducklake_metadata WHERE key = 'auto_compact' AND scope = 'table' AND scope_id = $1`, made.ID)
				if err == nil && (len(rows) != 1 || rows[0][0] != "false") {
					t.Errorf("auto_compact of %s is %v", made.Name, rows)
				}
				return err
			}))
			if now := twinInfo(t, l, schema, "ours_"+set); fmt.Sprint(now) != fmt.Sprint(made) {
				t.Errorf("%s: made as %v, and it is %v", set, made, now)
			}
			if theirs, ours := catalogOf(t, l, info.ID), catalogOf(t, l, made.ID); theirs != ours {
				t.Errorf("%s\ntheirs %s\nours   %s", set, theirs, ours)
			}
			if made.Dir("/") == info.Dir("/") {
				t.Errorf("%s: two tables have the folder %s", set, made.Path)
			}
			c.want(`SELECT comment FROM duckdb_tables() WHERE table_name = 'ours_`+set+`' AND database_name = 'lake'`, "it's ours")
			name := metadata.QuoteIdent(schema) + `.ours_` + set
			c.want(`SELECT count(*) FROM `+name, "0")
			c.exec(`INSERT INTO ` + name + ` SELECT ` + strings.Repeat("NULL, ", len(list)-1) + `NULL FROM range(3)`)
			c.want(`SELECT count(*) FROM `+name, "3")
		}
		text := []gate.Column{{Name: "a", LakeType: "INTEGER"}}
		make := func(schema, name, typ string, also func(context.Context, metadata.Tx, metadata.TableInfo, metadata.Snapshot) error) error {
			text[0].LakeType = typ
			_, err := l.Create(ctx, ducklake.NewTable{Schema: schema, Name: name, Columns: text, CommitID: "refused"}, also)
			return err
		}
		c.exec(`CREATE VIEW seen AS SELECT 1 AS x`)
		before := must(l.Snapshot(ctx)).ID
		fails(t, make("main", "OURS_few", "INTEGER", p.Furnish), fault.ObjectExists)
		fails(t, make("main", "Seen", "INTEGER", p.Furnish), fault.ObjectExists)
		fails(t, make("nowhere", "x", "INTEGER", p.Furnish), fault.ObjectNotFound)
		fails(t, make("main", "x", "INTERVAL", p.Furnish), fault.UnstableType)
		broken := errors.New("broken")
		if err := make("main", "x", "INTEGER", func(context.Context, metadata.Tx, metadata.TableInfo, metadata.Snapshot) error { return broken }); !errors.Is(err, broken) {
			t.Error(err)
		}
		if now := must(l.Snapshot(ctx)).ID; now != before {
			t.Errorf("what was refused made snapshots: %d after %d", now, before)
		}
		c.exec(`DROP TABLE ours_few`)
		must(0, make("main", "ours_few", "INTEGER", p.Furnish))
		c.want(`SELECT count(*) FROM ours_few`, "0")
	})
}

func twinInfo(t *testing.T, l *ducklake.Lake, schema, name string) (info metadata.TableInfo) {
	t.Helper()
	must(0, l.Store().View(ctx, func(tx metadata.Tx) (err error) {
		info, _, err = metadata.TableByName(ctx, tx, schema, name, 0)
		return err
	}))
	return info
}

// catalogOf is what the catalog says of an empty table, without what is its own: names, ids and snapshots.
func catalogOf(t *testing.T, l *ducklake.Lake, id int64) string {
	t.Helper()
	var out []string
	must(0, l.Store().View(ctx, func(tx metadata.Tx) error {
		out = nil
		ask := func(sql string, args ...any) [][]any {
			rows, err := tx.Query(ctx, sql, args...)
			if err != nil {
				return [][]any{{sql, err}}
			}
			return rows
		}
		const created = `(SELECT min(begin_snapshot) FROM {M}ducklake_table WHERE table_id = $1)`
		for _, sql := range []string{
			`SELECT end_snapshot, schema_id, path_is_relative, path LIKE '%/' FROM {M}ducklake_table WHERE table_id = $1`,
			`SELECT column_id, begin_snapshot - ` + created + `, end_snapshot, column_order, column_name, column_type, initial_default, default_value, nulls_allowed,
				parent_column, default_value_type, default_value_dialect FROM {M}ducklake_column WHERE table_id = $1 ORDER BY column_order`,
			`SELECT v.begin_snapshot - ` + created + `, v.schema_version - s.schema_version FROM {M}ducklake_schema_versions v
				JOIN {M}ducklake_snapshot s ON s.snapshot_id = v.begin_snapshot WHERE v.table_id = $1`,
			`SELECT key, value, scope FROM {M}ducklake_metadata WHERE scope_id = $1 AND scope = 'table' AND key <> 'data_inlining_row_limit'`,
			`SELECT count(*) FROM {M}ducklake_table_stats WHERE table_id = $1`,
			`SELECT i.schema_version - v.schema_version FROM {M}ducklake_inlined_data_tables i JOIN {M}ducklake_schema_versions v ON v.table_id = i.table_id WHERE i.table_id = $1`,
			`SELECT s.next_catalog_id - $1, s.schema_version - p.schema_version FROM {M}ducklake_snapshot s
				JOIN {M}ducklake_snapshot p ON p.snapshot_id = s.snapshot_id - 1 WHERE s.snapshot_id = ` + created,
			`SELECT file_id, row_id, begin_snapshot FROM {M}ducklake_inlined_delete_` + fmt.Sprint(id) + ` WHERE row_id <> $1`,
		} {
			out = append(out, fmt.Sprint(ask(sql, id)))
		}
		for _, r := range ask(`SELECT table_name FROM {M}ducklake_inlined_data_tables WHERE table_id = $1`, id) {
			name := r[0].(string)
			if tx.Dialect() == metadata.PostgreSQL {
				out = append(out, fmt.Sprint(ask(`SELECT attname::text, format_type(atttypid, atttypmod)::text, attnotnull FROM pg_attribute
					WHERE attrelid = `+metadata.QuoteLiteral(tx.Table(name))+`::regclass AND attnum > 0 ORDER BY attnum`)))
			} else {
				out = append(out, fmt.Sprint(ask(`DESCRIBE {M}`+metadata.QuoteIdent(name))))
			}
		}
		return nil
	}))
	return strings.Join(out, "\n")
}
