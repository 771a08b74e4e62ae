package scenarios

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/metadata"

	vega "github.com/vegadb/vega-flight/flightsql"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

// Scenarios about Flight SQL: statements that are no SQL are answered here,
// everything else (all metadata, SqlInfo, sessions) by the real service.

func sqlRoute(make func(*vega.Service) flightsql.Server) func(*vega.Service) flight.FlightServer {
	return func(s *vega.Service) flight.FlightServer { return flightsql.NewFlightServer(make(s)) }
}

// queries is the service with two statements that only the scenario knows.
type queries struct{ *vega.Service }

// querySchema is what the scenario expects, column metadata included.
var querySchema = arrow.NewSchema([]arrow.Field{{
	Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true,
	Metadata: *flightsql.NewColumnMetadataBuilder().TableName("test").IsAutoIncrement(true).IsCaseSensitive(false).TypeName("type_test").
		SchemaName("schema_test").IsSearchable(true).CatalogName("catalog_test").Precision(100).Remarks("test column").Build().Data,
}}, nil)

func nothing() (*arrow.Schema, <-chan flight.StreamChunk, error) {
	ch := make(chan flight.StreamChunk)
	close(ch)
	return querySchema, ch, nil
}

func expect(what, got, want string) error {
	if got != want {
		return fmt.Errorf("%s is %q, the scenario has %q", what, got, want)
	}
	return nil
}

func (queries) GetFlightInfoStatement(_ context.Context, cmd flightsql.StatementQuery, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	ticket, err := flightsql.CreateStatementQueryTicket([]byte("SELECT STATEMENT HANDLE"))
	if err != nil {
		return nil, err
	}
	return describe(querySchema, desc, &flight.FlightEndpoint{Ticket: &flight.Ticket{Ticket: ticket}}), expect("query", cmd.GetQuery(), "SELECT STATEMENT")
}

func (queries) GetSchemaStatement(_ context.Context, cmd flightsql.StatementQuery, _ *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	return &flight.SchemaResult{Schema: flight.SerializeSchema(querySchema, memory.DefaultAllocator)}, expect("query", cmd.GetQuery(), "SELECT STATEMENT")
}

func (queries) DoGetStatement(_ context.Context, cmd flightsql.StatementQueryTicket) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	if err := expect("handle", string(cmd.GetStatementHandle()), "SELECT STATEMENT HANDLE"); err != nil {
		return nil, nil, err
	}
	return nothing()
}

func (queries) DoPutCommandStatementUpdate(_ context.Context, cmd flightsql.StatementUpdate) (int64, error) {
	return 10000, expect("query", cmd.GetQuery(), "UPDATE STATEMENT")
}

func (queries) CreatePreparedStatement(_ context.Context, req flightsql.ActionCreatePreparedStatementRequest) (res flightsql.ActionCreatePreparedStatementResult, err error) {
	if !strings.HasSuffix(req.GetQuery(), " PREPARED STATEMENT") {
		return res, expect("query", req.GetQuery(), "SELECT PREPARED STATEMENT")
	}
	res.Handle = []byte(req.GetQuery() + " HANDLE")
	return res, nil
}

func (queries) ClosePreparedStatement(_ context.Context, req flightsql.ActionClosePreparedStatementRequest) error {
	if !strings.HasSuffix(string(req.GetPreparedStatementHandle()), " PREPARED STATEMENT HANDLE") {
		return expect("handle", string(req.GetPreparedStatementHandle()), "SELECT PREPARED STATEMENT HANDLE")
	}
	return nil
}

func (queries) GetFlightInfoPreparedStatement(_ context.Context, cmd flightsql.PreparedStatementQuery, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return describe(querySchema, desc, &flight.FlightEndpoint{Ticket: &flight.Ticket{Ticket: desc.Cmd}}),
		expect("handle", string(cmd.GetPreparedStatementHandle()), "SELECT PREPARED STATEMENT HANDLE")
}

func (queries) GetSchemaPreparedStatement(_ context.Context, cmd flightsql.PreparedStatementQuery, _ *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	return &flight.SchemaResult{Schema: flight.SerializeSchema(querySchema, memory.DefaultAllocator)},
		expect("handle", string(cmd.GetPreparedStatementHandle()), "SELECT PREPARED STATEMENT HANDLE")
}

