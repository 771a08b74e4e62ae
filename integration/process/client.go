package process

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Client is a Flight SQL connection that keeps its session's cookie.
type Client struct {
	*flightsql.Client
}

// Connect opens a connection; it is closed with the test.
func (s *Server) Connect(t testing.TB) *Client {
	t.Helper()
	return s.ConnectAs(t, "")
}

// ConnectAs is Connect for the user with this API key.
func (s *Server) ConnectAs(t testing.TB, key string) *Client {
	t.Helper()
	opts := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64 << 20))}
	if key != "" {
		opts = append(opts, grpc.WithPerRPCCredentials(apiKey(key)))
	}
	c, err := flightsql.NewClient(strings.TrimPrefix(s.Flight, "grpc://"), nil,
		[]flight.ClientMiddleware{flight.NewClientCookieMiddleware()}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // the server may be gone
	return &Client{c}
}

// apiKey is sent with every call.
type apiKey string

func (k apiKey) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"x-api-key": string(k)}, nil
}

func (apiKey) RequireTransportSecurity() bool { return false }

// Query runs one statement and returns its rows as text; NULL is "(null)".
func (c *Client) Query(ctx context.Context, sql string) ([][]string, error) {
	info, err := c.Execute(ctx, sql)
	if err != nil {
		return nil, err
	}
	return c.Fetch(ctx, info)
}

// Fetch reads every endpoint of info.
func (c *Client) Fetch(ctx context.Context, info *flight.FlightInfo) ([][]string, error) {
	var rows [][]string
	for _, ep := range info.GetEndpoint() {
		r, err := c.DoGet(ctx, ep.GetTicket())
		if err != nil {
			return nil, err
		}
		for r.Next() {
			rows = append(rows, Rows(r.RecordBatch())...)
		}
		err = r.Err()
		r.Release()
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// Must is Query that fails the test on an error.
func (c *Client) Must(t testing.TB, sql string) [][]string {
	t.Helper()
	rows, err := c.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// Value is Must for a single value.
func (c *Client) Value(t testing.TB, sql string) string {
	t.Helper()
	rows := c.Must(t, sql)
	if len(rows) != 1 || len(rows[0]) == 0 {
		t.Fatalf("%s: got %v, want one row", sql, rows)
	}
	return rows[0][0]
}

// Ingest appends rows to a table, made when it is not there.
func (c *Client) Ingest(ctx context.Context, table string, rows array.RecordReader) (int64, error) {
	return c.ExecuteIngest(ctx, rows, &flightsql.ExecuteIngestOpts{
		Table: table,
		TableDefinitionOptions: &flightsql.TableDefinitionOptions{
			IfNotExist: flightsql.TableDefinitionOptionsTableNotExistOptionCreate,
			IfExists:   flightsql.TableDefinitionOptionsTableExistsOptionAppend,
		},
	})
}

// Rows is a batch as text.
func Rows(rec arrow.RecordBatch) [][]string {
	rows := make([][]string, rec.NumRows())
	for i := range rows {
		for _, col := range rec.Columns() {
			rows[i] = append(rows[i], col.ValueStr(i))
		}
	}
	return rows
}
