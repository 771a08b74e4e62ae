package flightsql

import (
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// listed reads a metadata answer and checks its schema.
func (c *client) listed(info *flight.FlightInfo, err error) func(*arrow.Schema) [][]string {
	c.t.Helper()
	return func(want *arrow.Schema) [][]string {
		c.t.Helper()
		if err != nil {
			c.t.Fatal(err)
		}
		schema, err := flight.DeserializeSchema(info.Schema, memory.DefaultAllocator)
		if err != nil || !schema.Equal(want) {
			c.t.Errorf("schema %s, %v", schema, err)
		}
		rows, err := c.rows(info)
		if err != nil {
			c.t.Fatal(err)
		}
		return rows
	}
}

func column(rows [][]string, i int) string {
	var out []string
	for _, r := range rows {
		out = append(out, r[i])
	}
	return strings.Join(out, " ")
}

func furnished(t *testing.T) (*house, *client) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE my_table (id INTEGER NOT NULL, price DECIMAL(9,2), tags VARCHAR[], since TIMESTAMPTZ)")
	c.must("CREATE TABLE myxtable (i INTEGER)")
	c.must(`CREATE TABLE "Größe 100%" (i INTEGER)`)
	c.must("CREATE VIEW v AS SELECT id FROM my_table")
	c.must("CREATE SCHEMA other")
	c.must("CREATE TABLE other.my_table (j INTEGER)")
	c.must("CREATE TEMP TABLE own (k INTEGER)")
	return h, c
}

func TestCatalogsAndSchemas(t *testing.T) {
	_, c := furnished(t)
	rows := c.listed(c.GetCatalogs(c.ctx()))(schema_ref.Catalogs)
	equal(t, "catalogs", column(rows, 0), "lake vega")
	rows = c.listed(c.GetDBSchemas(c.ctx(), &flightsql.GetDBSchemasOpts{}))(schema_ref.DBSchemas)
	equal(t, "schemas", column(rows, 0)+": "+column(rows, 1), "lake lake vega: main other main")
	lake, nothing, pattern := "lake", "", "oth%"
	rows = c.listed(c.GetDBSchemas(c.ctx(), &flightsql.GetDBSchemasOpts{Catalog: &lake, DbSchemaFilterPattern: &pattern}))(schema_ref.DBSchemas)
	equal(t, "filtered", column(rows, 1), "other")
	rows = c.listed(c.GetDBSchemas(c.ctx(), &flightsql.GetDBSchemasOpts{Catalog: &nothing}))(schema_ref.DBSchemas)
	equal(t, "without a catalog", len(rows), 0)
	rows = c.listed(c.GetTableTypes(c.ctx()))(schema_ref.TableTypes)
	equal(t, "table types", column(rows, 0), strings.Join(tableTypes, " "))
}

