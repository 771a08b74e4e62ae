package evaluator

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// edges are the values of each type that functions meet: its limits, its special values, and a few plain ones.
var edges = map[string][]string{
	"BOOLEAN":   {"true", "false"},
	"TINYINT":   {"0", "1", "-1", "2", "7", "100", "127", "-128"},
	"SMALLINT":  {"0", "1", "-1", "2", "7", "200", "32767", "-32768"},
	"INTEGER":   {"0", "1", "-1", "2", "7", "46341", "2147483647", "-2147483648"},
	"BIGINT":    {"0", "1", "-1", "2", "7", "3037000500", "-3037000500", "9223372036854775807", "'-9223372036854775808'"},
	"UTINYINT":  {"0", "1", "2", "7", "16", "255"},
	"USMALLINT": {"0", "1", "2", "7", "256", "65535"},
	"UINTEGER":  {"0", "1", "2", "7", "65536", "4294967295"},
	"UBIGINT":   {"0", "1", "2", "7", "4294967296", "9223372036854775808", "18446744073709551615"},
	"HUGEINT": {"0", "1", "-1", "2", "7", "9223372036854775808", "-9223372036854775809",
		"'99999999999999999999999999999999999999'", "'-99999999999999999999999999999999999999'"},
	"UHUGEINT": {"0", "1", "2", "18446744073709551616", "'99999999999999999999999999999999999999'"},
	"FLOAT":    {"0", "'-0.0'", "1", "-1", "0.5", "2.5", "1e-45", "3.4028235e38", "'-inf'", "'inf'", "'nan'"},
	"DOUBLE": {"0", "'-0.0'", "1", "-1", "0.5", "2.5", "-2.5", "1e15", "9007199254740993", "9.3e18", "5e-324", "1.7976931348623157e308",
		"'-inf'", "'inf'", "'nan'"},
	"DECIMAL(4,1)":   {"0", "1", "-1", "0.5", "-0.5", "99.9", "999.9", "-999.9"},
	"DECIMAL(9,3)":   {"0", "1", "-1.5", "0.0005", "999999.999", "-999999.999"},
	"DECIMAL(18,3)":  {"0", "1", "-1", "2.5", "-2.5", "'9007199254740.993'", "'999999999999999.999'", "'-999999999999999.999'"},
	"DECIMAL(18,0)":  {"0", "1", "-1", "9", "'999999999999999999'", "'-999999999999999999'"},
	"DECIMAL(38,10)": {"0", "1", "-1", "0.5", "'9999999999999999999999999999.9999999999'", "'-9999999999999999999999999999.9999999999'"},
	"VARCHAR": {"''", "'a'", "'A'", "'abc'", "'é'", "'日本語テキスト'", "'e' || chr(769)", "'12'", "'-7'", "' 5 '", "'1.5'", "'1e3'", "'true'", "'2024-02-29'",
		"'2024-02-29 12:34:56.789'", "'abcdefghijklm'", "'%a_'", "'a' || chr(0) || 'b'", "'{\"a\": [1, null]}'", "'[1, 2]'", "'%Y-%m-%d'", "'year'", "'99999999999'"},
	"JSON":                     {"'{\"a\": [1, null]}'", "'[1, 2, \"x\"]'", "'null'", "'1.5'", "'\"a\"'"},
	"BLOB":                     {"''::BLOB", "'a'::BLOB", "'abc'::BLOB", "'\\x00\\xFF'::BLOB", "'a long blob of many bytes'::BLOB"},
	"BIT":                      {"'0'", "'1'", "'10101'", "'111111111111111111111111'"},
	"BIGNUM":                   {"0", "-1", "'123456789012345678901234567890123456789012'"},
	"UUID":                     {"'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "'12345678-1234-1234-9234-123456789abc'"},
	"DATE":                     {"'1970-01-01'", "'1969-12-31'", "'2000-02-29'", "'2024-12-30'", "'1900-03-01'", "'0001-01-01'", "'0044-03-15 (BC)'", "'9999-12-31'", "'infinity'", "'-infinity'", "'5881580-07-10'", "'5877642-06-25 (BC)'"},
	"TIME":                     {"'00:00:00'", "'12:34:56.789012'", "'23:59:59.999999'", "'24:00:00'"},
	"TIME_NS":                  {"'00:00:00'", "'12:34:56.789012345'"},
	"TIME WITH TIME ZONE":      {"'00:00:00+00'", "'12:34:56.789+01:30'", "'23:59:59-15:59'", "'11:04:56.789+00'"},
	"TIMESTAMP":                {"'1970-01-01'", "'1969-12-31 23:59:59.999999'", "'2000-02-29 12:34:56.789'", "'2024-12-30 00:00:00'", "'0001-01-01'", "'infinity'", "'-infinity'", "'294247-01-10 04:00:54.775806'", "'290309-12-22 (BC) 00:00:00'"},
	"TIMESTAMP_S":              {"'1970-01-01'", "'2000-02-29 12:34:56'", "'infinity'"},
	"TIMESTAMP_MS":             {"'1970-01-01'", "'2000-02-29 12:34:56.789'", "'-infinity'"},
	"TIMESTAMP_NS":             {"'1970-01-01'", "'2000-02-29 12:34:56.789012345'", "'infinity'"},
	"TIMESTAMP WITH TIME ZONE": {"'1970-01-01 00:00:00+00'", "'2000-02-29 12:34:56.789+02'", "'2024-11-03 08:40:00+00'", "'infinity'", "'-infinity'"},
	"INTERVAL": {"INTERVAL 0 DAY", "INTERVAL 1 DAY", "INTERVAL 1 MONTH", "INTERVAL 30 DAY", "INTERVAL 720 HOUR", "to_months(-13) + to_days(2)", "to_months(1) + to_days(-1) + to_microseconds(5)",
		"to_microseconds(900000000000000)", "to_days(100000000)", "to_months(2147483647) + to_days(2147483647)"},
	"ENUM('a', 'b', 'zz')":              {"'a'", "'zz'"},
	"INTEGER[]":                         {"[]", "[1]", "[1, NULL, 3]", "[3, 2, 1, 2]", "[NULL]"},
	"BIGINT[]":                          {"[]", "[1]", "[1, NULL, 3]"},
	"DOUBLE[]":                          {"[]", "[1.5]", "[1, 'nan'::DOUBLE, 2]", "[0]", "['-0.0'::DOUBLE]"},
	"INTERVAL[]":                        {"[]", "[INTERVAL 1 MONTH]", "[INTERVAL 30 DAY, NULL]", "[INTERVAL 30 DAY]", "[INTERVAL 720 HOUR]"},
	"STRUCT(i INTERVAL, l INTERVAL[])":  {"{i: INTERVAL 1 MONTH, l: NULL}", "{i: INTERVAL 30 DAY, l: NULL}", "{i: NULL, l: [INTERVAL 24 HOUR]}", "{i: NULL, l: [INTERVAL 1 DAY]}"},
	"MAP(INTEGER, INTERVAL)":            {"MAP {1: INTERVAL 1 MONTH}", "MAP {1: INTERVAL 30 DAY}"},
	"FLOAT[]":                           {"[]", "[1.5, 2]"},
	"BOOLEAN[]":                         {"[]", "[true, NULL]"},
	"VARCHAR[]":                         {"[]", "['a']", "['a', NULL, 'a long text of many bytes']", "['b', 'a']"},
	"INTEGER[3]":                        {"[1, 2, 3]", "[1, NULL, 3]"},
	"FLOAT[3]":                          {"[1, 2, 3]", "[0, 0, 0]", "[1, NULL, 3]"},
	"DOUBLE[3]":                         {"[1, 2, 3]", "[0, 0, 0]"},
	"INTEGER[][]":                       {"[]", "[[1], NULL, []]"},
	"STRUCT(a INTEGER, b VARCHAR)":      {"{a: 1, b: 'x'}", "{a: NULL, b: 'a long text of many bytes'}", "{a: NULL, b: NULL}"},
	"STRUCT(a ENUM('x', 'y'), b BIT[])": {"{a: 'x', b: ['101']}", "{a: NULL, b: NULL}"},
	"MAP(VARCHAR, INTEGER)":             {"MAP {}", "MAP {'a': 1}", "MAP {'a': 1, 'b': NULL}"},
	"MAP(INTEGER, INTEGER[])":           {"MAP {}", "MAP {1: [1, NULL]}"},
	"UNION(n INTEGER, s VARCHAR)":       {"union_value(n := 1)", "union_value(s := 'a long text of many bytes')", "union_value(s := NULL::VARCHAR)"},
}

// direct is DuckDB as users have it.
type direct struct {
	testing.TB
	conn *duck.Conn
}

func newDirect(tb testing.TB) direct {
	db, err := duck.Open("", duck.Options{Config: map[string]string{"threads": "1"}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	c, err := db.Connect()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	d := direct{tb, c}
	d.exec("SET TimeZone = 'UTC'")
	d.exec("SET disabled_optimizers = 'statistics_propagation'") // it fails over rows that are filtered out
	return d
}

func (d direct) exec(sql string) {
	if _, err := d.conn.Exec(context.Background(), sql); err != nil {
		d.Fatal(sql, err)
	}
}

// grid makes the table g of all combinations of the types' edges and NULL, at most so many, in columns c0, c1, …, and gives its rows.
func (d direct) grid(types []string, most int) *zset.Batch {
	var from, cols []string
	rows := 1
	for i, t := range types {
		var values []string
		all := append([]string{"NULL"}, edges[t]...)
		if n := []int{0, 99, 30, 20, 8, 5, 4, 3, 3}[min(len(types), 8)]; len(all) > n {
			all = all[len(all)-n:]
			all[0] = "NULL"
		}
		for _, v := range all {
			values = append(values, "(("+v+")::"+t+")")
		}
		rows *= len(values)
		from = append(from, fmt.Sprintf("(VALUES %s) t%d(c%d)", strings.Join(values, ", "), i, i))
		cols = append(cols, fmt.Sprintf("c%d", i))
	}
	d.exec("CREATE OR REPLACE TABLE g AS SELECT row_number() OVER () - 1 AS i, * FROM " + strings.Join(from, ", "))
	if rows > most {
		d.exec(fmt.Sprintf("CREATE OR REPLACE TABLE g AS SELECT row_number() OVER (ORDER BY i) - 1 AS i, * EXCLUDE i FROM g ORDER BY hash(i) LIMIT %d", most))
		d.exec("CREATE OR REPLACE TABLE g AS SELECT row_number() OVER () - 1 AS i, * EXCLUDE i FROM g")
	}
	b, err := d.read("SELECT "+strings.Join(cols, ", ")+" FROM g ORDER BY i", row.NewLayout(row.MustTypes(types...)...))
	if err != nil {
		d.Fatal(types, err)
	}
	return b
}

// small is the grid without large numbers.
func (d direct) small(types []string) *zset.Batch {
	var cols, low []string
	for i, t := range types {
		c := fmt.Sprintf("c%d", i)
		cols = append(cols, c)
		if strings.HasSuffix(t, "INT") || strings.HasSuffix(t, "INTEGER") || t == "DOUBLE" || t == "FLOAT" {
			low = append(low, "abs("+c+"::DOUBLE) <= 100")
		}
		if t == "VARCHAR" && i == 0 {
			low = append(low, c+" NOT LIKE '%|%%' ESCAPE '|'")
		}
		if t == "TIMESTAMP" || t == "TIMESTAMP WITH TIME ZONE" {
			low = append(low, "isfinite("+c+") AND abs(epoch("+c+")) < 1e9")
		}
	}
	if len(low) > 0 {
		d.exec("CREATE OR REPLACE TABLE g AS SELECT row_number() OVER () - 1 AS i, * EXCLUDE i FROM g WHERE " + strings.Join(low, " AND "))
	}
	b, err := d.read("SELECT "+strings.Join(cols, ", ")+" FROM g ORDER BY i", row.NewLayout(row.MustTypes(types...)...))
	if err != nil {
		d.Fatal(types, err)
	}
	return b
}

// read runs a query over Arrow.
func (d direct) read(sql string, l *row.Layout) (b *zset.Batch, err error) {
	return rowsOf(l, func() (*duck.Reader, error) { return d.conn.Query(context.Background(), sql) })
}

// rowsOf takes what a query gives over Arrow.
func rowsOf(l *row.Layout, run func() (*duck.Reader, error)) (b *zset.Batch, err error) {
	defer func() {
		if p := recover(); p != nil && strings.Contains(fmt.Sprint(p), "map array keys") { // Arrow's words for a MAP that is none
			err = errNullKey
		} else if p != nil {
			panic(p)
		}
	}()
	r, err := run()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b = zset.New(l)
	for r.Next() {
		if b.Words, err = l.FromArrow(b.Words, b.Heap, r.RecordBatch()); err != nil {
			return nil, err
		}
	}
	for range len(b.Words) / l.Words {
		b.Weights = append(b.Weights, 1)
	}
	return b, r.Err()
}

// answers are what an expression gives for each row of g: a text, or an error's first line after "!". Where rows fail, TRY says which may be
// those, so that these alone are asked for one by one.
func (d direct) answers(sql string, t row.Type, rows int) []string {
	l := row.NewLayout(t)
	out := make([]string, rows)
	some := func(where string) error {
		at, err := d.conn.Rows(context.Background(), "SELECT i FROM g"+where+" ORDER BY i")
		if err != nil {
			return err
		}
		b, err := d.read("SELECT "+sql+" FROM g"+where+" ORDER BY i", l)
		if err != nil {
			return err
		}
		for k, r := range at {
			out[r[0].(int64)] = l.Format(b.Row(k), b.Heap)
		}
		return nil
	}
	if some("") == nil {
		return out
	}
	void := ""
	for _, c := range columnsOf(d, "g") {
		void += " OR " + c + " IS NULL"
	}
	suspect := "TRY(" + sql + ") IS NULL"
	if some(" WHERE NOT ("+suspect+")") != nil {
		suspect = "true" // it cannot be tried
	}
	if some(" WHERE ("+suspect+") AND (false"+void+")") == nil {
		suspect = "(" + suspect + ") AND NOT (false" + void + ")"
	}
	at, err := d.conn.Rows(context.Background(), "SELECT i FROM g WHERE "+suspect+" ORDER BY i")
	if err != nil {
		d.Fatal(sql, err)
	}
	// Planning a query for each of them would be most of the time.
	one, err := d.conn.Prepare(context.Background(), "SELECT "+sql+" FROM g WHERE i = ?")
	if err == nil {
		defer one.Close()
	}
	for _, r := range at {
		i, why := r[0].(int64), err // without any row it fails as well
		if err == nil {
			var b *zset.Batch
			if b, why = rowsOf(l, func() (*duck.Reader, error) { return one.Query(context.Background(), i) }); why == nil {
				out[i] = l.Format(b.Row(0), b.Heap)
			}
		}
		if why != nil {
			out[i] = "!" + firstLine(why)
		}
	}
	return out
}

// columnsOf are a table's, without the row's number.
func columnsOf(d direct, table string) (out []string) {
	rows, err := d.conn.Rows(context.Background(), "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND column_name <> 'i'", table)
	if err != nil {
		d.Fatal(err)
	}
	for _, r := range rows {
		out = append(out, r[0].(string))
	}
	return out
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	line, _, _ = strings.Cut(line, " when casting from source column")
	return line
}

// evaluated are the answers of a program of one expression.
func evaluated(p *eval.Program, in *zset.Batch) ([]string, error) {
	out := zset.New(p.Out)
	for i := range in.Weights { // to know the rows again
		in.Weights[i] = int64(i + 1)
	}
	answers := make([]string, in.Len())
	err := p.Run(context.Background(), in, out, func(i int, err error) { answers[i] = "!" + firstLine(err) })
	for i, w := range out.Weights {
		answers[w-1] = p.Out.Format(out.Row(i), out.Heap)
	}
	return answers, err
}

// check compares an expression's answers, in Go and by DuckDB, with the direct ones. It says whether there is a path in Go.
func (d direct) check(what, sql string, e plan.Expr, in *zset.Batch) (inGo bool) {
	want := d.answers(sql, e.Result(), in.Len())
	for _, only := range []bool{false, true} {
		p, err := eval.Compile(in.Layout, []plan.Expr{e}, nil, eval.Options{Evaluator: instance, OnlyDuck: only})
		if err != nil {
			d.Errorf("%s: %v", what, err)
			return false
		}
		if !only {
			inGo = p.InGo(0)
		} else if !inGo && only {
			p.Close()
			continue
		}
		got, err := evaluated(p, in)
		p.Close()
		if err != nil {
			d.Errorf("%s: %v", what, err)
			continue
		}
		wrong := 0
		for i := range want {
			if want[i] != got[i] && wrong < 3 && !strings.Contains(want[i], "has 39 digits") && !strings.Contains(want[i], "does not fit a result") && !strings.Contains(want[i], "is no time of day") {
				wrong++
				d.Errorf("%s (only DuckDB: %v) of (%s): %s, not %s", what, only, in.Layout.Format(in.Row(i), in.Heap), got[i], want[i])
			}
		}
	}
	return inGo
}

func deparse(e plan.Expr) string { return eval.Deparse(e) }
