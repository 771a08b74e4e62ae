package duck

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// source is a record reader of n batches that may fail or panic instead of the last.
type source struct {
	array.RecordReader
	schema *arrow.Schema
	batch  arrow.RecordBatch
	left   int
	err    error
	panics bool
}

func newSource(t testing.TB, batches, rowsEach int) *source {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "b", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "c", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range rowsEach {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(strings.Repeat("x", i%40))
		l := b.Field(2).(*array.ListBuilder)
		if i%3 == 0 {
			l.AppendNull()
			continue
		}
		l.Append(true)
		l.ValueBuilder().(*array.Int32Builder).AppendValues([]int32{int32(i), int32(-i)}, nil)
	}
	return &source{schema: schema, batch: b.NewRecordBatch(), left: batches}
}

func (s *source) Retain()               {}
func (s *source) Release()              {}
func (s *source) Schema() *arrow.Schema { return s.schema }
func (s *source) Next() bool {
	if s.left == 0 {
		if s.panics {
			panic("source panics")
		}
		return false
	}
	s.left--
	return true
}
func (s *source) RecordBatch() arrow.RecordBatch { return s.batch }
func (s *source) Err() error                     { return s.err }

func TestRegisterArrow(t *testing.T) {
	c := open(t)
	s := newSource(t, 5, 10000)
	release, err := c.RegisterArrow("in put", s)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, c, `CREATE TABLE t AS SELECT * FROM "in put"`)
	if got := one(t, c, "SELECT count(*) || ' ' || sum(a) || ' ' || sum(length(b)) || ' ' || sum(c[1]) || ' ' || count(c) FROM t"); got != "50000 249975000 975000 166633335 33330" {
		t.Fatal(got)
	}
	if _, err := c.Exec(context.Background(), `SELECT * FROM "in put"`); err == nil || !strings.Contains(err.Error(), "read already") {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if n := one(t, c, "SELECT count(*) FROM duckdb_views() WHERE NOT internal"); n != int64(0) {
		t.Fatal(n)
	}
}

func TestRegisterArrowErrors(t *testing.T) {
	c := open(t)
	for _, s := range []*source{
		{err: errors.New("source fails")},
		{panics: true},
	} {
		from := newSource(t, 3, 5000)
		from.err, from.panics = s.err, s.panics
		release, err := c.RegisterArrow("s", from)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Exec(context.Background(), "CREATE OR REPLACE TABLE t AS SELECT * FROM s")
		if err == nil || !strings.Contains(err.Error(), "source ") {
			t.Fatal(err)
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
	}
}
