package lake

import (
	"math"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// values of each type that the lake keeps, at its edges.
var values = [][2]string{
	{"BOOLEAN", "true; false"},
	{"TINYINT", "-128; 127"},
	{"SMALLINT", "-32768; 32767"},
	{"INTEGER", "-2147483648; 2147483647"},
	{"BIGINT", "-9223372036854775808; 9007199254740993; 9223372036854775807"},
	{"UTINYINT", "0; 255"},
	{"USMALLINT", "65535"},
	{"UINTEGER", "4294967295"},
	{"UBIGINT", "18446744073709551615; 9223372036854775808"},
	{"DECIMAL(4,2)", "-99.99; 0.01"},
	{"DECIMAL(18,3)", "-999999999999999.999; 0"},
	{"DECIMAL(38,0)", "-99999999999999999999999999999999999999; 9007199254740993"},
	{"DECIMAL(38,38)", "0.00000000000000000000000000000000000001"},
	{"FLOAT", "0; '-0.0'; 1.1; 3.4028235e38; 'inf'; '-inf'; 'nan'; 1e-45"},
	{"DOUBLE", "0; '-0.0'; 0.1; 1.7976931348623157e308; 5e-324; 'inf'; '-inf'; 'nan'; -0.11049315628702099"},
	{"VARCHAR", `''; ' '; 'NULL'; 'it''s'; '"quoted"'; 'back\slash'; 'nul' || chr(0) || 'byte'; 'line' || chr(10) || chr(13); '🦆 ünïcode'; repeat('long ', 5000); '{'`},
	{"BLOB", `''; '\x00'; '\xFF\xFE\x00A'; 'plain'; '\x5Cx41'`},
	{"UUID", "'00000000-0000-0000-0000-000000000000'; '80000000-0000-0000-0000-000000000001'; 'ffffffff-ffff-ffff-ffff-ffffffffffff'"},
	{"JSON", `'null'; '{"a": [1,  2], "b": null}'; '"text"'; '1.0'`},
	{"DATE", "'1970-01-01'; '0001-01-01'; '290309-12-22 (BC)'; '5881580-07-10'; 'infinity'; '-infinity'"},
	{"TIME", "'00:00:00'; '23:59:59.999999'; '24:00:00'"},
	{"TIMESTAMP", "'1969-12-31 23:59:59.999999'; '290309-12-22 (BC) 00:00:00'; '294247-01-10 04:00:54.775806'; 'infinity'; '-infinity'"},
	{"TIMESTAMP WITH TIME ZONE", "'2024-02-29 12:34:56.000001+02'; '290309-12-22 (BC) 00:00:00+00'; 'infinity'; '-infinity'"},
	{"TIMESTAMP_MS", "'2024-02-29 12:34:56.001'; 'infinity'"},
	{"TIMESTAMP_NS", "'2024-02-29 12:34:56.000000001'; '1677-09-22 00:00:00'; '2262-04-11 23:47:16.854775806'; 'infinity'"},
	{"INTEGER[]", "[]; [NULL]; [1, NULL, 3]"},
	{"INTEGER[][]", "[[]]; [NULL, [], [1, NULL]]"},
	{"VARCHAR[]", `['']; ['NULL', NULL, 'null']; ['a, b', '[c]', 'it''s', '"', '\']; ['🦆', 'nul' || chr(0)]`},
	{"DOUBLE[]", "['nan'::DOUBLE, 'inf', '-inf', '-0.0', 0.1, 5e-324]"},
	{"FLOAT[]", "['nan'::FLOAT, '-0.0', 1.1]"},
	{`STRUCT(a INTEGER, b VARCHAR)`, `{'a': 1, 'b': 'x'}; {'a': NULL, 'b': NULL}; {'a': 3, 'b': 'NULL'}; {'a': 4, 'b': 'it''s, "quoted" {b: 1}'}`},
	{"STRUCT(a DOUBLE[], b STRUCT(c FLOAT))", "{'a': ['nan'::DOUBLE, NULL], 'b': {'c': 'nan'::FLOAT}}"},
	{"MAP(VARCHAR, INTEGER)", "MAP {}; MAP {'a': 1, 'b': NULL}; MAP {'z': 1, 'a': 2}"},
	{"MAP(INTEGER, DOUBLE[])", "MAP {1: ['nan'::DOUBLE], 2: NULL}"},
	{"TIMESTAMP_NS[]", "['2024-02-29 12:34:56.000000001'::TIMESTAMP_NS]"},
	{"DECIMAL(38,10)[]", "[0.0000000001, -9999999999999999999999999999.9999999999]"},
}

// edge makes rows of one column with the values, NULL, and negative NaNs, which DuckDB's own division gives.
func (w *world) edge(l *row.Layout, typ, list string) *zset.Batch {
	var parts []string
	for x := range strings.SplitSeq(list, "; ") {
		parts = append(parts, "SELECT CAST("+x+" AS "+typ+")")
	}
	b := w.rows(l, strings.Join(append(parts, "SELECT CAST(NULL AS "+typ+")"), " UNION ALL "))
	at := l.Off[0]
	switch l.Types[0].Kind {
	case row.Double:
		b.AppendRow(1)[at] = math.Float64bits(math.NaN()) | 1<<63
	case row.Float:
		b.AppendRow(1)[at] = 0xffc00001
	}
	return b
}

// Every value comes back from the lake as the row that it was, inlined, in files, flushed and merged: it is found when it goes.
func TestTypes(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind, inlining(60))
		for i, c := range values {
			t.Run(c[0], func(t *testing.T) {
				v := w.newView("v"+string(rune('a'+i/26))+string(rune('a'+i%26)), []string{c[0]}, false)
				w := *w
				w.t = t
				v.w = &w
				rows := w.edge(v.layout, c[0], c[1])
				publish := func(times int64) {
					t.Helper()
					d := rows.Clone()
					for i := range d.Weights {
						d.Weights[i] *= times
					}
					d.Consolidate()
					must(t, w.publish([]*view{v}, d))
				}
				publish(3)
				publish(-1)
				v.flush()
				publish(-1)
				publish(50) // as files
				publish(-2)
				v.flush()
				publish(30)
				publish(-1)
				v.merge()
				publish(-78)
				if n := v.content().Len(); n != 0 || v.res.Rows() != 0 {
					t.Fatalf("%d rows are left, %d are counted:\n%s", n, v.res.Rows(), v.content().Print())
				}
			})
		}
	})
}
