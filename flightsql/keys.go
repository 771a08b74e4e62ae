package flightsql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
)

// A lake has no keys, so every answer about them is empty and has its schema.

// GetFlightInfoPrimaryKeys describes an empty list.
func (s *Service) GetFlightInfoPrimaryKeys(_ context.Context, _ flightsql.TableRef, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return s.listing(desc, schema_ref.PrimaryKeys), nil
}

// DoGetPrimaryKeys is an empty list.
func (s *Service) DoGetPrimaryKeys(ctx context.Context, _ flightsql.TableRef) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return s.list(ctx, s.empty(schema_ref.PrimaryKeys))
}

// GetFlightInfoExportedKeys describes an empty list.
func (s *Service) GetFlightInfoExportedKeys(_ context.Context, _ flightsql.TableRef, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return s.listing(desc, schema_ref.ExportedKeys), nil
}

// DoGetExportedKeys is an empty list.
func (s *Service) DoGetExportedKeys(ctx context.Context, _ flightsql.TableRef) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return s.list(ctx, s.empty(schema_ref.ExportedKeys))
}

// GetFlightInfoImportedKeys describes an empty list.
func (s *Service) GetFlightInfoImportedKeys(_ context.Context, _ flightsql.TableRef, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return s.listing(desc, schema_ref.ImportedKeys), nil
}

// DoGetImportedKeys is an empty list.
func (s *Service) DoGetImportedKeys(ctx context.Context, _ flightsql.TableRef) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return s.list(ctx, s.empty(schema_ref.ImportedKeys))
}

// GetFlightInfoCrossReference describes an empty list.
func (s *Service) GetFlightInfoCrossReference(_ context.Context, _ flightsql.CrossTableRef, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return s.listing(desc, schema_ref.CrossReference), nil
}

// DoGetCrossReference is an empty list.
func (s *Service) DoGetCrossReference(ctx context.Context, _ flightsql.CrossTableRef) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return s.list(ctx, s.empty(schema_ref.CrossReference))
}

func (s *Service) empty(schema *arrow.Schema) arrow.RecordBatch {
	b := array.NewRecordBuilder(s.Alloc, schema)
	defer b.Release()
	return b.NewRecordBatch()
}
