package ivmtest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// matrixColumns are a column of each type, with the value of row i.
var matrixColumns = []struct{ name, sql, value string }{
	{"i8", "TINYINT", "(i % 5 - 2)"},
	{"i32", "INTEGER", "(i * 7 % 11 - 3)"},
	{"i64", "BIGINT", "(i * 1000000007 % 13)"},
	{"u32", "UINTEGER", "(i % 4)"},
	{"u64", "UBIGINT", "(i % 3 + 9223372036854775807::UBIGINT)"},
	{"i128", "HUGEINT", "((i % 6 - 3) * 10000000000000000000000::HUGEINT)"},
	{"f32", "FLOAT", "(i % 8 / 4.0)"},
	{"f64", "DOUBLE", "CASE i % 9 WHEN 7 THEN '-0.0'::DOUBLE ELSE i % 8 / 8.0 END"},
	{"dec4", "DECIMAL(4,1)", "(i % 7 - 1.5)"},
	{"dec18", "DECIMAL(18,3)", "(i % 7 * 1001.125)"},
	{"dec38", "DECIMAL(38,2)", "(i % 5 * 123456789012345678901234.55)"},
	{"b", "BOOLEAN", "(i % 3 = 0)"},
	{"s", "VARCHAR", "CASE WHEN i % 4 = 0 THEN 'a long text that is kept apart ' || i % 3 ELSE chr(97 + (i % 5)::INTEGER) END"},
	{"bl", "BLOB", "encode('x' || i % 4)"},
	{"d", "DATE", "(DATE '2024-02-27' + (i % 6)::INTEGER)"},
	{"ts", "TIMESTAMP", "(TIMESTAMP '2024-02-28 23:00:00' + INTERVAL 30 MINUTE * (i % 5))"},
	{"tz", "TIMESTAMPTZ", "(TIMESTAMPTZ '2024-03-10 00:00:00+00' + INTERVAL 6 HOUR * (i % 5))"},
	{"tm", "TIME", "(TIME '12:00:00' + INTERVAL 1 MINUTE * (i % 5))"},
	{"iv", "INTERVAL", "(INTERVAL 1 DAY * (i % 4) + INTERVAL 1 HOUR * (i % 3))"},
	{"id", "UUID", "('00000000-0000-0000-0000-00000000000' || i % 7)::UUID"},
	{"e", "ENUM('z', 'y', 'x')", "CASE i % 3 WHEN 0 THEN 'x' WHEN 1 THEN 'y' ELSE 'z' END"},
	{"n", "VARCHAR COLLATE NOCASE", "CASE WHEN i % 2 = 0 THEN 'A' ELSE 'b' END"},
	{"l", "INTEGER[]", "[i % 3, NULL, 1]"},
	{"st", "STRUCT(p INTEGER, q VARCHAR)", "{'p': i % 3, 'q': CASE WHEN i % 2 = 0 THEN 'x' END}"},
}

func matrixTable(name string) string {
	cols := []string{"k INTEGER", "g INTEGER"}
	for _, c := range matrixColumns {
		cols = append(cols, c.name+" "+c.sql)
	}
	return fmt.Sprintf("CREATE TABLE %s (%s)", name, strings.Join(cols, ", "))
}

// matrixRows inserts rows from..to-1; every fifth value is NULL, and g goes through four groups and NULL.
func matrixRows(name string, from, to int) string {
	vals := []string{"i", "CASE WHEN i % 5 = 4 THEN NULL ELSE i % 5 END"}
	for n, c := range matrixColumns {
		vals = append(vals, fmt.Sprintf("CASE WHEN (i + %d) %% 5 = 0 THEN NULL ELSE %s END", n, c.value))
	}
	return fmt.Sprintf("INSERT INTO %s SELECT %s FROM range(%d, %d) r(i)", name, strings.Join(vals, ", "), from, to)
}

// matrixHistory hits groups, moves rows between them and empties them.
func matrixHistory(name string) []string {
	all := func(column string) string {
		var set []string
		for _, c := range matrixColumns {
			set = append(set, fmt.Sprintf("%s = (SELECT any_value(o.%s) FROM %s o WHERE o.k = %s)", c.name, c.name, name, column))
		}
		return strings.Join(set, ", ")
	}
	return []string{
		matrixRows(name, 0, 3),
		matrixRows(name, 3, 16),
		"UPDATE " + name + " SET g = 1 WHERE k % 4 = 0",
		"INSERT INTO " + name + " SELECT * FROM " + name + " WHERE k % 3 = 0",
		"UPDATE " + name + " SET " + all("5") + " WHERE k % 6 = 1",
		"DELETE FROM " + name + " WHERE g = 1 OR k = 7",
		"UPDATE " + name + " SET g = NULL WHERE g = 2; " + matrixRows(name, 20, 24),
		"DELETE FROM " + name + " WHERE k < 21",
		"DELETE FROM " + name,
		matrixRows(name, 1, 4),
	}
}

