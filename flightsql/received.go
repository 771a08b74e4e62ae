package flightsql

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/fault"
)

// received is a stream of rows from a client, who may have sent anything: the
// library panics over some of it and believes the rest. A batch is handed on
// only when all of it is what it claims to be.
type received struct {
	array.RecordReader
	schema *arrow.Schema
	err    error
}

// receive reads the schema that begins a stream.
func receive(r array.RecordReader) (*received, error) {
	in := &received{RecordReader: r}
	err := noPanic(func() error {
		if in.schema = r.Schema(); in.schema == nil {
			return errors.Join(errors.New("the stream has no schema"), r.Err())
		}
		return nil
	})
	if err != nil {
		return nil, fault.InvalidParameter.Wrap(err, "the schema of the rows sent cannot be read")
	}
	return in, nil
}

func (r *received) Schema() *arrow.Schema { return r.schema }

func (r *received) Next() (more bool) {
	if r.err != nil {
		return false
	}
	err := noPanic(func() error {
		if more = r.RecordReader.Next(); !more {
			return r.RecordReader.Err()
		}
		batch := r.RecordBatch()
		if n := batch.NumRows(); n > mostRows {
			return fmt.Errorf("a batch of %d rows is too large", n)
		}
		for i, column := range batch.Columns() {
			if err := sound(column); err != nil {
				return fmt.Errorf("column %q: %w", batch.ColumnName(i), err)
			}
		}
		return nil
	})
	if err != nil {
		more, r.err = false, fault.InvalidParameter.Wrap(err, "the rows sent cannot be read")
	}
	return more
}

func (r *received) Err() error { return r.err }

var _ array.RecordReader = (*received)(nil)

// mostRows bounds a batch, whose number of rows need not be backed by bytes.
const mostRows = 1 << 28

// noPanic is for code that panics over what it is given.
func noPanic(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return f()
}