func TestTables(t *testing.T) {
	h, c := furnished(t)
	get := func(o *flightsql.GetTablesOpts) string {
		t.Helper()
		rows := c.listed(c.GetTables(c.ctx(), o))(schema_ref.Tables)
		var out []string
		for _, r := range rows {
			out = append(out, r[0]+"."+r[1]+"."+r[2]+" "+r[3])
		}
		return strings.Join(out, "\n")
	}
	s := func(v string) *string { return &v }
	equal(t, "all of the lake", get(&flightsql.GetTablesOpts{Catalog: s("lake")}), strings.Join([]string{
		"lake.main.Größe 100% TABLE", "lake.main.my_table TABLE", "lake.main.myxtable TABLE", "lake.main.v VIEW", "lake.other.my_table TABLE"}, "\n"))
	equal(t, "the server's own", get(&flightsql.GetTablesOpts{Catalog: s("vega")}), strings.Join([]string{
		"vega.main.jobs TABLE", "vega.main.materialized_views TABLE", "vega.main.streaming_views TABLE", "vega.main.view_sources TABLE"}, "\n"))
	equal(t, "_ is one character", get(&flightsql.GetTablesOpts{DbSchemaFilterPattern: s("main"), TableNameFilterPattern: s("my_table")}),
		"lake.main.my_table TABLE\nlake.main.myxtable TABLE")
	equal(t, "escaped", get(&flightsql.GetTablesOpts{DbSchemaFilterPattern: s("main"), TableNameFilterPattern: s(`my\_table`)}), "lake.main.my_table TABLE")
	equal(t, "escaped %", get(&flightsql.GetTablesOpts{TableNameFilterPattern: s(`gr%100\%`)}), "lake.main.Größe 100% TABLE")
	equal(t, "by type", get(&flightsql.GetTablesOpts{TableTypes: []string{"VIEW", "LOCAL TEMPORARY"}}), "lake.main.v VIEW\ntemp.main.own LOCAL TEMPORARY")
	equal(t, "unknown type", get(&flightsql.GetTablesOpts{TableTypes: []string{"SYNONYM"}}), "")
	equal(t, "no catalog", get(&flightsql.GetTablesOpts{Catalog: s("")}), "")
	other := h.client("ann")
	rows := other.listed(other.GetTables(other.ctx(), &flightsql.GetTablesOpts{TableTypes: []string{"LOCAL TEMPORARY"}}))(schema_ref.Tables)
	equal(t, "another session's temporary tables", len(rows), 0)
}

func TestMaterializedViewsHaveTheirType(t *testing.T) {
	_, c := furnished(t)
	c.must("CREATE MATERIALIZED VIEW mv AS SELECT id FROM my_table")
	name := "mv"
	rows := c.listed(c.GetTables(c.ctx(), &flightsql.GetTablesOpts{TableNameFilterPattern: &name}))(schema_ref.Tables)
	equal(t, "type", rows[0][3], "MATERIALIZED VIEW")
}

