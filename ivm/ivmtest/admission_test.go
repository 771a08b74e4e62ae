package ivmtest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// An admission asks of queries whether what is admitted can be built, and nothing else.
type admission struct {
	*testing.T
	lab   *Lab
	world *World

	admitted, refused, invalid int
}

// newAdmission has a world with a column of each type.
func newAdmission(t *testing.T) *admission {
	a := &admission{T: t, lab: newLab(t, nil)}
	var err error
	if a.world, err = a.lab.World(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.world.Drop(context.Background()); err != nil {
			t.Error(err)
		}
		t.Logf("%d queries are admitted, %d refused, %d not bound", a.admitted, a.refused, a.invalid)
	})
	return a
}

func (a *admission) table(ddl string) {
	if err := a.world.Table(a.Context(), ddl, false); err != nil {
		a.Fatal(err)
	}
}

// ask plans and builds a query; bound says whether DuckDB takes it.
func (a *admission) ask(sql string, o Options) (def Definition, bound bool) {
	def, err := a.world.Plan(a.Context(), sql, o)
	if err != nil {
		a.invalid++
		return def, false
	}
	a.built(def)
	return def, true
}

// built fails if the plan's admission is not what building it says.
func (a *admission) built(def Definition) {
	m, err := a.lab.engine.Open(a.Context(), def)
	switch {
	case err == nil && !def.Plan.Admitted():
		a.Errorf("a plan that is refused can be built: %s", def.SQL)
	case err != nil && def.Plan.Admitted():
		a.Errorf("a plan that is admitted cannot be built: %s: %v", def.SQL, err)
	case err != nil:
		a.refused++
	default:
		a.admitted++
	}
	if err == nil {
		if err := m.Close(); err != nil {
			a.Error(err)
		}
	}
}

// admissionColumns are a column of each type that has one in the lake or in a query.
var admissionColumns = map[string]string{
	"BOOLEAN": "b", "TINYINT": "i8", "SMALLINT": "i16", "INTEGER": "i32", "BIGINT": "i64", "HUGEINT": "i128", "UTINYINT": "u8", "USMALLINT": "u16",
	"UINTEGER": "u32", "UBIGINT": "u64", "UHUGEINT": "u128", "FLOAT": "f32", "DOUBLE": "f64", "DECIMAL(4,1)": "d4", "DECIMAL(9,3)": "d9",
	"DECIMAL(18,3)": "d18", "DECIMAL(38,10)": "d38", "VARCHAR": "s", "BLOB": "bl", "BIT": "bt", "DATE": "d", "TIME": "tm", "TIMETZ": "tmz",
	"TIME_NS": "tmn", "TIMESTAMP": "ts", "TIMESTAMP_S": "tss", "TIMESTAMP_MS": "tsms", "TIMESTAMP_NS": "tsns", "TIMESTAMPTZ": "tz", "INTERVAL": "iv",
	"UUID": "id", "JSON": "j", "ENUM('a', 'b')": "e", "BIGNUM": "bn", "INTEGER[]": "li", "VARCHAR[]": "ls", "DOUBLE[]": "lf", "INTEGER[][]": "ll",
	"FLOAT[3]": "a3", "DOUBLE[3]": "ad3", "STRUCT(a INTEGER, b VARCHAR)": "st", "MAP(VARCHAR, INTEGER)": "m", "UNION(n INTEGER, s VARCHAR)": "u",
	"STRUCT(k VARCHAR, v INTEGER)[]": "lst",
}

func admissionTable() string {
	var columns []string
	for typ, name := range admissionColumns {
		columns = append(columns, name+" "+typ)
	}
	slices.Sort(columns)
	return "CREATE TABLE t (g INTEGER, " + strings.Join(columns, ", ") + ")"
}

