package ddl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/vegadb/vega-flight/fault"
)

// TestScripts runs testdata: `parse` prints what a text parses to. Statements of
// ours print canonically, others as "duckdb"; errors print with the text before and after their place.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "parse" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return describe(t, d.Input)
		})
	})
}

func describe(t *testing.T, sql string) string {
	items, err := Parse(sql)
	if err != nil {
		var e *fault.Error
		if !errors.As(err, &e) {
			t.Fatalf("not a fault error: %v", err)
		}
		if e.Position < 0 || e.Position > len(sql) {
			t.Fatalf("position %d of %q", e.Position, sql)
		}
		line := sql[strings.LastIndexByte(sql[:e.Position], '\n')+1 : e.Position]
		return fmt.Sprintf("%v\n  at %d: %s^%s\n", err, e.Position, line, firstLine(sql[e.Position:]))
	}
	var b strings.Builder
	for _, item := range items {
		if item.Stmt == nil {
			fmt.Fprintf(&b, "duckdb %d: %s\n", item.Offset, item.Text)
			continue
		}
		fmt.Fprintf(&b, "%T: %s\n", item.Stmt, item.Stmt)
		if v, ok := item.Stmt.(*CreateView); ok && sql[v.QueryOffset:v.QueryOffset+len(v.Query)] != v.Query {
			t.Errorf("query offset %d is not where %q stands", v.QueryOffset, v.Query)
		}
	}
	return b.String()
}

func firstLine(s string) string {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i]
	}
	return s
}
