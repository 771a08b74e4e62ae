package gate

import (
	"context"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/fault"
)

// Plans list the lines of a name that has several, so that names of several lines could be taken for one another.
func TestNamesHaveOneLine(t *testing.T) {
	ctx := context.Background()
	lake := newRealLake(t, append(sales, "CREATE TABLE \"two\nlines\" (a INTEGER)")...)
	_, s := newGate(t, lake)
	for _, sql := range []string{
		"CREATE TABLE \"a\nb\" (i INTEGER)", "CREATE VIEW \"a\nb\" AS SELECT 1 AS a", "CREATE SCHEMA \"a\r\nb\"", "CREATE TABLE sales.\"\n\" AS SELECT 1 AS a",
		"ALTER TABLE sales.orders RENAME TO \"a\nb\"",
	} {
		if _, err := s.Analyze(ctx, sql, Env{}); fault.CodeOf(err) != fault.ReservedName {
			t.Errorf("%q: %v", sql, err)
		}
	}
	if _, err := s.Analyze(ctx, "SELECT * FROM \"two\nlines\"", Env{}); fault.CodeOf(err) != fault.StatementForbidden || !strings.Contains(err.Error(), "line break") {
		t.Errorf("reading: %v", err)
	}
	if _, err := s.Analyze(ctx, "ALTER TABLE \"two\nlines\" RENAME TO one_line", Env{}); err != nil {
		t.Errorf("renaming: %v", err)
	}
}
