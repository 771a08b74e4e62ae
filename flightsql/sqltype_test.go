package flightsql

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// What is said of types without asking DuckDB must be what DuckDB says.
func TestPlainTypesAreThoseOfDuckDB(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	conn, release, err := l.Acquire(context.Background(), ducklake.ConnSettings{})
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	names := []string{"DECIMAL(18,3)", "DECIMAL(38,0)", "DECIMAL(4,4)", "INTEGER[]", "DECIMAL(9,2)[]", "VARCHAR[][]", "TIMESTAMP WITH TIME ZONE[]"}
	for name := range plainTypes {
		names = append(names, name)
	}
	for _, name := range names {
		stmt, err := conn.Prepare(context.Background(), "SELECT NULL::"+name+" AS c")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err := stmt.Schema()
		if err != nil {
			t.Fatal(err)
		}
		sql := stmt.Columns()[0].Type
		_ = stmt.Close()
		if got := plainSchema([]gate.Column{{Name: "c", Type: sql}}, "UTC"); got == nil || !got.Equal(want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for _, open := range []string{"", "INTEGER[3]", "STRUCT(a INTEGER)", "MAP(VARCHAR, INTEGER)", "ENUM('a')", "DECIMAL(", "[]"} {
		if got := plainSchema([]gate.Column{{Name: "c", Type: open}}, "UTC"); got != nil {
			t.Errorf("%q: %s", open, got)
		}
	}
	if plainSchema([]gate.Column{{Name: "c", Type: "TIMESTAMP WITH TIME ZONE"}}, "Asia/Tokyo") != nil {
		t.Error("an instant in another zone is not known by name")
	}
	if parameterType("") != arrow.Null {
		t.Error("an open parameter has a type")
	}
}
