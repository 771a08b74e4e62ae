package ducklake_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
)

var ingestSchema = arrow.NewSchema([]arrow.Field{
	{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "Name", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// arriving is count batches of size rows, numbered from first. The last one comes with an error if fail is set.
type arriving struct {
	schema      *arrow.Schema
	batch, size int
	count       int
	fail, err   error
	made        int // batches that were asked for
	current     arrow.RecordBatch
}

func rowsFrom(first, count, size int) *arriving {
	return &arriving{schema: ingestSchema, batch: first, count: count, size: size}
}

func (a *arriving) Schema() *arrow.Schema          { return a.schema }
func (a *arriving) RecordBatch() arrow.RecordBatch { return a.current }
func (a *arriving) Record() arrow.RecordBatch      { return a.current }
func (a *arriving) Err() error                     { return a.err }
func (a *arriving) Retain()                        {}
func (a *arriving) Release()                       {}
func (a *arriving) Next() bool {
	if a.current != nil {
		a.current.Release()
		a.current = nil
	}
	if a.made == a.count {
		a.err = a.fail
		return false
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, a.schema)
	defer b.Release()
	for range a.size {
		b.Field(0).(*array.Int64Builder).Append(int64(a.batch))
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("row %d", a.batch))
		a.batch++
	}
	a.made++
	a.current = b.NewRecordBatch()
	return true
}

var _ array.RecordReader = (*arriving)(nil)

func TestIngestModes(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		c := connect(t, laketest.New(t, k))
		c.exec(`CREATE SCHEMA "od.d"`)
		create := ducklake.IngestSpec{Schema: "od.d", Table: `t "1`}
		const count = `SELECT count(*), min(i), max(i) FROM "od.d"."t ""1"`
		load := func(spec ducklake.IngestSpec, r array.RecordReader) int64 {
			t.Helper()
			n, err := c.Ingest(ctx, spec, r)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := load(create, rowsFrom(0, 3, 2000)); n != 6000 {
			t.Errorf("%d rows created", n)
		}
		c.want(count, "6000|0|5999")
		_, err := c.Ingest(ctx, create, rowsFrom(0, 1, 1))
		fails(t, err, fault.ObjectExists)

		add := create
		add.IfNotExist, add.IfExists = ducklake.FailIfMissing, ducklake.AppendRows
		load(add, rowsFrom(6000, 1, 4))
		c.want(count, "6004|0|6003")
		missing := add
		missing.Table = "nowhere"
		_, err = c.Ingest(ctx, missing, rowsFrom(0, 1, 1))
		fails(t, err, fault.ObjectNotFound)

		replace := create
		replace.IfExists = ducklake.ReplaceTable
		load(replace, rowsFrom(100, 1, 3))
		c.want(count, "3|100|102")
		replace.Table = "fresh"
		load(replace, rowsFrom(0, 0, 0))
		c.want(`SELECT count(*) FROM "od.d".fresh`, "0")

		both := create
		both.IfExists, both.Table = ducklake.AppendRows, "both"
		load(both, rowsFrom(0, 1, 2))
		load(both, rowsFrom(2, 1, 2))
		c.want(`SELECT i, "Name" FROM "od.d".both ORDER BY i`, "0|row 0", "1|row 1", "2|row 2", "3|row 3")

		nowhere := create
		nowhere.Schema = "nowhere"
		_, err = c.Ingest(ctx, nowhere, rowsFrom(0, 1, 1))
		fails(t, err, fault.ObjectNotFound)
		nowhere = create
		nowhere.Catalog = "__ducklake_metadata_lake"
		_, err = c.Ingest(ctx, nowhere, rowsFrom(0, 1, 1))
		fails(t, err, fault.InvalidParameter)
	})
}

func TestIngestIsAllOrNothing(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	c := connect(t, l)
	broken := errors.New("the client went away")
	create := ducklake.IngestSpec{Table: "t"}
	r := rowsFrom(0, 5, 3000)
	r.fail = broken
	if _, err := c.Ingest(ctx, create, r); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	c.want(`SELECT table_name FROM information_schema.tables WHERE table_catalog = 'lake'`)
	if _, err := c.Ingest(ctx, create, rowsFrom(0, 1, 10)); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []ducklake.ExistingTable{ducklake.AppendRows, ducklake.ReplaceTable} {
		r = rowsFrom(50, 5, 3000)
		r.fail = broken
		if _, err := c.Ingest(ctx, ducklake.IngestSpec{Table: "t", IfExists: mode}, r); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		c.want(`SELECT count(*), max(i) FROM t`, "10|9")
	}
	left := must(l.Builds(ctx))
	if left != 0 {
		t.Errorf("%d builds are left in the journal", left)
	}
}

func TestIngestInTransaction(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	a, b := connect(t, l), connect(t, l)
	a.exec(`CREATE TABLE t (i BIGINT, "Name" VARCHAR)`)
	id := a.begin()
	spec := ducklake.IngestSpec{Table: "t", IfExists: ducklake.AppendRows, TxID: id}
	if _, err := b.Ingest(ctx, spec, rowsFrom(0, 1, 1)); fault.CodeOf(err) != fault.TransactionUnknown {
		t.Errorf("another session's transaction: %v", err)
	}
	if _, err := a.Ingest(ctx, ducklake.IngestSpec{Table: "early"}, rowsFrom(0, 1, 1)); err != nil {
		t.Errorf("an ingest that creates, before the first write: %v", err)
	}
	if _, err := a.Ingest(ctx, spec, rowsFrom(0, 2, 5)); err != nil {
		t.Fatal(err)
	}
	spec.TxID = "" // joins
	if _, err := a.Ingest(ctx, spec, rowsFrom(10, 2, 5)); err != nil {
		t.Fatal(err)
	}
	b.want(`SELECT count(*) FROM t`, "0")
	a.want(`SELECT count(*) FROM t`, "20")
	_, err := a.Ingest(ctx, ducklake.IngestSpec{Table: "u"}, rowsFrom(0, 1, 1))
	fails(t, err, fault.DDLInTransaction)
	_, err = a.Ingest(ctx, ducklake.IngestSpec{Table: "t", IfExists: ducklake.ReplaceTable}, rowsFrom(0, 1, 1))
	fails(t, err, fault.DDLInTransaction)
	a.commit(id)
	b.want(`SELECT count(*) FROM t`, "20")

	id = a.begin()
	r := rowsFrom(0, 2, 3000)
	r.fail = errors.New("gone")
	if _, err := a.Ingest(ctx, spec, r); err == nil {
		t.Error("no error")
	}
	fails(t, a.Commit(ctx, id), fault.TransactionFailed)
	b.want(`SELECT count(*) FROM t`, "20")
}

func TestIngestColumns(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	c := connect(t, l)
	c.exec(`CREATE TABLE wide (extra DOUBLE DEFAULT 1.5, "NAME" VARCHAR, i INTEGER)`)
	c.exec(`CREATE TABLE strict (i BIGINT, "Name" VARCHAR, must DATE NOT NULL)`)
	c.exec(`CREATE TABLE narrow (i BIGINT)`)
	c.exec(`CREATE TABLE other (i DATE, "Name" VARCHAR)`)
	c.exec(`CREATE VIEW v AS SELECT 1 AS i`)
	add := func(table string) error {
		_, err := c.Ingest(ctx, ducklake.IngestSpec{Table: table, IfExists: ducklake.AppendRows}, rowsFrom(0, 1, 2))
		return err
	}
	if err := add("WIDE"); err != nil { // by name, in any case, with defaults
		t.Fatal(err)
	}
	c.want(`SELECT * FROM wide ORDER BY i`, "1.5|row 0|0", "1.5|row 1|1")
	fails(t, add("strict"), fault.InvalidParameter)
	fails(t, add("narrow"), fault.InvalidParameter)
	fails(t, add("other"), fault.InvalidParameter)
	fails(t, add("v"), fault.InvalidParameter)
	fails(t, add("__vega_build_1"), fault.ReservedName)
	for _, fields := range [][]arrow.Field{
		{},
		{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "A", Type: arrow.PrimitiveTypes.Int64}},
		{{Name: "", Type: arrow.PrimitiveTypes.Int64}},
	} {
		r := &arriving{schema: arrow.NewSchema(fields, nil)}
		_, err := c.Ingest(ctx, ducklake.IngestSpec{Table: "bad"}, r)
		fails(t, err, fault.InvalidParameter)
	}
}

