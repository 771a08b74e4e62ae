package stream

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// drainRows is how many changed records are written between two epochs, so that a checkpoint does not hold up what comes.
const drainRows = 4096

// idleCheckpoints is how many checkpoint intervals a member waits whose frontier alone has moved.
const idleCheckpoints = 6

// due says that a checkpoint is worth it.
func (m *member) due(now time.Time) bool {
	return !m.waiting() && m.wants(now)
}

// wants says that a checkpoint would be worth it, were all published.
func (m *member) wants(now time.Time) bool {
	if m.flight != nil || m.store == nil {
		return false
	}
	p := m.point()
	switch {
	case p == m.saved:
		return false
	case m.saved.Epoch != p.Epoch || m.touched:
		return now.Sub(m.savedAt) >= m.options.Checkpoint || m.saved.Epoch == 0
	}
	return now.Sub(m.savedAt) >= idleCheckpoints*m.options.Checkpoint
}

// capture begins a checkpoint. Everything must be published, and recorded what was dropped.
func (m *member) capture() {
	m.flying = m.point()
	if m.flight = m.store.Capture(m.flying.encode()); m.flight != nil {
		m.figures.StateBytes.Store(int64(m.store.Used()))
	}
}

// advance goes on with the checkpoint that was captured, and says whether there is more to do at once. It is called between epochs.
func (m *member) advance(ctx context.Context) (more bool, err error) {
	if m.flight == nil {
		return false, nil
	}
	if m.committed == nil {
		if m.flight.Drain(drainRows) {
			return !m.flight.Waits(), nil // the group is woken when it can go on
		}
		m.committed = make(chan error, 1)
		go m.commit(context.WithoutCancel(ctx))
		return false, nil
	}
	select {
	case err := <-m.committed:
		return false, m.settle(ctx, err)
	default:
		return false, nil
	}
}

// commit makes the captured state durable.
func (m *member) commit(ctx context.Context) {
	began := time.Now()
	err := m.flight.Commit(ctx)
	m.figures.Checkpointed.Store(int64(time.Since(began)))
	m.committed <- err
	m.c.wake(m.view.UUID)
}

// settle ends a checkpoint, and holds what it needs in the place of what was held.
func (m *member) settle(ctx context.Context, err error) error {
	m.flight, m.committed = nil, nil
	m.store.Settle()
	if err == nil {
		err = m.displaced() // what was written is in no folder
	}
	if err != nil {
		return err
	}
	m.saved, m.savedAt, m.touched = m.flying, time.Now(), false
	m.figures.Checkpoints.Add(1)
	m.figures.StateBytes.Store(int64(m.store.Used()))
	m.figures.SavedAt.Store(m.savedAt.UnixMicro())
	return m.hold(ctx, m.saved)
}

// hold keeps the lake's history from a point on.
func (m *member) hold(ctx context.Context, p point) error {
	tables := map[int64]int64{}
	if p.Result.Snapshot > 0 {
		tables[m.view.Table.ID] = p.Result.Snapshot // who wrote into it since then is found by that
	}
	for _, in := range m.inputs {
		if in.stream {
			tables[in.reading.TableID] = p.Published
		} else {
			tables[in.reading.TableID] = p.Frontier
		}
	}
	return m.c.Sink.Hold(ctx, m.holder(), tables)
}

// checkpoint writes one and waits for it; for a member that stops.
func (m *member) checkpoint(ctx context.Context) error {
	if m.store == nil || m.waiting() || m.broken || m.unrecorded() {
		return nil // what is not published is computed again
	}
	if m.flight != nil {
		if m.committed == nil {
			m.flight.Drain(0)
		}
		for m.committed == nil {
			if _, err := m.advance(ctx); err != nil {
				return err
			}
		}
		if err := m.settle(ctx, <-m.committed); err != nil {
			return err
		}
	}
	if m.point() == m.saved {
		return nil
	}
	m.capture()
	if m.flight == nil {
		return fault.InternalError.Newf("a checkpoint of view %s is still on its way", m.name())
	}
	m.flight.Drain(0)
	return m.settle(ctx, m.flight.Commit(context.WithoutCancel(ctx))) // a disk answers
}
