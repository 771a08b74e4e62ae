package flightsql

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/vegadb/vega-flight/fault"
)

// table makes a batch from JSON rows.
func table(t *testing.T, schema *arrow.Schema, rows string) arrow.RecordBatch {
	t.Helper()
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func ints(names ...string) *arrow.Schema {
	fields := make([]arrow.Field, len(names))
	for i, n := range names {
		fields[i] = arrow.Field{Name: n, Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

func (c *client) prepare(sql string) *flightsql.PreparedStatement {
	c.t.Helper()
	p, err := c.Prepare(c.ctx(), sql)
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return p
}

// run executes a prepared statement and reads it.
func (c *client) run(p *flightsql.PreparedStatement) ([][]string, error) {
	info, err := p.Execute(c.ctx())
	if err != nil {
		return nil, err
	}
	return c.rows(info)
}

func TestPrepareDescribesAndRunsNothing(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE p (i INTEGER, s VARCHAR)")
	for _, x := range []struct {
		sql             string
		update          bool
		columns, params int
	}{
		{"SELECT i, s FROM p WHERE i > ?", false, 2, 1},
		{"SELECT ?, ?", false, 0, 2}, // types depend on parameters
		{"INSERT INTO p VALUES (?, ?)", true, 0, 2},
		{"DELETE FROM p", true, 0, 0},
		{"CREATE TABLE q (i INTEGER)", true, 0, 0},
		{"CREATE TABLE q2 AS SELECT * FROM p", true, 0, 0},
		{"CREATE MATERIALIZED VIEW pm AS SELECT i FROM p", false, 1, 0},
		{"REFRESH MATERIALIZED VIEW anything", false, 8, 0},
		{"SHOW JOBS", false, 18, 0},
		{"BEGIN", true, 0, 0},
		{"CREATE TABLE q3 (i INTEGER); SELECT * FROM q3", false, 0, 0},
	} {
		res := c.createPrepared(x.sql)
		schema := decode(t, res.DatasetSchema)
		equal(t, x.sql+": columns", schema.NumFields(), x.columns)
		if x.sql == "CREATE TABLE q3 (i INTEGER); SELECT * FROM q3" {
			continue // nothing can be said before the first statement has run
		}
		if res.IsUpdate == nil || *res.IsUpdate != x.update {
			t.Errorf("%s: is_update is %v", x.sql, res.IsUpdate)
		}
		equal(t, x.sql+": parameters", decode(t, res.ParameterSchema).NumFields(), x.params)
	}
	equal(t, "tables made by preparing", c.value("SELECT count(*) FROM (SHOW TABLES)"), "1")
	_, err := c.Prepare(c.ctx(), "SELECT * FROM missing")
	wants(t, err, fault.ObjectNotFound)
	_, err = c.Prepare(c.ctx(), "SELECT FROM WHERE")
	wants(t, err, fault.SyntaxError)
}

// createPrepared is the action itself, for what the client library hides.
func (c *client) createPrepared(sql string) *pb.ActionCreatePreparedStatementResult {
	c.t.Helper()
	body, err := anypb.New(&pb.ActionCreatePreparedStatementRequest{Query: sql})
	if err != nil {
		c.t.Fatal(err)
	}
	data, err := proto.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	stream, err := c.Client.Client.DoAction(c.ctx(), &flight.Action{Type: flightsql.CreatePreparedStatementActionType, Body: data})
	if err != nil {
		c.t.Fatal(err)
	}
	got, err := stream.Recv()
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	var wrapped anypb.Any
	var res pb.ActionCreatePreparedStatementResult
	if err := proto.Unmarshal(got.Body, &wrapped); err != nil {
		c.t.Fatal(err)
	}
	if err := wrapped.UnmarshalTo(&res); err != nil {
		c.t.Fatal(err)
	}
	return &res
}

func decode(t *testing.T, data []byte) *arrow.Schema {
	t.Helper()
	if len(data) == 0 {
		return arrow.NewSchema(nil, nil)
	}
	s, err := flight.DeserializeSchema(data, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParametersAndRebinding(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	p := c.prepare("SELECT ?::BIGINT * 2 AS n")
	for _, row := range []string{`[{"x": 1}]`, `[{"x": 21}]`} {
		p.SetParameters(table(t, ints("x"), row))
		rows, err := c.run(p)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, row, rows[0][0], map[string]string{`[{"x": 1}]`: "2", `[{"x": 21}]`: "42"}[row])
	}
	// Several rows: the results come one after the other.
	p.SetParameters(table(t, ints("x"), `[{"x": 1}, {"x": 2}, {"x": null}]`))
	rows, err := c.run(p)
	if err != nil || len(rows) != 3 || rows[1][0] != "4" || rows[2][0] != "(null)" {
		t.Errorf("three rows of parameters: %v, %v", rows, err)
	}
	p.SetParameters(table(t, ints("x", "y"), `[{"x": 1, "y": 2}]`))
	_, err = c.run(p)
	wants(t, err, fault.InvalidParameter)

	open := c.prepare("SELECT ? AS a, ? AS b")
	open.SetParameters(table(t, ints("x", "y"), `[{"x": 1, "y": 2}]`))
	if rows, err := c.run(open); err != nil || rows[0][1] != "2" {
		t.Errorf("types from parameters: %v, %v", rows, err)
	}
	named := c.prepare("SELECT $b - $a AS d")
	named.SetParameters(table(t, ints("a", "b"), `[{"a": 1, "b": 10}]`))
	if rows, err := c.run(named); err != nil || rows[0][0] != "9" {
		t.Errorf("named parameters: %v, %v", rows, err)
	}
}

func TestStaleHandle(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	p := c.prepare("SELECT ?::BIGINT AS n")
	first := string(p.Handle())
	p.SetParameters(table(t, ints("x"), `[{"x": 1}]`))
	if _, err := c.run(p); err != nil {
		t.Fatal(err)
	}
	stale := string(p.Handle())
	if stale == first {
		t.Fatal("binding gave no new handle")
	}
	p.SetParameters(table(t, ints("x"), `[{"x": 2}]`))
	if _, err := c.run(p); err != nil {
		t.Fatal(err)
	}
	_, err := c.executeHandle(stale)
	wants(t, err, fault.InvalidParameter)
	if _, err := c.executeHandle(first); err != nil {
		t.Errorf("the first handle means the last binding: %v", err)
	}
	other := h.client("ann")
	_, err = other.executeHandle(string(p.Handle()))
	wants(t, err, fault.HandleNotFound)
	if err := p.Close(c.ctx()); err != nil {
		t.Fatal(err)
	}
	_, err = c.executeHandle(first)
	wants(t, err, fault.HandleNotFound)
}

// executeHandle is GetFlightInfo for a prepared statement's handle.
func (c *client) executeHandle(handle string) (*flight.FlightInfo, error) {
	cmd, err := anypb.New(&pb.CommandPreparedStatementQuery{PreparedStatementHandle: []byte(handle)})
	if err != nil {
		return nil, err
	}
	data, err := proto.Marshal(cmd)
	if err != nil {
		return nil, err
	}
	return c.Client.Client.GetFlightInfo(c.ctx(), &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: data})
}

func TestExecutemanyIsOneTransaction(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE e (i BIGINT NOT NULL, j BIGINT)")
	before := c.value("SELECT count(*) FROM lake.snapshots()")
	p := c.prepare("INSERT INTO e VALUES (?, ?)")
	p.SetParameters(table(t, ints("x", "y"), `[{"x": 1, "y": 10}, {"x": 2, "y": 20}, {"x": 3, "y": null}]`))
	n, err := p.ExecuteUpdate(c.ctx())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "count", n, 3)
	equal(t, "rows", c.value("SELECT count(*) FROM e"), "3")
	_ = before
	p.SetParameters(table(t, ints("x", "y"), `[{"x": 4, "y": 1}, {"x": null, "y": 1}]`))
	_, err = p.ExecuteUpdate(c.ctx())
	if err == nil {
		t.Fatal("a NULL went into a NOT NULL column")
	}
	equal(t, "rows after a failure", c.value("SELECT count(*) FROM e"), "3")
	none := c.prepare("DELETE FROM e WHERE i = 1")
	n, err = none.ExecuteUpdate(c.ctx())
	if err != nil || n != 1 {
		t.Errorf("without parameters: %d, %v", n, err)
	}
}

func TestPreparedFollowsSchemaChanges(t *testing.T) {
	h := open(t)
	c, other := h.client("ann"), h.client("ann")
	c.must("CREATE TABLE f (a INTEGER)")
	c.must("INSERT INTO f VALUES (1)")
	p := c.prepare("SELECT * FROM f")
	if rows, err := c.run(p); err != nil || len(rows[0]) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	other.must("ALTER TABLE f ADD COLUMN b INTEGER")
	if rows, err := c.run(p); err != nil || len(rows[0]) != 2 {
		t.Fatalf("%v, %v", rows, err)
	}
	other.must("DROP TABLE f")
	_, err := c.run(p)
	wants(t, err, fault.ObjectNotFound)
	other.must("CREATE TABLE f AS SELECT 7 AS z")
	if rows, err := c.run(p); err != nil || rows[0][0] != "7" {
		t.Fatalf("%v, %v", rows, err)
	}
	// Changed between description and fetch: the fetch does not give other columns than announced.
	info, err := p.Execute(c.ctx())
	if err != nil {
		t.Fatal(err)
	}
	other.must("ALTER TABLE f RENAME COLUMN z TO y")
	_, err = c.rows(info)
	wants(t, err, fault.SourceChanged)
}

func TestPreparedLimit(t *testing.T) {
	h := open(t, func(c *Config) { c.Limits.Prepared = 2; c.Limits.ParameterBytes = 100 })
	c := h.client("ann")
	p := c.prepare("SELECT ?::BIGINT")
	c.prepare("SELECT 2")
	_, err := c.Prepare(c.ctx(), "SELECT 3")
	wants(t, err, fault.QuotaExceeded)
	p.SetParameters(table(t, ints("x"), "["+strings.Repeat(`{"x": 1},`, 99)+`{"x": 1}]`))
	_, err = c.run(p)
	wants(t, err, fault.QuotaExceeded)
	if err := p.Close(c.ctx()); err != nil {
		t.Fatal(err)
	}
	c.prepare("SELECT 3")
}
