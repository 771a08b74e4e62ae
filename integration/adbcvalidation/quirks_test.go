package adbcvalidation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-adbc/go/adbc"
	"github.com/apache/arrow-adbc/go/adbc/driver/flightsql"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/vegadb/vega-flight/integration/process"
)

// quirks tells the suites about the server and the driver.
type quirks struct {
	t      *testing.T
	server *process.Server
}

func (q *quirks) SetupDriver(*testing.T) adbc.Driver {
	return flightsql.NewDriver(q.Alloc())
}

func (q *quirks) TearDownDriver(*testing.T, adbc.Driver) {}

func (q *quirks) DatabaseOptions() map[string]string {
	return map[string]string{adbc.OptionKeyURI: strings.Replace(q.server.Flight, "grpc://", "grpc+tcp://", 1)}
}

func (q *quirks) BindParameter(int) string                    { return "?" }
func (q *quirks) SupportsBulkIngest(string) bool              { return true }
func (q *quirks) SupportsConcurrentStatements() bool          { return true }
func (q *quirks) SupportsCurrentCatalogSchema() bool          { return true }
func (q *quirks) SupportsGetSetOptions() bool                 { return true }
func (q *quirks) SupportsExecuteSchema() bool                 { return true }
func (q *quirks) SupportsPartitionedData() bool               { return true }
func (q *quirks) SupportsStatistics() bool                    { return false } // not part of Flight SQL
func (q *quirks) SupportsTransactions() bool                  { return true }
func (q *quirks) SupportsGetParameterSchema() bool            { return true }
func (q *quirks) SupportsDynamicParameterBinding() bool       { return true }
func (q *quirks) SupportsErrorIngestIncompatibleSchema() bool { return true }
func (q *quirks) Catalog() string                             { return "lake" }
func (q *quirks) DBSchema() string                            { return "main" }

// Alloc is not a checked allocator: the driver never releases the reader that it makes of an ingested batch.
func (q *quirks) Alloc() memory.Allocator { return memory.DefaultAllocator }

func (q *quirks) GetMetadata(code adbc.InfoCode) any {
	switch code {
	case adbc.InfoDriverName:
		return "ADBC Flight SQL Driver - Go"
	case adbc.InfoDriverVersion, adbc.InfoDriverArrowVersion:
		return "(unknown or development build)"
	case adbc.InfoDriverADBCVersion:
		return adbc.AdbcVersion1_1_0
	case adbc.InfoVendorName:
		return "vega-flight"
	case adbc.InfoVendorVersion:
		return "dev"
	case adbc.InfoVendorArrowVersion:
		return arrow.PkgVersion
	}
	return nil
}

var sqlTypes = map[arrow.Type]string{arrow.INT64: "BIGINT", arrow.STRING: "VARCHAR"}

func (q *quirks) CreateSampleTable(name string, r arrow.RecordBatch) error {
	c := q.server.Connect(q.t)
	var columns []string
	for _, f := range r.Schema().Fields() {
		columns = append(columns, fmt.Sprintf(`"%s" %s`, f.Name, sqlTypes[f.Type.ID()]))
	}
	if _, err := c.Query(q.t.Context(), fmt.Sprintf(`CREATE OR REPLACE TABLE %s (%s)`, name, strings.Join(columns, ", "))); err != nil {
		return err
	}
	rows, err := array.NewRecordReader(r.Schema(), []arrow.RecordBatch{r})
	if err != nil {
		return err
	}
	defer rows.Release()
	_, err = c.Ingest(q.t.Context(), name, rows)
	return err
}

func (q *quirks) SampleTableSchemaMetadata(name string, dt arrow.DataType) arrow.Metadata {
	return arrowsql.NewColumnMetadataBuilder().CatalogName("lake").SchemaName("main").TableName(name).TypeName(sqlTypes[dt.ID()]).
		IsAutoIncrement(false).IsCaseSensitive(false).IsReadOnly(false).IsSearchable(true).Metadata()
}

func (q *quirks) DropTable(c adbc.Connection, name string) error {
	st, err := c.NewStatement()
	if err != nil {
		return err
	}
	err = st.SetSqlQuery("DROP TABLE IF EXISTS " + name)
	if err == nil {
		_, err = st.ExecuteUpdate(context.Background())
	}
	return errors.Join(err, st.Close())
}
