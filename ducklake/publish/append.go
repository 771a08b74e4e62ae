package publish

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// Many rows go into a DuckDB catalog by its appender: 0.3 ms where an INSERT from registered batches takes 1 ms, and one from lists of
// parameters more the longer they are. A single row is faster by an INSERT of values that is kept prepared.

// appendIntegers adds rows of integers, a column each, to a table of the catalog.
func appendIntegers(ctx context.Context, tx metadata.Appender, table string, columns ...[]int64) error {
	arrays := make([]arrow.Array, len(columns))
	for i, c := range columns {
		arrays[i] = integers(c)
		defer arrays[i].Release()
	}
	_, err := appendBatches(ctx, tx, table, array.NewRecordBatch(schemaOf(arrays), arrays, int64(len(columns[0]))))
	return err
}

// appendBatches adds the batches, which it releases, to a table of the catalog.
func appendBatches(ctx context.Context, tx metadata.Appender, table string, batches ...arrow.RecordBatch) (int64, error) {
	defer func() {
		for _, b := range batches {
			b.Release()
		}
	}()
	r, err := array.NewRecordReader(batches[0].Schema(), batches)
	if err != nil {
		return 0, err
	}
	defer r.Release()
	return tx.AppendArrow(ctx, table, r)
}

func integers(values []int64) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(values, nil)
	return b.NewArray()
}

// repeated is n times the value.
func repeated(value int64, n int) []int64 { return slices.Repeat([]int64{value}, n) }

func schemaOf(arrays []arrow.Array) *arrow.Schema {
	fields := make([]arrow.Field, len(arrays))
	for i, a := range arrays {
		fields[i] = arrow.Field{Name: fmt.Sprintf("c%d", i), Type: a.DataType(), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// appendInlined adds the delta's rows to a table of inlined rows, from a row id on.
func (x *writer) appendInlined(ctx context.Context, tx metadata.Appender, name string, first int64) (int64, error) {
	var batches []arrow.RecordBatch
	for _, b := range x.w.enc.batches {
		n := int(b.NumRows())
		if n == 0 {
			continue
		}
		ids := make([]int64, n)
		for i := range ids {
			ids[i] = first + int64(i)
		}
		first += int64(n)
		lead := []arrow.Array{integers(ids), integers(repeated(x.snap.ID, n)), array.MakeArrayOfNull(memory.DefaultAllocator, arrow.PrimitiveTypes.Int64, n)}
		all := slices.Concat(lead, b.Columns())
		batches = append(batches, array.NewRecordBatch(schemaOf(all), all, int64(n)))
		for _, a := range lead {
			a.Release()
		}
	}
	return appendBatches(ctx, tx, name, batches...)
}
