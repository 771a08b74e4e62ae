package flightsql

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/vegadb/vega-flight/fault"
)

// What DuckDB cannot read has a name and says what to do, wherever in the type it is; nothing is made.
func TestIngestNamesTypesThatCannotBeLoaded(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE x (v INTEGER)")
	long := &arrow.Decimal256Type{Precision: 45, Scale: 2}
	for _, test := range []struct {
		typ  arrow.DataType
		want string
	}{
		{long, `column "v" cannot be loaded: DECIMAL(45,2) has more than 38 digits; cast it to`},
		{arrow.ListOf(long), "DECIMAL(45,2)"},
		{arrow.MapOf(arrow.BinaryTypes.String, long), "DECIMAL(45,2)"},
		{arrow.StructOf(arrow.Field{Name: "i", Type: arrow.PrimitiveTypes.Int8}, arrow.Field{Name: "d", Type: long, Nullable: true}), "DECIMAL(45,2)"},
		{&arrow.Decimal128Type{Precision: 20, Scale: -2}, "DECIMAL(20,-2) has a scale"},
		{arrow.StructOf(), "a struct without fields; give the struct a field"},
		{arrow.ListOf(arrow.StructOf()), "a struct without fields"},
	} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: test.typ, Nullable: true}}, nil)
		column := array.MakeArrayOfNull(memory.DefaultAllocator, test.typ, 2)
		rows := array.NewRecordBatch(schema, []arrow.Array{column}, 2)
		for _, load := range []struct{ table, mode string }{{"x", "append"}, {"x", "replace"}, {"y", "create"}} {
			_, err := c.load(load.table, load.mode, reader(t, rows))
			wants(t, err, fault.UnstableType)
			contains(t, err.Error(), test.want)
		}
	}
	equal(t, "tables", c.value("SELECT count(*) FROM duckdb_tables() WHERE database_name = 'lake'"), "1")
	equal(t, "type", c.value("SELECT data_type FROM duckdb_columns() WHERE table_name = 'x'"), "INTEGER")
	short := arrow.NewSchema([]arrow.Field{{Name: "v", Type: &arrow.Decimal256Type{Precision: 20, Scale: 2}, Nullable: true}}, nil)
	if _, err := c.load("z", "create", reader(t, table(t, short, `[{"v": "1.50"}]`))); err != nil {
		t.Error(err)
	}
	equal(t, "value", c.value("SELECT v::VARCHAR FROM z"), "1.50")
}

// Which rows a table had is part of the statement's text.
func TestAtTakesNoParameter(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE t (i INTEGER)")
	for _, sql := range []string{
		"SELECT * FROM t AT (VERSION => ?)", "SELECT * FROM t AT (VERSION => $1)", "SELECT * FROM t AT (TIMESTAMP => $at)",
		"INSERT INTO t SELECT * FROM t AT (VERSION => ?::BIGINT)",
	} {
		_, err := c.Prepare(c.ctx(), sql)
		wants(t, err, fault.InvalidParameter)
		contains(t, err.Error(), "write the value into the statement")
		c.fails(sql, fault.InvalidParameter)
	}
}

func contains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q is not in %q", part, text)
	}
}
