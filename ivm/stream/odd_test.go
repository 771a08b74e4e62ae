package stream_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// oddTypes have values that are easily taken for others.
var oddTypes = map[string][]string{
	"DOUBLE":        {"'NaN'", "'-NaN'", "-0.0", "0.0", "'inf'", "'-inf'", "1e308", "5e-324", "1.5"},
	"FLOAT":         {"'NaN'", "'-0.0'", "0.0", "'inf'", "1.5", "16777217"},
	"DECIMAL(38,5)": {"999999999999999999999999999999999.99999", "-999999999999999999999999999999999.99999", "0", "-0.00001", "0.00001"},
	"DECIMAL(18,2)": {"9999999999999999.99", "-9999999999999999.99", "0", "0.01"},
	"DECIMAL(4,1)":  {"999.9", "-999.9", "0", "0.1"},
	"UBIGINT":       {"18446744073709551615", "9223372036854775808", "0", "9223372036854775807"},
	"BIGINT":        {"9223372036854775807", "-9223372036854775808", "0", "-1"},
	"UUID":          {"'ffffffff-ffff-ffff-ffff-ffffffffffff'", "'00000000-0000-0000-0000-000000000000'", "'80000000-0000-0000-0000-000000000000'", "'7fffffff-ffff-ffff-8000-000000000001'"},
	"BLOB":          {`''`, `'\x00'`, `'\x00\x00'`, `'\xFF\xFE'`, `'\x00\x01'`, `'a'`, `repeat('\x00', 12)::BLOB`, `repeat('ab', 7)::BLOB`, `repeat('ab', 500)::BLOB`, `(repeat('ab', 499) || 'ac')::BLOB`},
	"VARCHAR": {"''", "'a'", "'A'", "'ä'", "'a' || chr(776)", "'a' || chr(0)", "'a' || chr(0) || 'b'", "' a'", "'a '", "'twelve bytes'", "'twelve bytes!'", "'twelve bytes' || chr(0)",
		"repeat('long ', 100)", "repeat('long ', 100) || 'x'", "repeat('long ', 100) || 'y'", "repeat('ß', 3000)", "chr(128640) || 'rocket'", "'ﬁ'", "'fi'", "'NaN'", "'NULL'", `'"'`, "repeat('x', 70000)"},
	"DATE":        {"'infinity'", "'-infinity'", "'1970-01-01'", "'1969-12-31'", "'5877642-06-25 (BC)'", "'5881580-07-10'", "'0001-01-01'"},
	"TIMESTAMP":   {"'infinity'", "'-infinity'", "'1970-01-01'", "'1969-12-31 23:59:59.999999'", "'2024-02-29 12:00:00'", "'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775806'"},
	"TIMESTAMPTZ": {"'infinity'", "'-infinity'", "'1970-01-01 00:00:00+00'", "'2024-03-31 02:30:00+01'", "'2024-03-31 01:30:00+00'", "'2024-10-27 00:30:00+00'", "'2024-10-27 01:30:00+00'"},
	"TIME":        {"'00:00:00'", "'24:00:00'", "'23:59:59.999999'"},
	"BOOLEAN":     {"true", "false"},
	"VARCHAR[]":   {"[]", "[NULL]", "['']", "['a', NULL]", "['a']", "[repeat('long ', 50)]", "['a', repeat('long ', 50)]", "[NULL, NULL]"},
	"DOUBLE[]":    {"[]", "['NaN']", "['-NaN']", "['inf', NULL]", "[1.0]"},
	"INTEGER[][]": {"[]", "[[]]", "[[1], NULL]", "[NULL]", "[[NULL]]", "[[1, NULL]]"},
	"STRUCT(a VARCHAR, b INTEGER[])": {"{'a': NULL, 'b': NULL}", "{'a': '', 'b': []}", "{'a': 'x', 'b': [NULL]}", "{'a': repeat('long ', 50), 'b': [1]}",
		"{'a': repeat('long ', 50), 'b': [2]}"},
	"MAP(VARCHAR, INTEGER)":                              {"MAP {}", "MAP {'a': NULL}", "MAP {'a': 1, 'b': 2}", "MAP {'b': 2, 'a': 1}", "MAP {repeat('long ', 50): 1}"},
	"STRUCT(m MAP(INTEGER, VARCHAR[]), d DECIMAL(30,3))": {"{'m': MAP {1: ['a', NULL]}, 'd': 1.5}", "{'m': NULL, 'd': NULL}", "{'m': MAP {}, 'd': -0.001}", "{'m': MAP {1: [repeat('long ', 50)]}, 'd': 1}"},
}

