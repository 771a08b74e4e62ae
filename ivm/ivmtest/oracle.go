package ivmtest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// oracle is DuckDB with plain tables in memory. One thread: what floating point gives then depends on the rows alone.
type oracle struct {
	db   *duck.DB
	conn *duck.Conn
	zone string
}

func openOracle(config map[string]string) (*oracle, error) {
	all := map[string]string{"threads": "1", "memory_limit": "4GB", "temp_directory": "",
		// Of more rows than that an ASOF join sorts, and then NULL finds a partner, which it does not find otherwise.
		"asof_loop_join_threshold": "100000000",
		// It filters rows before a LIMIT takes its choice of them.
		"disabled_optimizers": "join_filter_pushdown"}
	for k, v := range config {
		all[k] = v
	}
	db, err := duck.Open("", duck.Options{Config: all})
	if err != nil {
		return nil, err
	}
	conn, err := db.Connect()
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &oracle{db: db, conn: conn}, nil
}

func (o *oracle) close() error { return errors.Join(o.conn.Close(), o.db.Close()) }

func (o *oracle) exec(ctx context.Context, sql string) error {
	_, err := o.conn.Exec(ctx, sql)
	return err
}

// read runs a query and gives its rows as they are, binary.
func (o *oracle) read(ctx context.Context, sql, zone string) (_ *zset.Batch, err error) {
	if zone == "" {
		zone = "UTC"
	}
	if zone != o.zone {
		if err := o.exec(ctx, "SET TimeZone = '"+zone+"'"); err != nil {
			return nil, err
		}
		o.zone = zone
	}
	if outerASOF.MatchString(sql) { // with one thread it may wait for itself for ever
		if err := o.exec(ctx, "SET threads = 2"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, o.exec(context.WithoutCancel(ctx), "SET threads = 1")) }()
	}
	return Read(ctx, o.conn, sql)
}

var outerASOF = regexp.MustCompile(`(?i)\basof\s+(right|full)\b`)

// Read runs a query and gives its rows as they are, binary.
func Read(ctx context.Context, conn *duck.Conn, sql string) (_ *zset.Batch, err error) {
	stmt, err := conn.Prepare(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	var types []row.Type
	for _, c := range stmt.Columns() {
		if c.Type == "" {
			c.Type = `"NULL"`
		}
		t, err := row.ParseType(c.Type)
		if err != nil {
			return nil, err
		}
		types = append(types, t)
	}
	out := zset.New(row.NewLayout(types...))
	r, err := stmt.Query(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for r.Next() {
		rec := r.RecordBatch()
		if out.Words, err = out.Layout.FromArrow(out.Words, out.Heap, rec); err != nil {
			return nil, err
		}
		for range rec.NumRows() {
			out.Weights = append(out.Weights, 1)
		}
	}
	return out, r.Err()
}

var collated = regexp.MustCompile(`(?i)"?(\w+)"? VARCHAR COLLATE (\w+)`)

// source describes a table of the oracle as a view's source.
func (o *oracle) source(ctx context.Context, schema, table string) (*plan.Source, error) {
	rows, err := o.conn.Rows(ctx, `SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = ? AND table_name = ? ORDER BY column_index`, schema, table)
	if err != nil {
		return nil, err
	}
	s := &plan.Source{Schema: "main", Name: table}
	text, err := o.conn.Rows(ctx, `SELECT sql FROM duckdb_tables() WHERE schema_name = ? AND table_name = ?`, schema, table)
	if err != nil {
		return nil, err
	}
	collation := map[string]string{}
	for _, m := range collated.FindAllStringSubmatch(fmt.Sprint(text[0][0]), -1) {
		collation[m[1]] = m[2]
	}
	for i, r := range rows {
		t, err := row.ParseType(r[1].(string))
		if err != nil {
			return nil, err
		}
		t.Collation = collation[r[0].(string)]
		s.Columns = append(s.Columns, plan.TableColumn{ID: int64(i + 1), Name: r[0].(string), Type: t})
	}
	keys, err := o.conn.Rows(ctx, `SELECT array_to_string(constraint_column_names, chr(0)) FROM duckdb_constraints()
		WHERE schema_name = ? AND table_name = ? AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')`, schema, table)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		s.Keys = append(s.Keys, strings.Split(k[0].(string), "\x00"))
	}
	return s, nil
}

// clockCalls are the ways in which scripts name the clock.
var clockCalls = []struct {
	call *regexp.Regexp
	typ  string
}{
	{regexp.MustCompile(`(?i)\bnow\(\)|\bcurrent_timestamp\b`), "TIMESTAMPTZ"},
	{regexp.MustCompile(`(?i)\bcurrent_date\b|\btoday\(\)`), "DATE"},
	{regexp.MustCompile(`(?i)\blocaltimestamp\b`), "TIMESTAMP"},
}

// at is the query with the clock standing still.
func at(sql string, now int64) string {
	for _, c := range clockCalls {
		sql = c.call.ReplaceAllString(sql, fmt.Sprintf("CAST(make_timestamptz(%d::BIGINT) AS %s)", now, c.typ))
	}
	return sql
}
