package stream_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// silence is a catalog that does not answer one view's commits and holds, whatever becomes of who asks, until it is over.
type silence struct {
	stream.Sink
	uuid  atomic.Pointer[string] // whose; nil: nobody's
	deaf  atomic.Bool            // it does not hear that nobody waits any more, either
	asked chan struct{}          // one comes for each that is not answered
	over  atomic.Pointer[chan struct{}]
}

func (s *silence) on(l *lab) {
	s.asked = make(chan struct{}, 1<<10)
	s.begin()
	l.configure = append(l.configure, func(c *stream.Config) {
		s.Sink, c.Sink = c.Sink, s
		c.Patience = time.Second
	})
	l.t.Cleanup(s.end) // before the supervisor is stopped
}

func (s *silence) begin() {
	over := make(chan struct{})
	s.over.Store(&over)
}

func (s *silence) end() {
	if over := s.over.Swap(nil); over != nil {
		close(*over)
	}
}

func (s *silence) wait(ctx context.Context, uuid string) error {
	over := s.over.Load()
	if of := s.uuid.Load(); of == nil || *of != uuid || over == nil {
		return nil
	}
	s.asked <- struct{}{}
	done := ctx.Done()
	if s.deaf.Load() {
		done = nil
	}
	select {
	case <-*over:
		return nil
	case <-done:
		return ctx.Err()
	}
}

func (s *silence) waitAll(ctx context.Context, members []stream.Change) error {
	for _, m := range members {
		if err := s.wait(ctx, m.UUID); err != nil {
			return err
		}
	}
	return nil
}

func (s *silence) Publish(ctx context.Context, c stream.Commitment) ([]stream.Published, error) {
	if err := s.waitAll(ctx, c.Members); err != nil {
		return nil, err
	}
	return s.Sink.Publish(ctx, c)
}

func (s *silence) Prepare(ctx context.Context, c stream.Commitment) (stream.Bundle, error) {
	b, err := s.Sink.Prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	return &silentBundle{b, s, c}, nil
}

func (s *silence) Reflect(ctx context.Context, moved []stream.Change) error {
	if err := s.waitAll(ctx, moved); err != nil {
		return err
	}
	return s.Sink.Reflect(ctx, moved)
}

type silentBundle struct {
	stream.Bundle
	s *silence
	c stream.Commitment
}

func (b *silentBundle) Commit(ctx context.Context) ([]stream.Published, error) {
	if err := b.s.waitAll(ctx, b.c.Members); err != nil {
		_, own := b.Bundle.Commit(ctx) // of a context that has ended
		if own == nil {
			own = err
		}
		return nil, own
	}
	return b.Bundle.Commit(ctx)
}

// While the catalog does not answer one view, all others are stopped and started, and so is that one, and the server ends.
func TestASilentCatalogStopsNobodyElse(t *testing.T) {
	for name, deaf := range map[string]bool{"cancelled": false, "deaf": true} {
		t.Run(name, func(t *testing.T) {
			s := &silence{}
			l := newLab(t, laketest.DuckDB, s.on)
			s.deaf.Store(deaf)
			l.exec("CREATE TABLE o (id BIGINT)", "CREATE TABLE p (id BIGINT)")
			l.view("hung", "SELECT count(*) AS n FROM o")
			l.view("other", "SELECT count(*) AS n FROM p")
			l.view("third", "SELECT id FROM p")
			l.check()
			s.uuid.Store(&l.views["hung"].UUID)
			l.exec("INSERT INTO o VALUES (1)")
			<-s.asked
			pause := func(name string, paused bool) {
				l.control(name, func(c *store.Control, uuid string) error { return c.Pause(l.ctx, uuid, paused) })
			}
			l.restart("hung") // waits for the group
			pause("other", true)
			l.await("other", stream.Paused)
			pause("hung", true)
			l.await("hung", stream.Paused)
			l.exec("INSERT INTO p VALUES (1)", "INSERT INTO o VALUES (2)")
			pause("other", false)
			l.anew("third", func() { l.restart("third") })
			l.await("other", stream.Running)

			// When it answers again, the view goes on.
			s.end()
			pause("hung", false)
			l.check()

			// A server ends while it is silent.
			s.begin()
			l.exec("INSERT INTO o VALUES (3)")
			<-s.asked
			l.run.Close()
			s.end()
			s.uuid.Store(nil)
			l.run = nil
			l.start()
			l.check()
		})
	}
}