var oddQueries = []string{
	"SELECT c, count(*) AS n, min(w) AS low, max(w) AS high FROM t GROUP BY c",
	"SELECT c, e, count(*) AS n FROM t GROUP BY ALL",
	"SELECT DISTINCT c, e FROM t",
	"SELECT DISTINCT c FROM t",
	"SELECT a.id, b.id AS j, a.w, b.e FROM t a JOIN t b ON a.c = b.c AND a.id < b.id",
	"SELECT a.id, b.id AS j, b.w FROM t a LEFT JOIN u b ON a.c IS NOT DISTINCT FROM b.c",
	"SELECT a.id, b.id AS j, a.c, b.e FROM t a FULL JOIN u b ON a.c = b.c AND a.e = b.e",
	"SELECT a.id, b.id AS j, a.c FROM t a JOIN u b ON a.c < b.c",
	"SELECT count(DISTINCT c) AS n, min(c) AS low, max(c) AS high, max(e) AS most FROM t",
	"SELECT g, count(DISTINCT c) AS n, min(c) AS low, max(c) AS high FROM t GROUP BY g",
	"SELECT g, min(c) FILTER (WHERE e IS NOT NULL) AS low FROM t GROUP BY g HAVING min(c) IS NOT NULL",
	"SELECT id, c FROM t QUALIFY row_number() OVER (PARTITION BY c ORDER BY e, id) <= 2",
	"SELECT id, w, rank() OVER (PARTITION BY g ORDER BY c) AS r FROM t",
	"SELECT id, c, e FROM t ORDER BY c DESC NULLS LAST, id LIMIT 7",
	"SELECT id, c, e FROM t ORDER BY c, e DESC, id LIMIT 5 OFFSET 2",
	"SELECT c FROM t EXCEPT SELECT c FROM u",
	"SELECT c, e FROM t INTERSECT ALL SELECT c, e FROM u",
	"SELECT c FROM t EXCEPT ALL SELECT c FROM u",
	"SELECT c FROM t UNION SELECT c FROM u",
	"SELECT g, list(id ORDER BY c, id) AS l FROM t GROUP BY g",
	"SELECT g, arg_max(id, c) IS NULL AS none, first(w ORDER BY id) AS f FROM t GROUP BY g",
	"SELECT id FROM t WHERE c IN (SELECT c FROM u)",
	"SELECT id FROM t WHERE c NOT IN (SELECT c FROM u WHERE c IS NOT NULL)",
	"SELECT id FROM t WHERE c NOT IN (SELECT c FROM u)",
	"SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.c = t.c AND u.e IS NOT DISTINCT FROM t.e)",
	"SELECT id, (SELECT max(u.w) FROM u WHERE u.c = t.c) AS m FROM t",
	"SELECT id FROM t WHERE c >= (SELECT min(c) FROM u)",
	"SELECT c, g, count(*) AS n FROM t GROUP BY GROUPING SETS ((c), (g), (c, g), ())",
	"SELECT {'x': c, 'y': e} AS s, count(*) AS n FROM t GROUP BY s",
	"SELECT [c, NULL] AS l, count(*) AS n FROM t GROUP BY l",
	"SELECT id, lag(c) OVER (PARTITION BY g ORDER BY id) AS p FROM t",
	"SELECT id, c FROM t WHERE c = (SELECT c FROM u WHERE id = 3)",
	"SELECT t.id, x FROM t, unnest([t.c]) AS q(x)",
	"SELECT w, count(*) AS n FROM t GROUP BY w",
	"SELECT w COLLATE NOCASE < 'b' AS less, count(*) AS n FROM t GROUP BY 1",
	"SELECT count(*) AS n FROM t GROUP BY w COLLATE NOCASE",
	"SELECT count(*) AS n, min(id) AS m FROM t GROUP BY w COLLATE NOACCENT",
	"SELECT a.id, b.id AS j FROM t a JOIN u b ON a.w COLLATE NOCASE = b.w COLLATE NOCASE",
	"SELECT DISTINCT ON (c) c, id FROM t ORDER BY c, id DESC",
	"SELECT CASE WHEN c = e THEN c ELSE e END AS x, count(*) AS n FROM t GROUP BY x",
	"SELECT coalesce(c, e) AS x, max(w) AS m FROM t GROUP BY x",
	"SELECT * FROM t",
	"SELECT a.*, b.* EXCLUDE (id, g, c, e, w), b.w AS other FROM t a JOIN u b USING (c)",
	"SELECT t.id, u.id AS j FROM t ASOF JOIN u ON t.g = u.g AND t.id >= u.id",
	"SELECT id, w, g FROM (SELECT *, dense_rank() OVER (PARTITION BY g ORDER BY w DESC) AS r FROM t) WHERE r <= 2",
}

// TestOddValues runs random histories over values that are easily taken for others.
func TestOddValues(t *testing.T) {
	campaign(t, 4, 1, 1, func(t *testing.T, kind laketest.Kind, seeds iter.Seq[uint64]) {
		for seed := range seeds {
			oddRound(t, kind, seed)
		}
	})
}

