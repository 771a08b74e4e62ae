package evaluator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// sorted are the types of the grids.
func sorted() []string {
	var types []string
	for t := range edges {
		types = append(types, t)
	}
	sort.Strings(types)
	return types
}

func TestComparisons(t *testing.T) {
	d := newDirect(t)
	for _, typ := range sorted() {
		in := d.grid([]string{typ, typ}, 400)
		a, b := col(in.Layout, 0), col(in.Layout, 1)
		for op := plan.Equal; op <= plan.NotDistinct; op++ {
			d.check(fmt.Sprintf("%s %s %s", typ, op, typ), "c0 "+op.String()+" c1", compare(op, a, b), in)
		}
		for not, sql := range map[bool]string{false: "c0 IS NULL", true: "c0 IS NOT NULL"} {
			d.check(typ+" IS NULL", sql, &plan.IsNull{Typed: plan.Typed{Type: row.MustType("BOOLEAN")}, Not: not, Child: a}, in)
		}
		d.check(typ+" coalesce", "coalesce(c0, c1)", &plan.Coalesce{Typed: plan.Typed{Type: in.Layout.Types[0]}, Args: []plan.Expr{a, b}}, in)
		d.check(typ+" case", "CASE WHEN c0 = c1 THEN c0 WHEN c0 IS NULL THEN c1 END", &plan.Case{Typed: plan.Typed{Type: in.Layout.Types[0]}, Whens: []plan.When{
			{If: compare(plan.Equal, a, b), Then: a},
			{If: &plan.IsNull{Typed: plan.Typed{Type: row.MustType("BOOLEAN")}, Child: a}, Then: b}}}, in)
	}
}

func TestBetweenAndIn(t *testing.T) {
	d := newDirect(t)
	boolean := plan.Typed{Type: row.MustType("BOOLEAN")}
	for _, typ := range []string{"INTEGER", "UBIGINT", "HUGEINT", "DOUBLE", "FLOAT", "DECIMAL(18,3)", "DATE", "TIMESTAMP", "VARCHAR", "BOOLEAN"} {
		in := d.grid([]string{typ, typ, typ}, 300)
		a, b, c := col(in.Layout, 0), col(in.Layout, 1), col(in.Layout, 2)
		for i := range 8 {
			e := &plan.Between{Typed: boolean, Child: a, Low: b, High: c, LowOpen: i&1 != 0, HighOpen: i&2 != 0, Not: i&4 != 0}
			low, high, not := ">=", "<=", ""
			if e.LowOpen {
				low = ">"
			}
			if e.HighOpen {
				high = "<"
			}
			if e.Not {
				not = "NOT "
			}
			d.check(typ+" between", fmt.Sprintf("%s(c0 %s c1 AND c0 %s c2)", not, low, high), e, in)
		}
	}
	in := d.grid([]string{"INTEGER", "VARCHAR"}, 400)
	null := constant("INTEGER", nil)
	for _, list := range [][]plan.Expr{
		{constant("INTEGER", int64(7))}, {constant("INTEGER", int64(7)), constant("INTEGER", int64(-2147483648))}, {null}, {constant("INTEGER", int64(0)), null},
	} {
		for _, not := range []bool{false, true} {
			var parts []string
			for _, e := range list {
				parts = append(parts, e.(*plan.Constant).SQL())
			}
			sql := "c0 IN (" + strings.Join(parts, ", ") + ")"
			if not {
				sql = "c0 NOT IN (" + strings.Join(parts, ", ") + ")"
			}
			if !d.check(sql, sql, &plan.In{Typed: boolean, Not: not, Child: col(in.Layout, 0), List: list}, in) {
				t.Error("no path for", sql)
			}
		}
	}
	d.check("text in", "c1 IN ('a', 'abcdefghijklm')", &plan.In{Typed: boolean, Child: col(in.Layout, 1),
		List: []plan.Expr{constant("VARCHAR", "a"), constant("VARCHAR", "abcdefghijklm")}}, in)
}

func TestLogic(t *testing.T) {
	d := newDirect(t)
	boolean := plan.Typed{Type: row.MustType("BOOLEAN")}
	in := d.grid([]string{"BOOLEAN", "BOOLEAN", "BOOLEAN"}, 400)
	a, b, c := col(in.Layout, 0), col(in.Layout, 1), col(in.Layout, 2)
	and := func(or bool, es ...plan.Expr) plan.Expr { return &plan.Conjunction{Typed: boolean, Or: or, Args: es} }
	for sql, e := range map[string]plan.Expr{
		"c0 AND c1 AND c2":      and(false, a, b, c),
		"c0 OR c1 OR c2":        and(true, a, b, c),
		"c0 AND NOT (c1 OR c2)": and(false, a, &plan.Not{Typed: boolean, Child: and(true, b, c)}),
		"CASE WHEN c0 AND c1 THEN c2 WHEN c1 OR c2 THEN NOT c0 ELSE c1 END": &plan.Case{Typed: boolean, Whens: []plan.When{
			{If: and(false, a, b), Then: c}, {If: and(true, b, c), Then: &plan.Not{Typed: boolean, Child: a}}}, Else: b},
	} {
		if !d.check(sql, sql, e, in) {
			t.Error("no path for", sql)
		}
	}
}

func TestCasts(t *testing.T) {
	d := newDirect(t)
	inGo := map[string]bool{}
	for _, from := range sorted() {
		in := d.grid([]string{from}, 400)
		for _, to := range sorted() {
			if _, err := d.conn.Rows(context.Background(), "SELECT c0::"+to+" FROM g LIMIT 0"); err != nil {
				continue
			}
			for _, try := range []bool{false, true} {
				word := "CAST"
				if try {
					word = "TRY_CAST"
				}
				e := &plan.Cast{Typed: plan.Typed{Type: row.MustType(to)}, Try: try, Child: col(in.Layout, 0)}
				if d.check(from+" "+word+" "+to, word+"(c0 AS "+to+")", e, in) {
					inGo[from+" to "+to] = true
				}
			}
		}
	}
	golden(t, "casts", "Casts that have a path in Go.", slices.Sorted(maps.Keys(inGo)))
}