func TestIngestTemporary(t *testing.T) {
	l := laketest.New(t, laketest.DuckDB)
	a, b := connect(t, l), connect(t, l)
	spec := ducklake.IngestSpec{Table: "t", Temporary: true}
	if _, err := a.Ingest(ctx, spec, rowsFrom(0, 2, 100)); err != nil {
		t.Fatal(err)
	}
	a.want(`SELECT count(*), max("Name") FROM t`, "200|row 99")
	_, err := b.Analyze(ctx, `FROM t`)
	fails(t, err, fault.ObjectNotFound)
	_, err = a.Ingest(ctx, spec, rowsFrom(0, 1, 1))
	fails(t, err, fault.ObjectExists)
	spec.IfExists = ducklake.AppendRows
	if _, err := a.Ingest(ctx, spec, rowsFrom(200, 1, 1)); err != nil {
		t.Fatal(err)
	}
	a.want(`SELECT count(*) FROM t`, "201")
	spec.IfExists = ducklake.ReplaceTable
	r := rowsFrom(0, 2, 3000)
	r.fail = errors.New("gone")
	if _, err := a.Ingest(ctx, spec, r); err == nil {
		t.Error("no error")
	}
	a.want(`SELECT count(*) FROM t`, "201")
	if _, err := a.Ingest(ctx, spec, rowsFrom(0, 1, 7)); err != nil {
		t.Fatal(err)
	}
	a.want(`SELECT count(*) FROM t`, "7")
	if n := must(l.Snapshot(ctx)); n.ID != 0 && n.ID > 1 {
		t.Errorf("temporary rows made lake snapshot %d", n.ID)
	}
	spec.Table, spec.IfNotExist = "none", ducklake.FailIfMissing
	_, err = a.Ingest(ctx, spec, rowsFrom(0, 1, 1))
	fails(t, err, fault.ObjectNotFound)

	id := a.begin()
	spec = ducklake.IngestSpec{Table: "undone", Temporary: true}
	if _, err := a.Ingest(ctx, spec, rowsFrom(0, 1, 7)); err != nil {
		t.Fatal(err)
	}
	a.want(`SELECT count(*) FROM undone`, "7")
	if err := a.Rollback(ctx, id); err != nil {
		t.Fatal(err)
	}
	_, err = a.Analyze(ctx, `FROM undone`)
	fails(t, err, fault.ObjectNotFound)
}