func TestTableSchemas(t *testing.T) {
	_, c := furnished(t)
	info, err := c.GetTables(c.ctx(), &flightsql.GetTablesOpts{IncludeSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.DoGet(c.ctx(), info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Schema().Equal(schema_ref.TablesWithIncludedSchema) {
		t.Errorf("schema %s", r.Schema())
	}
	if !r.Next() {
		t.Fatal(r.Err())
	}
	schemas := map[string]*arrow.Schema{}
	batch := r.RecordBatch()
	for i := range int(batch.NumRows()) {
		schema, err := flight.DeserializeSchema(batch.Column(4).(*array.Binary).Value(i), memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		schemas[batch.Column(1).ValueStr(i)+"."+batch.Column(2).ValueStr(i)] = schema
	}
	if r.Next() {
		t.Error("the list has a second batch, which clients that look for one table do not read")
	}
	table := schemas["main.my_table"]
	for i, want := range []struct {
		name, sql string
		kind      arrow.DataType
		nullable  bool
	}{
		{"id", "INTEGER", arrow.PrimitiveTypes.Int32, false},
		{"price", "DECIMAL(9,2)", &arrow.Decimal128Type{Precision: 9, Scale: 2}, true},
		{"tags", "VARCHAR[]", arrow.ListOf(arrow.BinaryTypes.String), true},
		{"since", "TIMESTAMP WITH TIME ZONE", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, true},
	} {
		f := table.Field(i)
		meta := flightsql.ColumnMetadata{Data: &f.Metadata}
		sql, _ := meta.TypeName()
		name, _ := meta.TableName()
		if f.Name != want.name || sql != want.sql || !arrow.TypeEqual(f.Type, want.kind) || f.Nullable != want.nullable || name != "my_table" {
			t.Errorf("column %d: %s %s, %q", i, f, f.Metadata, sql)
		}
	}
	equal(t, "columns of other.my_table", schemas["other.my_table"].Field(0).Name, "j")
	equal(t, "columns of a temporary table", schemas["main.own"].Field(0).Name, "k")
	equal(t, "columns of a view", schemas["main.v"].Field(0).Name, "id")
	equal(t, "columns of vega.jobs", schemas["main.jobs"].Field(0).Name, "job_id")
}

func TestAViewWithoutItsSourceIsStillListed(t *testing.T) {
	_, c := furnished(t)
	c.must("DROP TABLE my_table")
	name := "v"
	info, err := c.GetTables(c.ctx(), &flightsql.GetTablesOpts{TableNameFilterPattern: &name, IncludeSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.rows(info)
	if err != nil || len(rows) != 1 {
		t.Errorf("%v, %v", rows, err)
	}
}

func TestKeysAndTypes(t *testing.T) {
	_, c := furnished(t)
	ref := flightsql.TableRef{Table: "my_table"}
	equal(t, "primary keys", len(c.listed(c.GetPrimaryKeys(c.ctx(), ref))(schema_ref.PrimaryKeys)), 0)
	equal(t, "exported keys", len(c.listed(c.GetExportedKeys(c.ctx(), ref))(schema_ref.ExportedKeys)), 0)
	equal(t, "imported keys", len(c.listed(c.GetImportedKeys(c.ctx(), ref))(schema_ref.ImportedKeys)), 0)
	equal(t, "cross reference", len(c.listed(c.GetCrossReference(c.ctx(), ref, ref))(schema_ref.CrossReference)), 0)
	rows := c.listed(c.GetXdbcTypeInfo(c.ctx(), nil))(schema_ref.XdbcTypeInfo)
	equal(t, "types", len(rows), len(sqlTypes))
	varchar := int32(xdbcVarchar)
	rows = c.listed(c.GetXdbcTypeInfo(c.ctx(), &varchar))(schema_ref.XdbcTypeInfo)
	equal(t, "types of one number", column(rows, 0), "VARCHAR JSON")
	none := int32(4711)
	equal(t, "types of an unknown number", len(c.listed(c.GetXdbcTypeInfo(c.ctx(), &none))(schema_ref.XdbcTypeInfo)), 0)
}

func TestTypesAreInOrderAndReal(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	for i, x := range sqlTypes {
		if i > 0 && x.code < sqlTypes[i-1].code {
			t.Errorf("%s is out of order", x.name)
		}
		if x.code != xdbcOther {
			c.must("SELECT NULL::" + x.name)
		}
	}
}

func TestSqlInfo(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	ask := func(ids ...flightsql.SqlInfo) [][]string {
		t.Helper()
		return c.listed(c.GetSqlInfo(c.ctx(), ids))(schema_ref.SqlInfo)
	}
	all := ask()
	have := map[string]bool{}
	for _, r := range all {
		have[r[0]] = true
	}
	for id := range 12 {
		if !have[strconv.Itoa(id)] {
			t.Errorf("number %d has no answer", id)
		}
	}
	for id := 500; id <= 576; id++ {
		if !have[strconv.Itoa(id)] {
			t.Errorf("number %d has no answer", id)
		}
	}
	equal(t, "numbers 100 and 101", have["100"] && have["101"], true)
	if got := ask(flightsql.SqlInfoFlightSqlServerTransaction)[0][1]; !strings.Contains(got, "1") {
		t.Errorf("transactions: %s", got)
	}
	rows := ask(flightsql.SqlInfoFlightSqlServerName, 99999)
	equal(t, "with an unknown number", len(rows), 1)
	equal(t, "only unknown numbers", len(ask(99999)), 0)
	for _, list := range []flightsql.SqlInfo{flightsql.SqlInfoKeywords, flightsql.SqlInfoNumericFunctions, flightsql.SqlInfoStringFunctions, flightsql.SqlInfoDateTimeFunctions} {
		if got := ask(list)[0][1]; len(got) < 200 {
			t.Errorf("%s is short: %s", list, got)
		}
	}
}
