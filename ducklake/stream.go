package ducklake

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/duck"
)

// Stream is the result of a statement, read once. It implements array.RecordReader; Close must be called. A stream on
// a session's own connection gives way to the session's next statement: its rest goes to disk.
type Stream struct {
	schema *arrow.Schema
	lake   *Lake
	ctx    context.Context
	ended  func(error) // called once when the live result has ended, with why, and its connection is free
	closed func()      // called once by Close

	// turn is held by who reads or spools. It is a channel because waiting for it must end with a context.
	turn  chan struct{}
	aside *spool
	held  arrow.RecordBatch // taken from the live result but not written to aside
	over  bool

	mu    sync.Mutex   // guards what Close and the accessors look at without the turn
	live  *duck.Reader // nil when it has ended
	batch arrow.RecordBatch
	err   error
}

func (l *Lake) newStream(ctx context.Context, r *duck.Reader, ended func(error), closed func()) *Stream {
	return &Stream{schema: r.Schema(), lake: l, ctx: ctx, live: r, ended: ended, closed: sync.OnceFunc(closed), turn: make(chan struct{}, 1)}
}

// Schema is known before the first batch.
func (s *Stream) Schema() *arrow.Schema { return s.schema }

// Next moves to the next batch.
func (s *Stream) Next() bool {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.show(nil)
	if s.over {
		return false
	}
	if s.aside != nil {
		b, err := s.aside.get()
		if err != nil {
			s.fail(err)
			return false
		}
		if b != nil {
			s.show(b)
			return true
		}
	}
	if b := s.held; b != nil {
		s.held = nil
		s.show(b)
		b.Release()
		return true
	}
	live := s.current()
	if live == nil {
		s.over = true
		return false
	}
	if live.Next() {
		s.show(live.RecordBatch())
		return true
	}
	s.endLive(live.Err())
	s.over = true
	return false
}

// show makes b the current batch. The stream has a reference of its own, since the result may move on (when it is
// put aside) while the batch is being sent.
func (s *Stream) show(b arrow.RecordBatch) {
	if b != nil {
		b.Retain()
	}
	s.mu.Lock()
	old := s.batch
	s.batch = b
	s.mu.Unlock()
	if old != nil {
		old.Release()
	}
}

func (s *Stream) current() *duck.Reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live
}

// fail ends the stream with an error, the first one if there are several.
func (s *Stream) fail(err error) {
	s.over = true
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// endLive gives the connection back as soon as its result has ended. What was put aside is still to be read.
func (s *Stream) endLive(err error) {
	s.mu.Lock()
	live := s.live
	s.live = nil
	err = stopped(s.ctx, s.lake.check(err))
	if s.err == nil {
		s.err = err
	}
	s.mu.Unlock()
	if live != nil {
		_ = live.Close()
		s.ended(err)
	}
}

// RecordBatch is the current batch, valid until the next call of Next.
func (s *Stream) RecordBatch() arrow.RecordBatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batch
}

// Record is RecordBatch by its older name.
func (s *Stream) Record() arrow.RecordBatch { return s.RecordBatch() }

// Err is why the stream ended early; nil when it was read to its end.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// putAside moves the rest of the live result to disk, so that its connection is free. When it cannot, the stream
// goes on as it was and the error says why.
func (s *Stream) putAside(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	live := s.current()
	if live == nil {
		return nil
	}
	if s.aside == nil {
		aside, err := newSpool(s.lake.temp.path, s.schema, s.lake.spool)
		if err != nil {
			return err
		}
		s.aside = aside
	}
	for {
		if s.held != nil {
			if err := s.aside.put(s.held); err != nil {
				return err
			}
			s.held.Release()
			s.held = nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !live.Next() {
			break
		}
		s.held = live.RecordBatch()
		s.held.Retain()
	}
	s.endLive(live.Err())
	return nil
}

// Close ends the statement if it still runs.
func (s *Stream) Close() error {
	select {
	case s.turn <- struct{}{}:
	default:
		// Somebody reads or spools: end the result under it, which stops a running Next.
		if live := s.current(); live != nil {
			_ = live.Close()
		}
		s.turn <- struct{}{}
	}
	defer func() { <-s.turn }()
	s.over = true
	s.show(nil)
	s.endLive(nil)
	if s.held != nil {
		s.held.Release()
		s.held = nil
	}
	if s.aside != nil {
		s.aside.close()
		s.aside = nil
	}
	s.closed()
	return nil
}

// Retain does nothing: a stream is ended by Close.
func (s *Stream) Retain() {}

// Release does nothing, see Retain.
func (s *Stream) Release() {}
