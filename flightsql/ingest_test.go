package flightsql

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/vegadb/vega-flight/fault"
)

// load ingests rows in a mode of ADBC's.
func (c *client) load(to, mode string, rows array.RecordReader, change ...func(*flightsql.ExecuteIngestOpts)) (int64, error) {
	options := map[string]*flightsql.TableDefinitionOptions{
		"create":        {IfNotExist: ifNotExistCreate, IfExists: ifExistsFail},
		"append":        {IfNotExist: ifNotExistFail, IfExists: ifExistsAppend},
		"replace":       {IfNotExist: ifNotExistCreate, IfExists: ifExistsReplace},
		"create_append": {IfNotExist: ifNotExistCreate, IfExists: ifExistsAppend},
	}[mode]
	o := &flightsql.ExecuteIngestOpts{Table: to, TableDefinitionOptions: options}
	for _, f := range change {
		f(o)
	}
	return c.ExecuteIngest(c.ctx(), rows, o)
}

func reader(t *testing.T, batches ...arrow.RecordBatch) array.RecordReader {
	t.Helper()
	r, err := array.NewRecordReader(batches[0].Schema(), batches)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestIngestModes(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	three := table(t, ints("a", "b"), `[{"a": 1, "b": 2}, {"a": 3, "b": null}, {"a": 5, "b": 6}]`)
	load := func(to, mode string, want int64, code *fault.Code) {
		t.Helper()
		n, err := c.load(to, mode, reader(t, three))
		if code != nil {
			wants(t, err, code)
			return
		}
		if err != nil || n != want {
			t.Fatalf("%s: %d, %v", mode, n, err)
		}
	}
	load("l", "append", 0, fault.ObjectNotFound)
	load("l", "create", 3, nil)
	load("l", "create", 0, fault.ObjectExists)
	load("l", "append", 3, nil)
	load("l", "create_append", 3, nil)
	equal(t, "rows", c.value("SELECT count(*) FROM l"), "9")
	load("l", "replace", 3, nil)
	equal(t, "rows", c.value("SELECT count(*) FROM l"), "3")
	load("l2", "create_append", 3, nil)
	load("l3", "replace", 3, nil)

	// Replacing may change the columns; appending may not.
	other := table(t, ints("z"), `[{"z": 1}]`)
	if _, err := c.load("l", "replace", reader(t, other)); err != nil {
		t.Fatal(err)
	}
	equal(t, "columns", c.value("SELECT z FROM l"), "1")
	if _, err := c.load("l", "append", reader(t, three)); err == nil {
		t.Error("rows of other columns were appended")
	}
	equal(t, "rows", c.value("SELECT count(*) FROM l"), "1")

	c.must("CREATE SCHEMA place")
	if _, err := c.load("l", "create", reader(t, three), func(o *flightsql.ExecuteIngestOpts) {
		catalog, schema := "lake", "place"
		o.Catalog, o.Schema = &catalog, &schema
	}); err != nil {
		t.Fatal(err)
	}
	equal(t, "in the schema", c.value("SELECT count(*) FROM place.l"), "3")
	for _, catalog := range []string{"vega", "system", "__ducklake_metadata_lake"} {
		if _, err := c.load("l", "create", reader(t, three), func(o *flightsql.ExecuteIngestOpts) { o.Catalog = &catalog }); err == nil {
			t.Errorf("rows went into the catalog %s", catalog)
		}
	}
	_, err := c.load("l9", "create", reader(t, three), func(o *flightsql.ExecuteIngestOpts) { o.Options = map[string]string{"a": "b"} })
	wants(t, err, fault.UnknownOption)
}

func TestIngestTemporary(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	rows := table(t, ints("a"), `[{"a": 1}]`)
	temporary := func(o *flightsql.ExecuteIngestOpts) { o.Temporary = true }
	if _, err := c.load("own", "create", reader(t, rows), temporary); err != nil {
		t.Fatal(err)
	}
	if _, err := c.load("own", "append", reader(t, rows), temporary); err != nil {
		t.Fatal(err)
	}
	equal(t, "rows", c.value("SELECT count(*) FROM own"), "2")
	h.client("ann").fails("SELECT * FROM own", fault.ObjectNotFound)
	if _, err := c.load("own", "replace", reader(t, rows), temporary); err != nil {
		t.Fatal(err)
	}
	equal(t, "rows", c.value("SELECT count(*) FROM own"), "1")
}

func TestIngestJoinsItsOwnSessionsTransaction(t *testing.T) {
	h := open(t)
	c, other := h.client("ann"), h.client("ann")
	c.must("CREATE TABLE l (a BIGINT)")
	rows := table(t, ints("a"), `[{"a": 1}]`)
	tx, err := c.BeginTransaction(c.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.load("l", "append", reader(t, rows)); err != nil { // names no transaction
		t.Fatal(err)
	}
	if _, err := other.load("l", "append", reader(t, rows)); err != nil {
		t.Fatal(err)
	}
	equal(t, "committed", other.value("SELECT count(*) FROM l"), "1")
	_, err = c.load("l2", "create", reader(t, rows))
	wants(t, err, fault.DDLInTransaction)
	if err := tx.Rollback(c.ctx()); err != nil {
		t.Fatal(err)
	}
	equal(t, "after the rollback", c.value("SELECT count(*) FROM l"), "1")
	guess := []byte("guess")
	_, err = c.load("l", "append", reader(t, rows), func(o *flightsql.ExecuteIngestOpts) { o.TransactionId = guess })
	wants(t, err, fault.TransactionUnknown)
}

func TestIngestOfViewsIsRefused(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE src (a BIGINT)")
	c.must("CREATE MATERIALIZED VIEW mv AS SELECT a FROM src")
	rows := table(t, ints("a"), `[{"a": 1}]`)
	for _, mode := range []string{"append", "replace", "create_append"} {
		_, err := c.load("mv", mode, reader(t, rows))
		wants(t, err, fault.ViewReadOnly)
	}
	c.fails("INSERT INTO mv VALUES (1)", fault.ViewReadOnly)
}

func TestIngestAMillionRows(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	var batches []arrow.RecordBatch
	schema := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for n := range 1_000_000 {
		b.Field(0).(*array.Int64Builder).Append(int64(n))
		b.Field(1).(*array.StringBuilder).Append("row " + strconv.Itoa(n%1000))
		if n%50_000 == 49_999 {
			batches = append(batches, b.NewRecordBatch())
		}
	}
	n, err := c.load("million", "create", reader(t, batches...))
	if err != nil || n != 1_000_000 {
		t.Fatalf("%d, %v", n, err)
	}
	equal(t, "sum", strings.Join(c.must("SELECT sum(i)::BIGINT, count(DISTINCT s)::INTEGER FROM million")[0], " "), "499999500000 1000")
}

// Some clients read one answer to a load and no more.
func TestAFailedIngestHasNoAnswerButItsError(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE l (a BIGINT)")
	command, err := anypb.New(&pb.CommandStatementIngest{
		Table: "l", TableDefinitionOptions: &flightsql.TableDefinitionOptions{IfNotExist: ifNotExistCreate, IfExists: ifExistsFail},
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := proto.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := c.Client.Client.DoPut(c.ctx())
	if err != nil {
		t.Fatal(err)
	}
	rows := table(t, ints("a"), `[{"a": 1}]`)
	w := flight.NewRecordWriter(stream, ipc.WithSchema(rows.Schema()))
	w.SetFlightDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: cmd})
	if err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if answer != nil {
		t.Errorf("answered %v", answer)
	}
	wants(t, err, fault.ObjectExists)
}
