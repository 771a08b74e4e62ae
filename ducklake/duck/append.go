package duck

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/array"
	ddb "github.com/duckdb/duckdb-go-bindings"
)

// AppendArrow inserts the rows of r into a table by DuckDB's appender, in the open transaction if there is one: a few rows take a third
// of the time that an INSERT from [Conn.RegisterArrow] takes. r has all of the table's columns in their order; a type that is not the
// column's is cast. It returns the number of rows.
//
// After an error an open transaction can only be rolled back.
func (c *Conn) AppendArrow(ctx context.Context, catalog, schema, table string, r array.RecordReader) (rows int64, err error) {
	if err := c.take(ctx); err != nil {
		return 0, err
	}
	defer c.give()
	stop := c.watch(ctx)
	defer stop()
	rows, err = c.appendRows(catalog, schema, table, r)
	return rows, withContext(ctx, err)
}

func (c *Conn) appendRows(catalog, schema, table string, r array.RecordReader) (rows int64, err error) {
	s, err := newStream(r)
	if err != nil {
		return 0, err
	}
	defer s.free()
	chunk, err := s.chunk()
	if err != nil {
		return 0, err
	}
	defer ddb.DestroyDataChunk(&chunk)

	var a ddb.Appender
	failed := ddb.AppenderCreateExt(c.raw, catalog, schema, table, &a) == ddb.StateError
	defer ddb.AppenderDestroy(&a)
	for !failed {
		ddb.DataChunkReset(chunk)
		if err := guarded(func() error { return s.read(chunk) }); err != nil {
			ddb.AppenderClear(a) // or its end would append what it has
			return 0, err
		}
		n := ddb.DataChunkGetSize(chunk)
		if n == 0 {
			failed = ddb.AppenderFlush(a) == ddb.StateError
			break
		}
		rows += int64(n)
		failed = ddb.AppendDataChunk(a, chunk) == ddb.StateError
	}
	if failed {
		err := c.db.takeError(ddb.AppenderErrorData(a))
		if err == nil {
			err = c.db.fail("", "")
		}
		ddb.AppenderClear(a)
		return 0, err
	}
	return rows, nil
}

// chunk is an empty one of the stream's types.
func (s *stream) chunk() (ddb.DataChunk, error) {
	types := make([]ddb.LogicalType, 0, len(s.fields))
	defer func() {
		for i := range types {
			ddb.DestroyLogicalType(&types[i])
		}
	}()
	for _, f := range s.fields {
		t, err := logicalType(f.Type)
		if err != nil {
			return ddb.DataChunk{}, err
		}
		types = append(types, t)
	}
	return ddb.CreateDataChunk(types), nil
}
