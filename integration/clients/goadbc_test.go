package clients

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-adbc/go/adbc"
	"github.com/apache/arrow-adbc/go/adbc/driver/flightsql"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// adbcConnection is a connection of ADBC's Go driver.
type adbcConnection struct {
	t *testing.T
	adbc.Connection
}

func (s *servers) adbcOptions(t *testing.T) map[string]string {
	t.Helper()
	pem, err := os.ReadFile(s.certificate)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		adbc.OptionKeyURI: s.secure.Flight, adbc.OptionKeyUsername: "ann", adbc.OptionKeyPassword: "secret", flightsql.OptionSSLRootCerts: string(pem),
	}
}

func openADBC(t *testing.T, options map[string]string) (*adbcConnection, error) {
	t.Helper()
	db, err := flightsql.NewDriver(memory.DefaultAllocator).NewDatabase(options)
	if err != nil {
		return nil, err
	}
	con, err := db.Open(t.Context())
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	t.Cleanup(func() {
		if err := errors.Join(con.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	return &adbcConnection{t, con}, nil
}

// query gives the rows as Arrow's text of them.
func (c *adbcConnection) query(ctx context.Context, sql string, bind arrow.RecordBatch) (string, error) {
	st, err := c.NewStatement()
	if err != nil {
		return "", err
	}
	defer func() { _ = st.Close() }()
	if err := st.SetSqlQuery(sql); err != nil {
		return "", err
	}
	if bind != nil {
		if err := errors.Join(st.Prepare(ctx), st.Bind(ctx, bind)); err != nil {
			return "", err
		}
	}
	r, _, err := st.ExecuteQuery(ctx)
	if err != nil {
		return "", err
	}
	defer r.Release()
	var out strings.Builder
	for r.Next() {
		for row := range int(r.RecordBatch().NumRows()) {
			for i, column := range r.RecordBatch().Columns() {
				if i > 0 {
					out.WriteByte('|')
				}
				out.WriteString(column.ValueStr(row))
			}
			out.WriteByte('\n')
		}
	}
	return out.String(), r.Err()
}

func (c *adbcConnection) is(sql, want string) {
	c.t.Helper()
	if got, err := c.query(c.t.Context(), sql, nil); err != nil || got != want {
		c.t.Errorf("%s\ngot %q, %v; want %q", sql, got, err, want)
	}
}

func (c *adbcConnection) must(sql string) {
	c.t.Helper()
	if _, err := c.query(c.t.Context(), sql, nil); err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
}

func adbcRows(t *testing.T, fields []arrow.Field, json string) arrow.RecordBatch {
	t.Helper()
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema(fields, nil), strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func (s *servers) goADBC(t *testing.T) {
	c, err := openADBC(t, s.adbcOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	key, err := openADBC(t, map[string]string{adbc.OptionKeyURI: s.plain.Flight, flightsql.OptionAuthorizationHeader: "Bearer k1"})
	if err != nil {
		t.Fatal(err)
	}
	key.is("SELECT 1", "1\n")
	// A refused login is tried in Python, by the same driver: here the connection that the driver forgets would be seen.

	// Bulk load, with types that are more than numbers.
	place := arrow.StructOf(arrow.Field{Name: "city", Type: arrow.BinaryTypes.String, Nullable: true})
	rows := adbcRows(t, []arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "amount", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}, Nullable: true},
		{Name: "sold_at", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
		{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		{Name: "place", Type: place, Nullable: true},
	}, `[{"id": 1, "amount": "9.50", "sold_at": 1767323045678901, "tags": ["a", null], "place": {"city": "Oslo"}}, {"id": 2}]`)
	load, err := c.NewStatement()
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(load.SetOption(adbc.OptionKeyIngestTargetTable, "go_orders"), load.SetOption(adbc.OptionKeyIngestMode, adbc.OptionValueIngestModeCreate),
		load.Bind(t.Context(), rows))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := load.ExecuteUpdate(t.Context()); err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
	if err := load.Close(); err != nil {
		t.Error(err)
	}
	c.is("SELECT * FROM go_orders WHERE id = 1", "1|9.5|2026-01-02T03:04:05.678901Z|[\"a\",null]|{\"city\":\"Oslo\"}\n")
	c.is("SELECT * FROM go_orders WHERE id = 2", "2|(null)|(null)|(null)|(null)\n")

	bound := adbcRows(t, []arrow.Field{
		{Name: "1", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}}, {Name: "2", Type: arrow.FixedWidthTypes.Timestamp_us},
	}, `[{"1": "9.00", "2": 1767323045000000}]`)
	if got, err := c.query(t.Context(), "SELECT id FROM go_orders WHERE amount > ? AND sold_at > ?", bound); err != nil || got != "1\n" {
		t.Errorf("%q, %v", got, err)
	}

	tx := c.Connection.(adbc.PostInitOptions)
	if err := tx.SetOption(adbc.OptionKeyAutoCommit, adbc.OptionValueDisabled); err != nil {
		t.Fatal(err)
	}
	c.must("DELETE FROM go_orders WHERE id = 2")
	c.is("SELECT count(*) FROM go_orders", "1\n")
	if err := errors.Join(c.Rollback(t.Context()), tx.SetOption(adbc.OptionKeyAutoCommit, adbc.OptionValueEnabled)); err != nil {
		t.Fatal(err)
	}
	c.is("SELECT count(*) FROM go_orders", "2\n")

	table := "go_orders"
	schema, err := c.GetTableSchema(t.Context(), nil, nil, table)
	if err != nil || len(schema.Fields()) != 5 || !arrow.TypeEqual(schema.Field(4).Type, place) {
		t.Errorf("%v, %v", schema, err)
	}
	if _, err := c.query(t.Context(), "SELECT * FROM nobody_knows", nil); err == nil || !strings.Contains(err.Error(), "OBJECT_NOT_FOUND") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	st, err := c.NewStatement()
	if err != nil {
		t.Fatal(err)
	}
	if err := st.SetSqlQuery("SELECT i FROM range(1000000000000) t(i)"); err != nil {
		t.Fatal(err)
	}
	endless, _, err := st.ExecuteQuery(ctx)
	if err != nil || !endless.Next() {
		t.Fatalf("%v, %v", err, endless.Err())
	}
	cancel()
	for endless.Next() {
	}
	if err := endless.Err(); err == nil || !strings.Contains(strings.ToLower(err.Error()), "cancel") {
		t.Errorf("cancelled: %v", err)
	}
	endless.Release()
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	c.is("SELECT 1", "1\n")

	c.must("CREATE MATERIALIZED VIEW go_total AS SELECT count(*) AS n FROM go_orders")
	c.is("SELECT n FROM go_total", "2\n")
	c.subscribes()
}

// subscribes follows a streaming view through a change.
func (c *adbcConnection) subscribes() {
	c.t.Helper()
	c.must("CREATE STREAMING MATERIALIZED VIEW go_live WITH (wait_for_ready = true) AS SELECT id FROM go_orders WHERE id < 9")
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	st, err := c.NewStatement()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := st.SetSqlQuery("SUBSCRIBE TO go_live"); err != nil {
		c.t.Fatal(err)
	}
	r, _, err := st.ExecuteQuery(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	have := map[int64]int64{}
	for have[3] == 0 && r.Next() {
		batch := r.RecordBatch()
		weight, progress, id := batch.Column(1).(*array.Int64), batch.Column(2).(*array.String), batch.Column(3).(*array.Int64)
		for row := range int(batch.NumRows()) {
			switch {
			case progress.IsNull(row):
				have[id.Value(row)] += weight.Value(row)
			case progress.Value(row) == "end":
				c.must("INSERT INTO go_orders (id) VALUES (3)")
			}
		}
	}
	if len(have) != 3 || have[1] != 1 || have[2] != 1 || have[3] != 1 {
		c.t.Errorf("%v, %v", have, r.Err())
	}
	cancel()
	r.Release()
	if err := st.Close(); err != nil {
		c.t.Error(err)
	}
}
