package evaluator

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// stand are the types that stand for DuckDB's generic ones.
var stand = map[string][]string{
	"ANY": {"INTEGER", "VARCHAR", "DOUBLE", "INTEGER[]"}, "T": {"INTEGER", "VARCHAR"}, "K": {"VARCHAR"}, "V": {"INTEGER"},
	"T[]": {"INTEGER[]", "VARCHAR[]", "DOUBLE[]"}, "ANY[]": {"INTEGER[]", "VARCHAR[]"}, "LIST": {"INTEGER[]", "VARCHAR[]"},
	"T[][]": {"INTEGER[][]"}, "V[]": {"INTEGER[]"}, "K[]": {"VARCHAR[]"}, "ANY[][]": {"INTEGER[][]"},
	"DECIMAL": {"DECIMAL(4,1)", "DECIMAL(9,3)", "DECIMAL(18,3)", "DECIMAL(18,0)", "DECIMAL(38,10)"},
	"STRUCT":  {"STRUCT(a INTEGER, b VARCHAR)"}, "MAP": {"MAP(VARCHAR, INTEGER)"}, "MAP(K, V)": {"MAP(VARCHAR, INTEGER)"},
	"UNION": {"UNION(n INTEGER, s VARCHAR)"}, "ENUM": {"ENUM('a', 'b', 'zz')"}, "ARRAY": {"INTEGER[3]", "FLOAT[3]"},
	"FLOAT[ANY]": {"FLOAT[3]"}, "DOUBLE[ANY]": {"DOUBLE[3]"}, "STRUCT()": {"STRUCT(a INTEGER, b VARCHAR)"},
}

// given are constants for arguments that must be constant.
var given = map[string][]plan.Expr{
	"VARCHAR": {constant("VARCHAR", "a"), constant("VARCHAR", "year"), constant("VARCHAR", "%Y-%m-%d %H"), constant("VARCHAR", "sum"), constant("VARCHAR", "$.a"),
		constant("VARCHAR", "[a-c]"), constant("VARCHAR", "UTC")},
	"INTEGER": {constant("INTEGER", int64(1)), constant("INTEGER", int64(2))},
	"BIGINT":  {constant("BIGINT", int64(1)), constant("BIGINT", int64(2))},
	"BOOLEAN": {constant("BOOLEAN", true)},
}

// impure answer by something else than their arguments, or by chance.
var impure = map[string]bool{
	"current_connection_id": true, "current_transaction_id": true, "current_query_id": true, "txid_current": true, "pg_backend_pid": true, "version": true,
	"getvariable": true, "current_setting": true, "age": true, "sleep_ms": true, "write_log": true, "parse_duckdb_log_message": true, "error": true,
	"stats": true, "get_current_time": true, "get_current_timestamp": true, "now": true, "today": true, "current_date": true, "transaction_timestamp": true,
	"current_localtime": true, "current_localtimestamp": true, "in_search_path": true,
}

// growing make a value as large as a number says, so they meet small numbers only.
var growing = map[string]bool{
	"repeat": true, "range": true, "generate_series": true, "lpad": true, "rpad": true, "list_resize": true, "array_resize": true, "bar": true, "bitstring": true,
	"format": true, "printf": true, "to_base": true, "set_bit": true, "<<": true, "factorial": true, "!__postfix": true, "md5_number": true, "equi_width_bins": true,
}

// overload is a function with types of arguments.
type overload struct {
	name string
	args []string
}

// overloads are all that duckdb_functions() lists, with concrete types; those with the same types together.
func overloads(d direct) [][]overload {
	rows, err := d.conn.Rows(context.Background(), `SELECT function_name, array_to_string(parameter_types, chr(1)), coalesce(varargs, ''), len(parameter_types)
		FROM duckdb_functions() WHERE function_type = 'scalar' AND stability <> 'VOLATILE' AND schema_name = 'main'
		GROUP BY ALL ORDER BY ALL`)
	if err != nil {
		d.Fatal(err)
	}
	var out [][]overload
	at := map[string]int{}
	for _, r := range rows {
		name := r[0].(string)
		if impure[name] || strings.HasPrefix(name, "__internal") || strings.HasPrefix(name, "pg_") || strings.HasPrefix(name, "currval") || strings.HasPrefix(name, "nextval") {
			continue
		}
		var params []string
		if r[3].(int64) > 0 {
			params = strings.Split(r[1].(string), "\x01")
		}
		if v := r[2].(string); v != "" {
			params = append(params, v, v)
		}
		tuples := [][]string{nil}
		for _, p := range params {
			types := stand[p]
			if _, ok := edges[p]; ok {
				types = []string{p}
			}
			var next [][]string
			for _, t := range tuples {
				for _, c := range types {
					next = append(next, append(t[:len(t):len(t)], c))
				}
			}
			tuples = next
		}
		for _, t := range tuples {
			types := strings.Join(t, "\x01")
			if _, ok := at[types]; !ok {
				at[types] = len(out)
				out = append(out, nil)
			}
			out[at[types]] = append(out[at[types]], overload{name, t})
		}
	}
	return out
}

