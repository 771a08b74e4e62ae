package publish

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/duck"
)

// edges are values at the edges of each ordered type, as SQL.
var edges = map[string]struct {
	sql    string
	values []string
}{
	"boolean":       {"BOOLEAN", []string{"true", "false"}},
	"int8":          {"TINYINT", []string{"-128", "-1", "0", "127"}},
	"int64":         {"BIGINT", []string{"-9223372036854775808", "-10", "-9", "9", "10", "9223372036854775807"}},
	"uint64":        {"UBIGINT", []string{"0", "9", "10", "18446744073709551615"}},
	"decimal(9,2)":  {"DECIMAL(9,2)", []string{"-9999999.99", "-0.01", "0", "0.10", "9.99", "10", "9999999.99"}},
	"decimal(38,9)": {"DECIMAL(38,9)", []string{"-12345678901234567890123456789.000000001", "0.000000001", "99999999999999999999999999999"}},
	"float32":       {"FLOAT", []string{"-inf", "-3.4028235e38", "-1e-45", "-0.0", "0.1", "1e9", "3.4028235e38", "inf"}},
	"float64":       {"DOUBLE", []string{"-inf", "-1e300", "-5e-324", "0", "0.1", "9", "10", "123456789.123", "1e300", "inf"}},
	"date":          {"DATE", []string{"-infinity", "5877642-06-25 (BC)", "0044-03-15 (BC)", "0001-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "2024-03-01", "9999-12-31", "10000-01-01", "5881580-07-10", "infinity"}},
	"time":          {"TIME", []string{"00:00:00", "00:00:00.000001", "09:59:59.9", "10:00:00", "23:59:59.999999", "24:00:00"}},
	"timestamp": {"TIMESTAMP", []string{"-infinity", "290309-12-22 (BC) 00:00:00", "0044-03-15 (BC) 12:00:00", "1969-12-31 23:59:59.999999",
		"1970-01-01 00:00:00", "2024-02-29 09:00:00.5", "2024-02-29 10:00:00", "10000-01-01 00:00:00", "294247-01-10 04:00:54", "infinity"}},
	"timestamp_s":  {"TIMESTAMP_S", []string{"1969-12-31 23:59:59", "1970-01-01 00:00:00", "2024-02-29 10:00:00"}},
	"timestamp_ms": {"TIMESTAMP_MS", []string{"1969-12-31 23:59:59.999", "1970-01-01 00:00:00.001"}},
	"timestamp_ns": {"TIMESTAMP_NS", []string{"1677-09-22 00:00:00", "1970-01-01 00:00:00.000000001", "1970-01-01 00:00:00.00000001", "infinity"}},
	"timestamptz":  {"TIMESTAMPTZ", []string{"-infinity", "0044-03-15 (BC) 12:00:00+00", "2024-02-29 23:30:00-01", "2024-03-01 00:29:00+00", "2024-03-01 01:30:00+01", "2024-03-01 05:29:59+05:30", "infinity"}},
	"uuid":         {"UUID", []string{"00000000-0000-0000-0000-000000000000", "7fffffff-0000-0000-0000-000000000000", "80000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"}},
	"varchar":      {"VARCHAR", []string{"", " ", "A", "Z", "a", "aa", "ä", "é", "€", "😀"}},
}

// Every comparison that widening makes is DuckDB's own.
func TestTextsCompareAsValues(t *testing.T) {
	ctx := context.Background()
	db, err := duck.Open("", duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for typ, e := range edges {
		quoted := make([]string, len(e.values))
		for i, v := range e.values {
			quoted[i] = "('" + v + "')"
		}
		rows, err := conn.Rows(ctx, fmt.Sprintf(`WITH v AS (SELECT CAST(t AS %[1]s) AS x FROM (VALUES %[2]s) q(t))
			SELECT CAST(a.x AS VARCHAR), CAST(b.x AS VARCHAR), CAST(a.x > b.x AS INTEGER) - CAST(a.x < b.x AS INTEGER) FROM v a, v b`,
			e.sql, strings.Join(quoted, ", ")))
		if err != nil {
			t.Errorf("%s: %v", typ, err)
			continue
		}
		for _, r := range rows {
			got, err := compareTexts(typ, r[0].(string), r[1].(string))
			if err != nil {
				t.Errorf("%s: %v", typ, err)
			} else if int64(got) != r[2].(int64) {
				t.Errorf("%s: %q against %q gives %d, DuckDB says %d", typ, r[0], r[1], got, r[2])
			}
		}
	}
}

func TestWiden(t *testing.T) {
	s := func(v string) *string { return &v }
	b := func(v bool) *bool { return &v }
	for _, c := range []struct {
		name  string
		typ   string
		old   *columnStats
		add   added
		want  columnStats
		exact bool
	}{
		{"first values", "int64", nil, added{values: 3, nulls: 1, min: s("5"), max: s("10")}, columnStats{null: b(true), min: s("5"), max: s("10")}, true},
		{"first, only NULLs", "int64", nil, added{values: 2, nulls: 2}, columnStats{null: b(true)}, true},
		{"values after NULLs", "int64", &columnStats{null: b(true)}, added{values: 1, min: s("1"), max: s("2")}, columnStats{null: b(true), min: s("1"), max: s("2")}, true},
		{"as numbers", "int64", &columnStats{null: b(false), min: s("9"), max: s("10")}, added{values: 1, min: s("10"), max: s("9")}, columnStats{null: b(false), min: s("9"), max: s("10")}, true},
		{"both ends", "int64", &columnStats{null: b(false), min: s("9"), max: s("10")}, added{values: 1, min: s("-1"), max: s("100")}, columnStats{null: b(false), min: s("-1"), max: s("100")}, true},
		{"unknown stays unknown", "int64", &columnStats{min: s("9")}, added{values: 1, min: s("1"), max: s("100")}, columnStats{min: s("1")}, true},
		{"unknown whether there are NULLs", "int64", &columnStats{min: s("1"), max: s("1")}, added{values: 2, nulls: 1, min: s("1"), max: s("1")}, columnStats{min: s("1"), max: s("1")}, true},
		{"nothing added", "varchar", &columnStats{null: b(false), min: s("a"), max: s("b")}, added{}, columnStats{null: b(false), min: s("a"), max: s("b")}, true},
		{"zero byte in the least", "varchar", nil, added{values: 1, min: s("a\x00b"), max: s("c")}, columnStats{null: b(false), min: s("a"), max: s("c")}, false},
		{"zero byte in the greatest", "varchar", nil, added{values: 1, min: s("a"), max: s("c\x00d")}, columnStats{null: b(false), min: s("a"), max: s("c\x01")}, false},
		{"text of unknown bounds", "varchar", nil, added{values: 1}, columnStats{null: b(false), min: s("")}, false},
		{"text of unknown bounds later", "varchar", &columnStats{null: b(false), min: s("m"), max: s("n")}, added{values: 1}, columnStats{null: b(false), min: s("")}, false},
		{"floats without NaN", "float64", nil, added{values: 1, min: s("1"), max: s("1"), nan: b(false)}, columnStats{null: b(false), nan: b(false), min: s("1"), max: s("1")}, true},
		{"NaN comes", "float64", &columnStats{null: b(false), nan: b(false), min: s("1"), max: s("2")}, added{values: 1, nan: b(true)}, columnStats{null: b(false), nan: b(true)}, true},
		{"NaN stays", "float64", &columnStats{null: b(false), nan: b(true)}, added{values: 1, min: s("1"), max: s("1"), nan: b(false)}, columnStats{null: b(false), nan: b(true), min: s("1"), max: s("1")}, true},
		{"NaN unknown stays unknown", "float64", &columnStats{null: b(false), min: s("1"), max: s("1")}, added{values: 1, min: s("1"), max: s("1"), nan: b(false)}, columnStats{null: b(false), min: s("1"), max: s("1")}, true},
		{"no order", "blob", &columnStats{null: b(false), min: s("x"), max: s("y")}, added{values: 1, nulls: 0, min: s("a"), max: s("z")}, columnStats{null: b(false)}, true},
		{"booleans of files and rows", "boolean", &columnStats{null: b(false), min: s("0"), max: s("0")}, added{values: 1, min: s("true"), max: s("true")}, columnStats{null: b(false), min: s("0"), max: s("true")}, true},
	} {
		got, exact, err := widen(c.typ, c.old, c.add)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if !sameStats(got, c.want) || exact != c.exact {
			t.Errorf("%s: %s, exact %v", c.name, show(got), exact)
		}
	}
}

func show(c columnStats) string {
	return fmt.Sprintf("null %v, nan %v, min %v, max %v", orNull(c.null), orNull(c.nan), orNull(c.min), orNull(c.max))
}

// Whatever is added in whatever order, the bounds hold everything that was ever added.
func FuzzWidenNeverNarrows(f *testing.F) {
	f.Add(int64(1), int64(5), int64(-3), int64(2), int64(100), int64(7))
	f.Fuzz(func(t *testing.T, a, b, c, d, e, g int64) {
		var stats *columnStats
		low, high := a, a
		for _, pair := range [][2]int64{{a, b}, {c, d}, {e, g}} {
			from, to := min(pair[0], pair[1]), max(pair[0], pair[1])
			low, high = min(low, from), max(high, to)
			x, y := fmt.Sprint(from), fmt.Sprint(to)
			next, _, err := widen("int64", stats, added{values: 2, min: &x, max: &y})
			if err != nil {
				t.Fatal(err)
			}
			stats = &next
		}
		if cmp.Compare(*stats.min, fmt.Sprint(low)) != 0 || *stats.max != fmt.Sprint(high) {
			t.Fatalf("%s, want %d and %d", show(*stats), low, high)
		}
	})
}
