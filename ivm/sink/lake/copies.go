package lake

import (
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// copies gives the rows of a batch that have a positive weight, each as often as that says, as Arrow batches that are made when they are
// asked for: of many rows there is never a second copy as a whole.
type copies struct {
	rows   *zset.Batch
	schema *arrow.Schema
	most   int // rows of a batch

	at   int   // the next row
	left int64 // of it; 0: all
	buf  []uint64
	now  arrow.RecordBatch
	err  error
	refs atomic.Int64
}

// copiesOf begins at the first row; the caller releases it.
func copiesOf(rows *zset.Batch, schema *arrow.Schema, most int) *copies {
	c := &copies{rows: rows, schema: schema, most: most}
	c.refs.Store(1)
	return c
}

func arrowSchema(l *row.Layout) (*arrow.Schema, error) {
	names := make([]string, len(l.Types))
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	return l.Schema(names, "UTC")
}

// Next makes the next batch.
func (c *copies) Next() bool {
	c.drop()
	c.buf = c.buf[:0]
	n := 0
	for n < c.most && c.at < c.rows.Len() {
		if c.left == 0 {
			if c.left = c.rows.Weights[c.at]; c.left <= 0 {
				c.left = 0
				c.at++
				continue
			}
		}
		for r := c.rows.Row(c.at); n < c.most && c.left > 0; n++ {
			c.buf = append(c.buf, r...)
			c.left--
		}
		if c.left == 0 {
			c.at++
		}
	}
	if n == 0 || c.err != nil {
		return false
	}
	if c.now, c.err = c.rows.Layout.ToArrow(c.schema, c.buf, n, c.rows.Heap); c.err != nil {
		c.err = fault.RowFailed.Wrap(c.err, "the lake cannot keep a row of the result")
	}
	return c.err == nil
}

func (c *copies) drop() {
	if c.now != nil {
		c.now.Release()
		c.now = nil
	}
}

// The rest of array.RecordReader.

func (c *copies) Retain() { c.refs.Add(1) }

// Release frees the last batch with the last reference.
func (c *copies) Release() {
	if c.refs.Add(-1) == 0 {
		c.drop()
	}
}

// Schema is that of the batches.
func (c *copies) Schema() *arrow.Schema { return c.schema }

// RecordBatch is the batch that Next has made.
func (c *copies) RecordBatch() arrow.RecordBatch { return c.now }

// Record is RecordBatch under its old name.
func (c *copies) Record() arrow.RecordBatch { return c.now }

// Err is why Next has ended.
func (c *copies) Err() error { return c.err }
