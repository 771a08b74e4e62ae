package flightsql

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
)

// The catalogs that clients see. All others of the DuckDB instance are internal.
const (
	vegaCatalog = "vega"
	tempCatalog = "temp" // holds a session's own objects; no catalog of the list
)

// The kinds of tables.
const (
	typeTable     = "TABLE"
	typeView      = "VIEW"
	typeMatView   = "MATERIALIZED VIEW"
	typeStreaming = "STREAMING MATERIALIZED VIEW"
	typeTemporary = "LOCAL TEMPORARY"
)

var tableTypes = []string{typeTable, typeView, typeMatView, typeStreaming, typeTemporary}

// listing describes a metadata answer: its ticket is the command itself.
func (s *Service) listing(desc *flight.FlightDescriptor, schema *arrow.Schema) *flight.FlightInfo {
	return &flight.FlightInfo{
		Schema:           flight.SerializeSchema(schema, s.Alloc),
		FlightDescriptor: desc,
		Endpoint:         []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: desc.Cmd}}},
		TotalRecords:     -1,
		TotalBytes:       -1,
	}
}

// list streams one batch, which it takes.
func (s *Service) list(ctx context.Context, batch arrow.RecordBatch) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	schema, ch := s.chunks(ctx, newStream(newBatches(batch.Schema(), batch), unknownRows))
	return schema, ch, nil
}

// GetFlightInfoCatalogs describes the list of catalogs.
func (s *Service) GetFlightInfoCatalogs(_ context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return s.listing(desc, schema_ref.Catalogs), nil
}

// DoGetCatalogs lists the catalogs.
func (s *Service) DoGetCatalogs(ctx context.Context) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	b := array.NewRecordBuilder(s.Alloc, schema_ref.Catalogs)
	defer b.Release()
	for _, name := range s.catalogs() {
		b.Field(0).(*array.StringBuilder).Append(name)
	}
	return s.list(ctx, b.NewRecordBatch())
}

// catalogs are the visible ones, sorted.
func (s *Service) catalogs() []string {
	names := []string{s.lake.Name(), vegaCatalog}
	slices.Sort(names)
	return names
}

// GetFlightInfoSchemas describes the list of schemas.
func (s *Service) GetFlightInfoSchemas(_ context.Context, _ flightsql.GetDBSchemas, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return s.listing(desc, schema_ref.DBSchemas), nil
}

// DoGetDBSchemas lists the schemas of the visible catalogs.
func (s *Service) DoGetDBSchemas(ctx context.Context, cmd flightsql.GetDBSchemas) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	objects, err := s.listed(ctx)
	if err != nil {
		return nil, nil, err
	}
	names := []tableKey{{catalog: vegaCatalog, schema: "main"}}
	for _, schema := range objects.Schemas {
		names = append(names, tableKey{catalog: s.lake.Name(), schema: schema})
	}
	slices.SortFunc(names, func(a, b tableKey) int {
		return slices.Compare([]string{a.catalog, a.schema}, []string{b.catalog, b.schema})
	})
	b := array.NewRecordBuilder(s.Alloc, schema_ref.DBSchemas)
	defer b.Release()
	filter := pattern{cmd.GetDBSchemaFilterPattern()}
	for _, n := range names {
		if inCatalog(cmd.GetCatalog(), n.catalog) && filter.matches(n.schema) {
			b.Field(0).(*array.StringBuilder).Append(n.catalog)
			b.Field(1).(*array.StringBuilder).Append(n.schema)
		}
	}
	return s.list(ctx, b.NewRecordBatch())
}

// inCatalog applies a catalog filter, which is a name and not a pattern. An
// empty one asks for what is in no catalog, which is nothing.
func inCatalog(filter *string, catalog string) bool {
	return filter == nil || equalNames(*filter, catalog)
}

// GetFlightInfoTableTypes describes the list of the kinds of tables.
func (s *Service) GetFlightInfoTableTypes(_ context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return s.listing(desc, schema_ref.TableTypes), nil
}

// DoGetTableTypes lists the kinds of tables.
func (s *Service) DoGetTableTypes(ctx context.Context) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	b := array.NewRecordBuilder(s.Alloc, schema_ref.TableTypes)
	defer b.Release()
	b.Field(0).(*array.StringBuilder).AppendValues(tableTypes, nil)
	return s.list(ctx, b.NewRecordBatch())
}