// standIns are columns for parameters of several types, and constants for those that must be constant.
func standIns(param string) (columns, constants []string) {
	columns = map[string][]string{
		"ANY": {"i32", "s", "f64", "li", "st"}, "T": {"i32", "s"}, "K": {"s"}, "V": {"i32"}, "T[]": {"li", "ls", "lf"}, "ANY[]": {"li", "ls"}, "LIST": {"li", "ls"},
		"T[][]": {"ll"}, "V[]": {"li"}, "K[]": {"ls"}, "ANY[][]": {"ll"}, "DECIMAL": {"d4", "d9", "d18", "d38"}, "STRUCT": {"st"}, "STRUCT()": {"st"},
		"MAP": {"m"}, "MAP(K, V)": {"m"}, "UNION": {"u"}, "ENUM": {"e"}, "ARRAY": {"a3"}, "FLOAT[ANY]": {"a3"}, "DOUBLE[ANY]": {"ad3"}, "TIMESTAMP WITH TIME ZONE": {"tz"},
		"TIME WITH TIME ZONE": {"tmz"}, "STRUCT(K, V)[]": {"lst"}, "LAMBDA": {"lambda x: x", "lambda x: x IS NOT NULL", "lambda x, y: x", "lambda x, y: x IS NULL"},
		"DOUBLE[]": {"lf"},
	}[param]
	if c := admissionColumns[param]; c != "" && columns == nil {
		columns = []string{c}
	}
	constants = map[string][]string{
		"VARCHAR": {"'a'", "'year'", "'%Y-%m-%d'", "'sum'", "'$.a'", "'[a-c]'", "'UTC'"}, "INTEGER": {"1"}, "BIGINT": {"1"}, "BOOLEAN": {"true"},
		"DOUBLE": {"0.5"}, "VARCHAR[]": {"['year', 'month']", "['$.a', '$.b']"}, "DOUBLE[]": {"[0.5, 0.25]"}, "ANY": {"0.5::DOUBLE", "'string_agg'"}, "T": {"1"}, "DECIMAL": {"0.5"},
	}[param]
	return columns, constants
}

// calls are ways to call a function with those parameters.
func calls(name string, params []string) []string {
	lists := [][]string{nil}
	for _, p := range params {
		columns, constants := standIns(p)
		var next [][]string
		for _, l := range lists {
			for _, c := range append(columns[:len(columns):len(columns)], constants...) {
				next = append(next, append(l[:len(l):len(l)], c))
			}
		}
		if lists = next; len(lists) > 64 {
			lists = lists[:64]
		}
	}
	var out []string
	for _, l := range lists {
		out = append(out, fmt.Sprintf("%s(%s)", name, strings.Join(l, ", ")))
	}
	return out
}

// functions are DuckDB's of a kind: each with the parameters of each of its overloads.
func (a *admission) functions(kind string) (names []string, params [][]string) {
	rows, err := a.lab.Rows(a.Context(), `SELECT function_name, array_to_string(parameter_types, chr(1)), coalesce(varargs, ''), len(parameter_types)
		FROM duckdb_functions() WHERE function_type = '`+kind+`' AND schema_name = 'main' AND database_name = 'system'
		AND NOT starts_with(function_name, '__internal') GROUP BY ALL ORDER BY ALL`)
	if err != nil {
		a.Fatal(err)
	}
	for _, r := range rows {
		var p []string
		if r[3].(int64) > 0 {
			p = strings.Split(r[1].(string), "\x01")
		}
		if v := r[2].(string); v != "" {
			p = append(p, v, v)
		}
		names, params = append(names, `"`+r[0].(string)+`"`), append(params, p)
	}
	return names, params
}

// mostCalls is how many calls of each overload are tried. $FUNCTION tries all of one function.
const mostCalls = 3

// every asks of every way to call each function of a kind, written into queries.
func (a *admission) every(kind string, templates ...string) {
	names, params := a.functions(kind)
	seen := map[string]bool{}
	unbound := map[string]bool{}
	for i, name := range names {
		if only := os.Getenv("FUNCTION"); only != "" && name != `"`+only+`"` {
			continue
		}
		found := 0
		for n, call := range calls(name, params[i]) {
			if n >= mostCalls && os.Getenv("FUNCTION") == "" {
				break
			}
			for k, text := range templates[:shown(n, len(templates))] {
				sql := strings.NewReplacer("CALL", call, "DISTINCT_", strings.Replace(call, "(", "(DISTINCT ", 1), "ORDERED", strings.TrimSuffix(call, ")")+" ORDER BY i64, g DESC)").Replace(text)
				if seen[sql] {
					continue
				}
				seen[sql] = true
				_, bound := a.ask(sql, Options{})
				if bound {
					found++
				} else if k == 0 {
					break
				}
			}
		}
		if found == 0 {
			unbound[name+fmt.Sprint(params[i])] = true
		}
	}
	a.Logf("never bound: %v", unbound)
}

// shown is how many templates the nth call of an overload is written into: all for the first.
func shown(n, all int) int {
	if n == 0 {
		return all
	}
	return 1
}

func TestEveryAggregateThatIsAdmittedIsBuilt(t *testing.T) {
	a := newAdmission(t)
	a.table(admissionTable())
	a.every("aggregate", "SELECT g, CALL AS x FROM t GROUP BY g", "SELECT DISTINCT_ AS x FROM t", "SELECT ORDERED AS x FROM t",
		"SELECT CALL OVER (PARTITION BY g ORDER BY i64) AS x FROM t", "SELECT CALL OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS x FROM t")
}

func TestEveryScalarThatIsAdmittedIsBuilt(t *testing.T) {
	a := newAdmission(t)
	a.table(admissionTable())
	a.every("scalar", "SELECT CALL AS x FROM t")
}