// bound finds arguments with which the function binds: fields, or constants where it wants them.
func (d direct) bound(o overload, l *row.Layout) (e *plan.Function, ok bool) {
	try := func(args []plan.Expr) bool {
		e = &plan.Function{Name: o.name, Args: args}
		s, err := d.conn.Prepare(context.Background(), "SELECT "+deparse(e)+" FROM g")
		if err != nil {
			return false
		}
		defer s.Close()
		cs := s.Columns()
		if len(cs) != 1 {
			return false
		}
		e.Type, err = row.ParseType(cs[0].Type)
		return err == nil && e.Type.Kind != row.Null
	}
	args := make([]plan.Expr, len(o.args))
	for i := range args {
		args[i] = col(l, i)
	}
	if try(args) {
		return e, true
	}
	for i := len(args) - 1; i >= 0; i-- { // one constant
		for _, k := range given[o.args[i]] {
			with := append([]plan.Expr{}, args...)
			with[i] = k
			if try(with) {
				return e, true
			}
		}
	}
	for i := 1; i < len(args); i++ { // all behind the first
		ks := given[o.args[i]]
		if len(ks) == 0 {
			return nil, false
		}
		args[i] = ks[0]
	}
	return e, len(args) > 2 && try(args)
}

// elsewhere are functions that nobody writes: DuckDB puts them where structs are cast and where types are made.
var elsewhere = map[string]bool{"remap_struct": true, "make_type": true, "variant_bytes_to_variant": true}

// functionsTried is what became of overloads.
type functionsTried struct {
	tried   map[string]int
	skipped map[string]string
	inGo    map[string]int
}

// grids keeps the grid of the last types.
type grids struct {
	direct
	types string // "": another table is there
	rows  *zset.Batch
}

// of is the grid for an overload's arguments.
func (g *grids) of(o overload) *zset.Batch {
	if types := fmt.Sprint(o.args); g.types != types {
		most := 300
		if len(o.args) > 2 {
			most = 60
		}
		g.types, g.rows = types, g.grid(o.args, most)
	}
	if growing[o.name] {
		g.types = ""
		return g.small(o.args)
	}
	return g.rows
}

func (f *functionsTried) try(t *testing.T, d *grids, o overload) {
	if only := os.Getenv("FUNCTION"); only != "" && only != o.name {
		return
	}
	var in *zset.Batch
	if len(o.args) > 0 {
		in = d.of(o)
	} else {
		d.exec("CREATE OR REPLACE TABLE g AS SELECT 0 AS i, 1 AS c0")
		in, d.types = batch(t, row.ParseLayout("INTEGER"), "1 | +1\n"), ""
	}
	if os.Getenv("VERBOSE") != "" {
		fmt.Println(o)
	}
	e, ok := d.bound(o, in.Layout)
	if !ok {
		f.skipped[o.name] = fmt.Sprint(o.args)
		return
	}
	f.tried[o.name]++
	if d.check(fmt.Sprint(o.name, o.args), deparse(e), e, in) {
		f.inGo[o.name+"("+strings.Join(o.args, ", ")+")"]++
	}
}

func TestFunctions(t *testing.T) {
	all, count := overloads(newDirect(t)), 0
	var halves [2]functionsTried
	t.Run("halves", func(t *testing.T) {
		for h := range halves {
			halves[h] = functionsTried{map[string]int{}, map[string]string{}, map[string]int{}}
			n := 0
			t.Run(fmt.Sprint(h), func(t *testing.T) {
				t.Parallel()
				g := &grids{direct: newDirect(t)}
				for i := h; i < len(all); i += len(halves) {
					for _, o := range all[i] {
						if n++; !testing.Short() || n%7 == 0 {
							halves[h].try(t, g, o)
						}
					}
				}
			})
		}
	})
	names, tried, skipped, inGo := map[string]bool{}, map[string]int{}, map[string]string{}, map[string]int{}
	for _, same := range all {
		count += len(same)
		for _, o := range same {
			names[o.name] = true
		}
	}
	for _, h := range halves {
		maps.Copy(skipped, h.skipped)
		maps.Copy(inGo, h.inGo)
		for name, n := range h.tried {
			tried[name] += n
		}
	}
	var without []string
	for name := range names {
		if tried[name] == 0 {
			without = append(without, name+skipped[name])
		}
	}
	sort.Strings(without)
	t.Logf("%d overloads of %d functions; %d functions tried; %d overloads in Go", count, len(names), len(tried), len(inGo))
	t.Logf("not bound: %s", strings.Join(without, " "))
	if !testing.Short() && os.Getenv("FUNCTION") == "" {
		for name := range names {
			if tried[name] == 0 && !elsewhere[name] && !slices.ContainsFunc(expressions, func(e string) bool { return strings.Contains(e, name+"(") }) {
				t.Errorf("%s binds to none of the columns (%s), and is in none of the planned expressions", name, skipped[name])
			}
		}
	}
	if !testing.Short() && os.Getenv("FUNCTION") == "" {
		golden(t, "functions", "Functions that have a path in Go, by the types of their arguments.", slices.Sorted(maps.Keys(inGo)))
	}
}

var update = flag.Bool("update", false, "write the lists of what has a path in Go anew")

// golden compares a list of what has a path in Go with the file that says so.
func golden(t *testing.T, name, title string, lines []string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	got := "# " + title + "\n" + strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("%s is not what is found (go test -run %s -update writes it): %v", file, t.Name(), err)
	}
}