func (queries) DoGetPreparedStatement(context.Context, flightsql.PreparedStatementQuery) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return nothing()
}

func (queries) DoPutPreparedStatementQuery(_ context.Context, cmd flightsql.PreparedStatementQuery, r flight.MessageReader, _ flight.MetadataWriter) ([]byte, error) {
	return cmd.GetPreparedStatementHandle(), expect("parameters", r.Schema().String(), querySchema.String())
}

func (queries) DoPutPreparedStatementUpdate(_ context.Context, cmd flightsql.PreparedStatementUpdate, _ flight.MessageReader) (int64, error) {
	return 20000, expect("handle", string(cmd.GetPreparedStatementHandle()), "UPDATE PREPARED STATEMENT HANDLE")
}

func TestFlightSQL(t *testing.T) {
	play(t, start(t, auth.NoAuth{}, sqlRoute(func(s *vega.Service) flightsql.Server { return queries{s} })), "flight_sql")
}

// ingestion counts the rows of a table that does not exist.
type ingestion struct{ *vega.Service }

func (ingestion) DoPutCommandStatementIngest(_ context.Context, cmd flightsql.StatementIngest, r flight.MessageReader) (int64, error) {
	if err := expect("target", strings.Join([]string{cmd.GetCatalog(), cmd.GetSchema(), cmd.GetTable(), string(cmd.GetTransactionId())}, "."),
		"test_catalog.test_schema.test_table.123"); err != nil {
		return 0, err
	}
	var rows int64
	for r.Next() {
		rows += r.RecordBatch().NumRows()
	}
	return rows, r.Err()
}

func TestIngestion(t *testing.T) {
	play(t, start(t, auth.NoAuth{}, sqlRoute(func(s *vega.Service) flightsql.Server { return ingestion{s} })), "flight_sql:ingestion")
}

// options keeps the scenario's free-form options beside the real session, under its cookie.
type options struct {
	*vega.Service
	mu   sync.Mutex
	kept map[string]map[string]*flight.SessionOptionValue
}

func cookie(ctx context.Context) string {
	return strings.Join(metadata.ValueFromIncomingContext(ctx, "cookie"), ";")
}

func (o *options) GetSessionOptions(ctx context.Context, req *flight.GetSessionOptionsRequest) (*flight.GetSessionOptionsResult, error) {
	// The first call opens the real session and gives its cookie.
	if _, err := o.Service.SetSessionOptions(ctx, &flight.SetSessionOptionsRequest{}); err != nil {
		return nil, err
	}
	if _, err := o.Service.GetSessionOptions(ctx, req); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return &flight.GetSessionOptionsResult{SessionOptions: o.kept[cookie(ctx)]}, nil
}

func (o *options) SetSessionOptions(ctx context.Context, req *flight.SetSessionOptionsRequest) (*flight.SetSessionOptionsResult, error) {
	if _, err := o.Service.SetSessionOptions(ctx, &flight.SetSessionOptionsRequest{}); err != nil {
		return nil, err
	}
	if cookie(ctx) == "" {
		return nil, fmt.Errorf("the session's cookie did not come back")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	mine := o.kept[cookie(ctx)]
	if mine == nil {
		mine = map[string]*flight.SessionOptionValue{}
		o.kept[cookie(ctx)] = mine
	}
	bad := map[string]*flight.SetSessionOptionsResultError{}
	for name, value := range req.GetSessionOptions() {
		switch {
		case name == "lol_invalid":
			bad[name] = &flight.SetSessionOptionsResultError{Value: flight.SetSessionOptionsResultErrorInvalidName}
		case value.GetStringValue() == "lol_invalid":
			bad[name] = &flight.SetSessionOptionsResultError{Value: flight.SetSessionOptionsResultErrorInvalidValue}
		case value.GetOptionValue() == nil:
			delete(mine, name)
		default:
			mine[name] = value
		}
	}
	return &flight.SetSessionOptionsResult{Errors: bad}, nil
}

func TestSessionOptions(t *testing.T) {
	route := sqlRoute(func(s *vega.Service) flightsql.Server {
		return &options{Service: s, kept: map[string]map[string]*flight.SessionOptionValue{}}
	})
	play(t, start(t, auth.NoAuth{}, route), "session_options")
}