func oddRound(t *testing.T, kind laketest.Kind, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0x0dd))
	var types []string
	for k := range oddTypes {
		types = append(types, k)
	}
	slices.Sort(types)
	of := types[r.IntN(len(types))]
	budget := []int64{0, 0, 32 << 10}[r.IntN(3)]
	l := newLab(t, kind, func(l *lab) {
		l.configure = append(l.configure, func(c *stream.Config) { c.MemoryBudget, c.Builders = budget, 4; c.RefileEvery = 3 })
	})
	l.publisher.InlineRows = []int{0, 1, 8}[r.IntN(3)]
	if l.publisher.InlineRows == 0 {
		l.publisher.InlineRows = 5000
	}
	l.must(l.raw(fmt.Sprintf("CALL lake.set_option('data_inlining_row_limit', %d)", []int{1000, 0, 5}[r.IntN(3)])))
	zone := []string{"UTC", "Europe/Berlin", "America/St_Johns"}[r.IntN(3)]
	l.must(l.session.SetOption(l.ctx, "TimeZone", zone))
	t.Logf("%s, %s", of, zone)
	value := func(of string) string {
		if r.IntN(6) == 0 {
			return "NULL"
		}
		all := oddTypes[of]
		return "CAST(" + all[r.IntN(len(all))] + " AS " + of + ")"
	}
	id := 0
	row := func() string {
		id++
		return fmt.Sprintf("(%d, %d, %s, %s, %s)", id, r.IntN(3), value(of), value(of), value("VARCHAR"))
	}
	rows := func(n int) string {
		var all []string
		for range n {
			all = append(all, row())
		}
		return strings.Join(all, ", ")
	}
	for _, table := range []string{"t", "u"} {
		l.exec(fmt.Sprintf("CREATE TABLE %s (id BIGINT, g INTEGER, c %s, e %s, w VARCHAR)", table, of, of), "INSERT INTO "+table+" VALUES "+rows(1+r.IntN(20)))
	}
	l.options = nil
	if n := r.Int64N(4); n > 0 {
		l.options = append(l.options, ddl.Option{Name: "parallelism", Value: ddl.Value{Kind: ddl.Int, Int: n}})
	}
	made := 0
	for made < 7 {
		q := oddQueries[r.IntN(len(oddQueries))]
		if why := l.refused(q); why != "" {
			t.Logf("%s: %s", q, why)
			continue
		}
		made++
		name := fmt.Sprintf("v%d", made)
		t.Logf("%s: %s", name, q)
		l.view(name, q)
	}
	for range 10 {
		table := []string{"t", "t", "u"}[r.IntN(3)]
		sql := ""
		switch r.IntN(8) {
		case 0, 1, 2:
			sql = "INSERT INTO " + table + " VALUES " + rows(1+r.IntN(12))
		case 3:
			sql = fmt.Sprintf("DELETE FROM %s WHERE id %% %d = 0", table, 2+r.IntN(4))
		case 4:
			sql = fmt.Sprintf("UPDATE %s SET c = %s WHERE id %% %d = 0", table, value(of), 2+r.IntN(4))
		case 5:
			sql = fmt.Sprintf("UPDATE %s SET e = c, c = e, w = %s WHERE id %% %d = 0", table, value("VARCHAR"), 2+r.IntN(4))
		case 6:
			sql = "INSERT INTO " + table + " SELECT * FROM " + table + " WHERE id % 2 = 0"
			if n := l.rowsOf("SELECT count(*) FROM " + table)[0][0].(int64); n > 80 {
				sql = "DELETE FROM " + table
			}
		case 7:
			t.Log("restart")
			l.stop()
			if r.IntN(4) == 0 {
				l.back("")
			}
			l.exec("INSERT INTO " + table + " VALUES " + rows(1+r.IntN(4)))
			l.start()
		}
		if sql != "" {
			t.Log(sql)
			l.exec(sql)
		}
		l.check()
		if t.Failed() {
			return
		}
	}
}

// refused is why a query cannot be kept up to date; "" when it can.
func (l *lab) refused(query string) string {
	bound, err := l.binder.Bind(l.ctx, l.session, query)
	if err != nil {
		return err.Error()
	}
	row := catalog.Row{Kind: catalog.Streaming, Sources: bound.Sources}
	p, err := l.binder.Plan(l.ctx, &catalog.View{Row: row, Table: catalog.Table{Columns: bound.Columns}, Def: catalog.Definition{
		Kind: catalog.Streaming, Query: bound.Query, TimeZone: bound.TimeZone, Pinned: bound.Pinned, Consistent: bound.Consistent,
	}})
	if err != nil {
		return err.Error()
	}
	if !p.Admitted() {
		return p.Reasons[0].String()
	}
	return ""
}
