package duck

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/util"
	ddb "github.com/duckdb/duckdb-go-bindings"
)

const (
	batchRows  = 64 << 10
	batchBytes = 2 << 20
	// A batch that is slow to fill leaves after this time.
	batchLinger = 50 * time.Millisecond
)

// Reader streams a result as Arrow record batches with bounded memory. It owns
// its connection until Close. After Next has returned false, Err must be asked:
// a stream that was cut off is an error, never a short result.
//
// It implements array.RecordReader. Close and Release may be called at any
// time and more than once, also while another goroutine is in Next.
type Reader struct {
	conn    *Conn
	ctx     context.Context
	sql     string
	schema  *arrow.Schema
	options ddb.ArrowOptions
	refs    atomic.Int64

	mu    sync.Mutex
	res   *ddb.Result
	first bool // no batch has left yet
	over  bool
	batch arrow.RecordBatch
	err   error
	done  bool // closed
}

var _ array.RecordReader = (*Reader)(nil)

// stream runs the bound statement for a caller that has the connection; the
// Reader takes it over.
func (s *Stmt) stream(ctx context.Context, args []any) (*Reader, error) {
	res, err := s.run(args)
	if err != nil {
		return nil, err
	}
	f := resultFrame(res)
	defer f.destroy()
	schema, err := f.schema(s.conn)
	if err != nil {
		s.conn.discard(res)
		return nil, err
	}
	r := &Reader{conn: s.conn, ctx: ctx, sql: s.sql, schema: schema, res: res, first: true}
	r.options = ddb.ResultGetArrowOptions(res)
	r.refs.Store(1)
	if err := s.conn.adopt(r); err != nil {
		r.free()
		return nil, err
	}
	return r, nil
}

// Schema is known before the first batch.
func (r *Reader) Schema() *arrow.Schema { return r.schema }

// RecordBatch is the current batch, valid until the next call of Next.
func (r *Reader) RecordBatch() arrow.RecordBatch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.batch
}

// Record is RecordBatch by its older name.
func (r *Reader) Record() arrow.RecordBatch { return r.RecordBatch() }

// Err is why the stream ended early, nil when it was read to its end.
func (r *Reader) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Next reads the next batch.
func (r *Reader) Next() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.releaseBatch()
	if r.over || r.done {
		return false
	}
	if err := r.ctx.Err(); err != nil {
		r.end(err)
		return false
	}
	stop := r.conn.watch(r.ctx)
	batch, err := r.fill()
	stop()
	if err != nil {
		r.end(withContext(r.ctx, err))
		return false
	}
	r.batch = batch
	return batch != nil
}

// fill collects chunks into a batch; nil at the end of the stream.
func (r *Reader) fill() (arrow.RecordBatch, error) {
	var parts []arrow.RecordBatch
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	var rows, bytes int64
	begin := time.Now()
	for rows < batchRows && bytes < batchBytes {
		part, err := r.fetch()
		if err != nil {
			return nil, err
		}
		if part == nil {
			r.end(nil)
			break
		}
		parts = append(parts, part)
		rows += part.NumRows()
		bytes += util.TotalRecordSize(part)
		if r.first || time.Since(begin) > batchLinger {
			break
		}
	}
	r.first = false
	switch len(parts) {
	case 0:
		return nil, nil
	case 1:
		parts[0].Retain()
		return parts[0], nil
	}
	columns := make([]arrow.Array, r.schema.NumFields())
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	pieces := make([]arrow.Array, len(parts))
	for i := range columns {
		for j, p := range parts {
			pieces[j] = p.Column(i)
		}
		var err error
		if columns[i], err = array.Concatenate(pieces, memory.DefaultAllocator); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(r.schema, columns, rows), nil
}

// fetch reads one chunk; nil at the end.
func (r *Reader) fetch() (arrow.RecordBatch, error) {
	chunk := ddb.FetchChunk(*r.res)
	if chunk.Ptr == nil {
		if message := ddb.ResultError(r.res); message != "" {
			return nil, r.conn.db.fail(message, r.sql)
		}
		return nil, nil
	}
	defer ddb.DestroyDataChunk(&chunk)
	part, ed := ddb.DataChunkToArrowArray(r.options, r.schema, chunk)
	defer ddb.DestroyErrorData(&ed)
	if ddb.ErrorDataHasError(ed) {
		return nil, r.conn.db.fail(ddb.ErrorDataMessage(ed), r.sql)
	}
	return part, nil
}

// end ends the stream, so that DuckDB ends the statement, and keeps the first error.
func (r *Reader) end(err error) {
	r.over = true
	if r.err == nil {
		r.err = err
	}
	r.free()
}

func (r *Reader) free() {
	if r.res != nil {
		r.conn.discard(r.res)
		ddb.DestroyArrowOptions(&r.options)
		r.res = nil
	}
}

func (r *Reader) releaseBatch() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}

// Close ends the statement, if it still runs, and gives the connection back.
func (r *Reader) Close() error {
	if !r.mu.TryLock() {
		// Somebody is in Next: stop that.
		over, cancel := context.WithCancel(context.Background())
		cancel()
		stop := r.conn.watch(over)
		r.mu.Lock()
		stop()
	}
	defer r.mu.Unlock()
	if r.done {
		return nil
	}
	r.done = true
	r.releaseBatch()
	if !r.over {
		r.end(ErrClosed)
	}
	r.conn.drop()
	return nil
}

// Retain adds a reference.
func (r *Reader) Retain() { r.refs.Add(1) }

// Release drops a reference; the last one closes the Reader.
func (r *Reader) Release() {
	if r.refs.Add(-1) == 0 {
		r.Close()
	}
}