// matrix is views over tables with one history.
type matrix struct {
	t        *testing.T
	lab      *Lab
	cases    int
	refusals map[string]string
	options  map[string]Options // of views that leave a choice, or whose values cancel
}

// binds says that DuckDB takes a query over the tables.
func (m *matrix) binds(sql string) bool {
	return m.lab.Exec(m.t.Context(), "EXPLAIN "+sql) == nil
}

// world runs views over tables.
func (m *matrix) world(tables []string, views map[string]string, order []string, steps []string) {
	ctx := m.t.Context()
	w, err := m.lab.World(ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	w.Split = 7
	for _, ddl := range tables {
		if err := w.Table(ctx, ddl, false); err != nil {
			m.t.Fatal(err)
		}
	}
	for _, name := range order {
		if !m.binds(views[name]) {
			continue
		}
		_, err := w.View(ctx, name, views[name], m.options[name])
		var why *Refused
		switch {
		case errors.As(err, &why):
			m.refusals[name] = why.Reasons[0].String()
		case err != nil:
			m.t.Errorf("%s: %v", name, err)
			if v := w.Named(name); v != nil {
				w.forget(v)
			}
		default:
			m.cases++
		}
	}
	for i, dml := range steps {
		if err := w.Exec(ctx, dml); err != nil {
			m.t.Fatalf("step %d: %v", i+1, err)
		}
		deltas, err := w.deltas(ctx)
		if err != nil {
			m.t.Fatal(err)
		}
		for _, v := range append([]*View{}, w.views...) {
			if err := v.step(ctx, deltas); err != nil {
				m.t.Errorf("step %d (%.40s): %v", i+1, dml, err)
				w.forget(v)
			}
		}
	}
	if err := w.Close(ctx); err != nil {
		m.t.Error(err)
	}
}

// report compares what is refused with the list of it.
func (m *matrix) report() {
	m.t.Logf("%d cases", m.cases)
	var lines []string
	for name, why := range m.refusals {
		lines = append(lines, name+": "+why)
	}
	golden(m.t, lines)
}

// golden compares the queries that a test saw refused with testdata/refused; -rewrite writes the file.
func golden(t *testing.T, lines []string) {
	t.Helper()
	slices.Sort(lines)
	got := strings.Join(lines, "\n")
	if got != "" {
		got += "\n"
	}
	file := filepath.Join("testdata", "refused", t.Name()+".txt")
	if f := flag.Lookup("rewrite"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("what is refused has changed (-rewrite accepts it):\n%s", cut(got, 40))
	}
}

// matrixAggregates are calls of each aggregate function; %s is a column.
var matrixAggregates = []string{
	"count(%s)", "sum(%s)", "avg(%s)", "min(%s)", "max(%s)", "bool_and(%s)", "bool_or(%s)", "bit_and(%s)", "bit_or(%s)", "bit_xor(%s)", "bitstring_agg(%s, -3, 12)",
	"string_agg(%[1]s, '|' ORDER BY %[1]s)", "list(%[1]s ORDER BY %[1]s)", "median(%s)", "mode(%s)", "quantile_disc(%s, 0.25)", "quantile_cont(%s, 0.75)",
	"stddev(%s)", "stddev_pop(%s)", "var_samp(%s)", "var_pop(%s)", "skewness(%s)", "kurtosis(%s)", "kurtosis_pop(%s)", "entropy(%s)", "product(%s)",
	"arg_min(%s, k)", "arg_max(%s, k)", "arg_min_null(%s, k)", "arg_max_null(%s, k)", "arg_min_nulls_last(%s, k)", "arg_max_nulls_last(%s, k)", "arg_min(k, %s) IS NULL",
	"first(%s ORDER BY k)", "last(%s ORDER BY k)", "any_value(%s ORDER BY k)", "count_if(%s IS NULL)", "histogram(%s)", "histogram_exact(%s, [1, 2])",
	"covar_pop(%s, k)", "covar_samp(%s, k)", "corr(%s, k)", "regr_slope(%s, k)", "regr_count(%s, k)", "regr_intercept(%s, k)", "regr_r2(%s, k)",
	"regr_avgx(%s, k)", "regr_avgy(%s, k)", "regr_sxx(%s, k)", "regr_sxy(%s, k)", "regr_syy(%s, k)", "mad(%s)", "sem(%s)", "favg(%s)", "kahan_sum(%s)",
	"min(%s, 2)", "max(%s, 2)", "arg_max(%s, k, 2)", "approx_count_distinct(%s)",
}

// TestTheMatricesHaveEveryFunction asks DuckDB for its aggregate and window functions: they are in the matrices under one of their names, or are refused.
func TestTheMatricesHaveEveryFunction(t *testing.T) {
	l := newLab(t, nil)
	rows, err := l.Rows(t.Context(), `SELECT DISTINCT coalesce(alias_of, function_name) FROM duckdb_functions() WHERE function_type = 'aggregate' AND database_name = 'system' ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	calls := strings.Join(matrixAggregates, " ") + " " + strings.Join(matrixWindows, " ")
	others := map[string]string{
		"count_star": "count(*)", "rank_dense": "dense_rank()", "stddev_samp": "stddev(", "sum_no_overflow": "", // the last is for DuckDB's own use
		"approx_quantile": "approx_quantile(i, 0.5)", "approx_top_k": "approx_top_k(i, 2)", "reservoir_quantile": "reservoir_quantile(i, 0.5)",
	}
	w, err := l.World(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Table(t.Context(), "CREATE TABLE t (i INTEGER)", false); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		name := r[0].(string)
		other, known := others[name]
		if known && other == "" || strings.Contains(calls, " "+name+"(") || strings.HasPrefix(calls, name+"(") || known && strings.Contains(calls, " "+other) {
			continue
		}
		_, err := w.View(t.Context(), name, "SELECT "+other+" AS x FROM t", Options{})
		var why *Refused
		if !errors.As(err, &why) {
			t.Errorf("%s is in no matrix: %v", name, err)
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// modes are the most frequent values of a column, in each group or in all; of distinct ones, all are.
func modes(column string, grouped, distinct bool) Options {
	by, keys := "", "true"
	if grouped {
		by, keys = "g, ", "g"
	}
	most := fmt.Sprintf(" QUALIFY times = max(times) OVER (%s)", strings.Replace(by, "g, ", "PARTITION BY g", 1))
	if distinct {
		most = ""
	}
	return Options{Within: &Within{Keys: keys, Of: fmt.Sprintf(`SELECT %[2]sc FROM (SELECT %[2]s%[1]s AS c, count(*) AS times FROM t WHERE %[1]s IS NOT NULL GROUP BY ALL)%[3]s
		UNION ALL SELECT %[2]sany_value(%[1]s) FROM t %[4]s HAVING count(%[1]s) = 0`, column, by, most, map[bool]string{true: "GROUP BY g"}[grouped])}}
}

func TestAggregateMatrix(t *testing.T) {
	m := &matrix{t: t, lab: newLab(t, nil), refusals: map[string]string{}, options: map[string]Options{}}
	views, order := map[string]string{}, []string{}
	for _, f := range matrixAggregates {
		for _, c := range append([]string{"k"}, names()...) {
			if c == "f64" && strings.Contains(f, "ORDER BY %[1]s") {
				continue // zeros of two signs are equal
			}
			if c == "i128" && strings.HasPrefix(f, "histogram_exact(") {
				continue // what is in none of the bins has 39 digits, which no result carries
			}
			call := fmt.Sprintf(f, c)
			distinct := strings.Replace(call, "("+c, "(DISTINCT "+c, 1)
			columns := []string{call + " AS a", call + " FILTER (WHERE k % 2 = 0) AS f"}
			if strings.HasSuffix(f, " IS NULL") || f == "mode(%s)" {
				columns = columns[:1]
			}
			grouped := func(columns []string) string {
				return "SELECT g, " + strings.Join(columns, ", ") + " FROM t GROUP BY g"
			}
			name := strings.NewReplacer(" ", "_", "'", "", "|", "").Replace(call)
			if f == "mode(%s)" {
				m.options[name], m.options[name+"_all"], m.options[name+"_distinct"] = modes(c, true, false), modes(c, false, false), modes(c, true, true)
			}
			if strings.HasPrefix(f, "regr_intercept(") && c == "dec38" { // the difference of two means of 30 digits
				m.options[name], m.options[name+"_all"] = Options{Scale: 1e30}, Options{Scale: 1e30}
			}
			views[name] = grouped(columns)
			views[name+"_all"] = "SELECT " + strings.Join(columns, ", ") + " FROM t"
			order = append(order, name, name+"_all")
			if !strings.Contains(f, ", k") && !strings.Contains(f, "BY k") && !strings.Contains(f, "IS NULL") {
				views[name+"_distinct"] = grouped([]string{distinct + " AS a"})
				order = append(order, name+"_distinct")
			}
		}
	}
	w := 60 // so many views in a world
	for len(order) > 0 {
		n := min(w, len(order))
		m.bound("t", views, order[:n])
		order = order[n:]
	}
	m.report()
}

func names() []string {
	var out []string
	for _, c := range matrixColumns {
		out = append(out, c.name)
	}
	return out
}

func (m *matrix) bound(table string, views map[string]string, order []string) {
	m.world([]string{matrixTable(table)}, views, order, matrixHistory(table))
}

func TestJoinMatrix(t *testing.T) {
	m := &matrix{t: t, lab: newLab(t, nil), refusals: map[string]string{}}
	kinds := []string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"}
	conditions := map[string]string{
		"equal": "a.g = b.g", "same": "a.g IS NOT DISTINCT FROM b.g", "equal_less": "a.g = b.g AND a.i32 < b.i32", "less": "a.i32 < b.i32", "either": "a.g = b.g OR a.k = b.k",
		"two": "a.g = b.g AND a.i8 = b.i8", "expression": "a.g + 1 = b.i8", "left_only": "a.g = b.g AND a.b", "right_only": "a.g = b.g AND b.b", "mixed_types": "a.i32 = b.dec4", "dates": "a.d = b.ts",
	}
	for _, c := range matrixColumns {
		conditions["key_"+c.name] = fmt.Sprintf("a.%[1]s = b.%[1]s", c.name)
	}
	views, order := map[string]string{}, []string{}
	add := func(name, sql string) { views[name], order = sql, append(order, name) }
	for _, right := range []string{"u", "t"} {
		for _, kind := range kinds {
			columns := "a.k AS ak, b.k AS bk, a.s, b.dec4"
			if kind == "SEMI JOIN" || kind == "ANTI JOIN" {
				columns = "a.k, a.s"
			}
			for name, on := range conditions {
				if right == "t" && strings.HasPrefix(name, "key_") {
					continue
				}
				add(strings.ReplaceAll(kind+"_"+name+"_"+right, " ", "_"), fmt.Sprintf("SELECT %s FROM t a %s %s b ON %s", columns, kind, right, on))
			}
		}
		for _, kind := range []string{"ASOF JOIN", "ASOF LEFT JOIN"} {
			for _, op := range []string{">=", ">", "<=", "<"} {
				add(kind+op+right, fmt.Sprintf("SELECT a.k AS ak, b.k AS bk FROM t a %s (SELECT DISTINCT k, g FROM %s) b ON a.g = b.g AND a.i32 %s b.k", kind, right, op))
			}
		}
		add("cross_"+right, "SELECT a.k AS ak, b.k AS bk FROM t a CROSS JOIN "+right+" b")
		for name, where := range map[string]string{
			"in": "a.g IN (SELECT g FROM R)", "not_in": "a.g NOT IN (SELECT g FROM R)", "not_in_where": "a.g NOT IN (SELECT g FROM R WHERE g IS NOT NULL)",
			"exists": "EXISTS (FROM R b WHERE b.g = a.g AND b.i32 > a.i32)", "not_exists": "NOT EXISTS (FROM R b WHERE b.g = a.g)", "in_or": "a.g IN (SELECT g FROM R) OR a.k > 5",
			"scalar": "a.i32 > (SELECT avg(i32) FROM R)", "scalar_correlated": "a.i32 >= (SELECT max(i32) FROM R b WHERE b.g = a.g)", "count": "(SELECT count(*) FROM R b WHERE b.g = a.g AND b.b) = 1",
			"any": "a.i32 < ANY (SELECT i32 FROM R)", "all": "a.i32 >= ALL (SELECT i32 FROM R WHERE i32 IS NOT NULL)", "not_in_correlated": "a.i32 NOT IN (SELECT i32 FROM R b WHERE b.g = a.g)",
		} {
			add(name+"_"+right, "SELECT a.k, a.g FROM t a WHERE "+strings.ReplaceAll(where, "R", right))
		}
	}
	var steps []string
	left, right := matrixHistory("t"), matrixHistory("u")
	for i := range left { // in turn, and both in one step
		switch i % 3 {
		case 0:
			steps = append(steps, left[i]+"; "+right[i])
		case 1:
			steps = append(steps, left[i], right[i])
		default:
			steps = append(steps, right[i], left[i])
		}
	}
	for len(order) > 0 {
		n := min(60, len(order))
		m.world([]string{matrixTable("t"), matrixTable("u")}, views, order[:n], steps)
		order = order[n:]
	}
	m.report()
}

// matrixWindows are calls of each window function, and of aggregates as such.
var matrixWindows = []string{
	"row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)", "lag(s)", "lag(i32, 2, 0)", "lead(dec4)", "lead(s, 1, 'none')", "lag(i32 IGNORE NULLS)",
	"first_value(s)", "last_value(i32)", "nth_value(dec4, 2)", "first_value(i32 IGNORE NULLS)", "count(*)", "count(s)", "sum(i32)", "sum(dec4)", "sum(i128)", "min(s)", "max(d)", "avg(i32)",
	"bool_or(b)", "string_agg(s, ',')", "list(i32)", "count(DISTINCT i32)", "sum(i32) FILTER (WHERE b)", "stddev(i32)", "median(i32)", "mode(b)", "arg_max(s, k)", "fill(i32)",
}

func TestWindowMatrix(t *testing.T) {
	m := &matrix{t: t, lab: newLab(t, nil), refusals: map[string]string{}}
	frames := []string{"", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", "ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING",
		"ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING", "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
		"GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW", "ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW", "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES",
		"RANGE BETWEEN CURRENT ROW AND 3 FOLLOWING EXCLUDE GROUP"}
	views, order := map[string]string{}, []string{}
	add := func(name, sql string) { views[name], order = sql, append(order, name) }
	for _, f := range matrixWindows {
		for i, frame := range frames {
			over := "PARTITION BY g ORDER BY k " + frame
			add(fmt.Sprintf("%s_frame%d", f, i), fmt.Sprintf("SELECT k, g, %s OVER (%s) AS w FROM (SELECT DISTINCT k, g, s, i32, dec4, i128, d, b FROM t)", f, over))
		}
		add(f+"_desc", fmt.Sprintf("SELECT k, %s OVER (PARTITION BY g, b ORDER BY k DESC) AS w FROM (SELECT DISTINCT k, g, s, i32, dec4, i128, d, b FROM t)", f))
		add(f+"_whole", fmt.Sprintf("SELECT k, %s OVER (ORDER BY k) AS w FROM (SELECT DISTINCT k, g, s, i32, dec4, i128, d, b FROM t)", f))
	}
	for _, c := range names() {
		add("order_"+c, fmt.Sprintf("SELECT k, %[1]s, rank() OVER (PARTITION BY g ORDER BY %[1]s) AS r, dense_rank() OVER (PARTITION BY g ORDER BY %[1]s DESC NULLS LAST) AS d FROM t", c))
		add("partition_"+c, fmt.Sprintf("SELECT k, row_number() OVER (PARTITION BY %[1]s ORDER BY k, g) AS r, count(*) OVER (PARTITION BY %[1]s) AS n FROM (SELECT DISTINCT k, g, %[1]s FROM t)", c))
		add("top_"+c, fmt.Sprintf("SELECT k, g FROM (SELECT DISTINCT k, g, %[1]s FROM t) ORDER BY %[1]s DESC NULLS LAST, k, g LIMIT 3", c))
		add("top_of_group_"+c, fmt.Sprintf("SELECT k, g FROM (SELECT DISTINCT k, g, %[1]s FROM t) QUALIFY row_number() OVER (PARTITION BY g ORDER BY %[1]s NULLS FIRST, k) <= 2", c))
		add("distinct_"+c, fmt.Sprintf("SELECT DISTINCT %s FROM t", c))
		add("except_"+c, fmt.Sprintf("SELECT %[1]s FROM t WHERE k %% 2 = 0 EXCEPT ALL SELECT %[1]s FROM t WHERE k %% 3 = 0", c))
		add("intersect_"+c, fmt.Sprintf("SELECT %[1]s FROM t WHERE k %% 2 = 0 INTERSECT SELECT %[1]s FROM t WHERE k %% 2 = 1", c))
		add("union_"+c, fmt.Sprintf("SELECT %[1]s FROM t WHERE k %% 2 = 0 UNION SELECT %[1]s FROM t WHERE k %% 2 = 1", c))
	}
	for len(order) > 0 {
		n := min(60, len(order))
		m.bound("t", views, order[:n])
		order = order[n:]
	}
	m.report()
}
