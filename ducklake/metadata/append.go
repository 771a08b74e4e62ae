package metadata

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// Appender is a transaction that takes rows without a statement: those on a DuckDB file. table is the bare name; the rows
// have all of its columns in their order.
type Appender interface {
	AppendArrow(ctx context.Context, table string, rows array.RecordReader) (int64, error)
}

// AppendArrow inserts the rows.
func (t *duckTx) AppendArrow(ctx context.Context, table string, rows array.RecordReader) (int64, error) {
	c, ok := t.conn.(interface {
		AppendArrow(ctx context.Context, catalog, schema, table string, r array.RecordReader) (int64, error)
	})
	if !ok {
		return 0, fmt.Errorf("metadata: the catalog's connection takes no Arrow batches")
	}
	return c.AppendArrow(ctx, t.store.catalog, duckSchema, table, rows)
}
