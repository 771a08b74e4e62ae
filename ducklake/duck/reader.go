package duck

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ddb "github.com/duckdb/duckdb-go-bindings"
)

// Reader streams a result as Arrow record batches with bounded memory. It owns
// its connection until Close. After Next has returned false, Err must be asked:
// a stream that was cut off is an error, never a short result.
//
// It implements array.RecordReader. Close and Release may be called at any
// time and more than once, also while another goroutine is in Next.
type Reader struct {
	conn   *Conn
	ctx    context.Context
	sql    string // that positions count in; "" for one statement of several
	text   string // that was run, with args
	args   []any
	asked  uint64 // the connection's interrupts before the statement
	schema *arrow.Schema
	refs   atomic.Int64

	mu    sync.Mutex
	res   *ddb.Result // nil once DuckDB's statement has ended
	fill  batchBuilder
	first bool // no batch has left yet
	batch arrow.RecordBatch
	err   error
	done  bool // closed
}

var _ array.RecordReader = (*Reader)(nil)

// stream runs the bound statement for a caller that has the connection; the
// Reader takes it over.
func (s *Stmt) stream(ctx context.Context, args []any) (*Reader, error) {
	asked := s.conn.interrupts.Load()
	res, err := s.run(args)
	if err != nil {
		return nil, err
	}
	f := resultFrame(res)
	schema, err := f.schema(s.conn)
	if err != nil {
		s.conn.discard(res, false)
		return nil, err
	}
	r := &Reader{conn: s.conn, ctx: ctx, sql: s.sql, text: s.sql, args: args, asked: asked, schema: schema, res: res, first: true}
	r.fill.init(f.types, schema.Fields())
	r.refs.Store(1)
	if err := s.conn.adopt(r); err != nil {
		s.conn.discard(res, false)
		return nil, err
	}
	return r, nil
}

// Schema is known before the first batch; all its fields are nullable.
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
	if r.res == nil && !r.fill.pending() {
		return false
	}
	if err := r.ctx.Err(); err != nil {
		r.end(err)
		return false
	}
	stop := r.conn.watch(r.ctx)
	err := r.collect()
	if err != nil {
		r.end(err)
		r.err = withContext(r.ctx, r.conn.reason(r.ctx, err, r.asked, r.text, r.args))
	}
	stop()
	if err != nil {
		return false
	}
	if r.fill.rows == 0 {
		return false
	}
	r.batch = r.fill.take(r.schema)
	return true
}

// collect fills the builder with a batch, or with the rest of the stream. The
// first chunk leaves alone, as soon as it exists; a slow stream's chunks do not
// wait long for company.
func (r *Reader) collect() error {
	begin := time.Now()
	for !r.fill.full() {
		if !r.fill.pending() {
			if r.res == nil {
				return nil
			}
			chunk := ddb.FetchChunk(*r.res)
			if chunk.Ptr == nil {
				// An interrupted stream ends like a complete one but for its error.
				if message := ddb.ResultError(r.res); message != "" {
					return r.conn.db.fail(message, r.sql)
				}
				r.free(true)
				return nil
			}
			r.fill.load(chunk)
		}
		if err := r.fill.add(); err != nil {
			return err
		}
		if r.first || time.Since(begin) > batchLinger {
			r.first = false
			return nil
		}
	}
	return nil
}

// end ends the stream early.
func (r *Reader) end(err error) {
	r.err = err
	r.fill.drop()
	r.free(false)
}

// free makes DuckDB end the statement.
func (r *Reader) free(complete bool) {
	if r.res != nil {
		r.conn.discard(r.res, complete)
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
	if r.res != nil || r.fill.pending() {
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
