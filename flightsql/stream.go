package flightsql

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/util"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
)

// maxMessage is what one batch may weigh on the wire: clients accept 16 MiB by
// default, and the estimate of a batch's size is not exact.
const maxMessage = 8 << 20

// unknownRows says that a stream changed no rows that could be counted.
const unknownRows = -1

// source is where a stream's batches come from.
type source interface {
	Schema() *arrow.Schema
	Next() bool
	RecordBatch() arrow.RecordBatch
	Err() error
	Close() error
}

// stream is the result of an execution while it is read. It is an
// array.RecordReader; Close ends it early and must be called once it is done.
// It is used by one goroutine at a time.
type stream struct {
	source
	ctx      context.Context // of the statement; nil when all rows are there
	affected int64
	rows     int64

	once   sync.Once
	closed error
	ends   []func(error) // run at Close, in order, with what the stream failed with
}

// newStream streams from src; affected is the number of changed rows, or unknownRows.
func newStream(src source, affected int64) *stream {
	return &stream{source: src, affected: affected}
}

// Affected is the number of rows that the statement changed, -1 when it changes none.
func (st *stream) Affected() int64 { return st.affected }

// Next moves to the next batch.
func (st *stream) Next() bool {
	if !st.source.Next() {
		return false
	}
	st.rows += st.source.RecordBatch().NumRows()
	return true
}

// Err is why the stream ended early; nil when it was read to its end.
func (st *stream) Err() error { return genuine(st.ctx, st.source.Err()) }

// genuine makes an interruption that nobody asked for what it is: a thread of
// the statement failed, and another one, which DuckDB stopped for it, told first.
func genuine(ctx context.Context, err error) error {
	var d *duck.Error
	if err == nil || ctx == nil || ctx.Err() != nil || fault.CodeOf(err) != nil || !errors.As(err, &d) || d.Type != "Interrupt" {
		return err
	}
	return fault.SQLError.Newf("a thread of the statement failed, and DuckDB lost the reason").WithHint("run the statement again to see it")
}

// Record is the batch under its older name.
func (st *stream) Record() arrow.RecordBatch { return st.source.RecordBatch() }

// Retain and Release exist for array.RecordReader; a stream is ended by Close.
func (st *stream) Retain() {}

// Release does nothing, see Retain.
func (st *stream) Release() {}

// atEnd adds what is to be done when the stream is closed.
func (st *stream) atEnd(do func(error)) { st.ends = append(st.ends, do) }

// Close ends the work behind the stream and waits until it has stopped.
func (st *stream) Close() error {
	st.once.Do(func() {
		failed := st.Err()
		st.closed = st.source.Close()
		if failed == nil {
			failed = st.closed
		}
		for _, do := range st.ends {
			do(failed)
		}
	})
	return st.closed
}

var _ array.RecordReader = (*stream)(nil)

// chunks sends the stream to the channel of a DoGet and closes both.
func (s *Service) chunks(ctx context.Context, st *stream) (*arrow.Schema, <-chan flight.StreamChunk) {
	ch := make(chan flight.StreamChunk)
	s.running.Add(1)
	go s.pump(ctx, st, ch)
	return st.Schema(), ch
}

// pump owns the stream until the channel is closed. No batch waits in the
// channel, so a slow reader holds back DuckDB and nothing else. The library
// reads the channel until it is closed, whatever happened, so an error always
// arrives and a stream that was cut off never looks complete.
func (s *Service) pump(ctx context.Context, st *stream, ch chan<- flight.StreamChunk) {
	defer s.running.Done()
	defer close(ch)
	if err := s.send(ctx, st, ch); err != nil {
		ch <- flight.StreamChunk{Err: err}
	}
}

func (s *Service) send(ctx context.Context, st *stream, ch chan<- flight.StreamChunk) (err error) {
	defer st.Close()
	defer func() {
		if p := recover(); p != nil {
			err = fault.InternalError.Newf("sending rows: %v", p)
			s.log.Error("panic while sending rows", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	for st.Next() {
		for _, piece := range pieces(st.RecordBatch(), maxMessage) {
			size := batchSize(piece)
			select {
			case ch <- flight.StreamChunk{Data: piece}:
				s.observe.Sent(size)
			case <-ctx.Done():
				piece.Release()
				err = ctx.Err()
			}
		}
		if err != nil {
			return err
		}
	}
	return st.Err()
}

// pieces cuts a batch so that no piece weighs much more than limit, as far as
// rows allow. The caller owns the pieces; the batch stays with its owner.
func pieces(batch arrow.RecordBatch, limit int64) []arrow.RecordBatch {
	size, rows := util.TotalRecordSize(batch), batch.NumRows()
	if size <= limit || rows <= 1 {
		batch.Retain()
		return []arrow.RecordBatch{batch}
	}
	var out []arrow.RecordBatch
	for from := int64(0); from < rows; {
		to := from + cut(batch, from, limit)
		out = append(out, batch.NewSlice(from, to))
		from = to
	}
	return out
}
