package stream

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/ivm/zset"
)

// flight is a commit of all members that is on its way while they go on.
type flight struct {
	members  []*member
	at       []point // where they were
	bundle   Bundle
	told     func([]Published)
	done     chan struct{} // closed when it is over
	out      []Published
	err      error
	duration time.Duration
}

func (f *flight) over() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// steady says that the members may go on while a commit of theirs is on its way: nothing is at hand that needs all to be published.
func (g *group) steady() bool {
	if g.foreign.Load() || g.worn() {
		return false
	}
	now := time.Now()
	for _, m := range g.members {
		if m.fresh || m.mending || m.broken || m.erring() || m.announce || m.frontier != g.members[0].frontier || m.wants(now) {
			return false
		}
	}
	return true
}

// depart sends a commit of what is pending on its way.
func (g *group) depart(ctx context.Context) error {
	members := g.ready()
	if len(members) == 0 {
		return nil // it has come to nothing
	}
	c, err := g.commitment(ctx, members)
	if err != nil {
		return err
	}
	b, err := g.c.Sink.Prepare(ctx, c)
	if err != nil {
		if again, err := g.refused(ctx, members, err); err != nil || !again {
			return err
		}
		return g.publish(ctx)
	}
	f := &flight{members: members, bundle: b, told: g.announce(c), done: make(chan struct{})}
	for _, m := range members {
		f.at = append(f.at, m.point())
		m.sent, m.pending = m.pending, nil
	}
	g.aloft = f
	go g.fly(ctx, f)
	return nil
}

// fly makes a commit; land is told.
func (g *group) fly(ctx context.Context, f *flight) {
	defer g.wake()
	defer close(f.done)
	began := time.Now()
	f.out, f.err = f.bundle.Commit(ctx)
	f.duration = time.Since(began)
	f.told(f.out)
}

// land waits for the commit that is on its way, and notes what became of it. What was not committed is pending again.
func (g *group) land(ctx context.Context) error {
	f := g.aloft
	if f == nil {
		return nil
	}
	<-f.done
	g.aloft = nil
	done, err := f.bundle.Finish(ctx, f.out)
	if err != nil {
		for _, m := range f.members {
			m.restore()
		}
		_, err = g.refused(ctx, f.members, err)
		return err
	}
	return g.committed(f.members, f.at, done, f.duration)
}

// restore makes what was sent pending again.
func (m *member) restore() {
	sent := m.sent
	m.sent = nil
	if sent == nil {
		return
	}
	if m.pending != nil {
		all := zset.New(sent.Layout) // what was sent may be read by others
		all.AppendBatch(sent)
		all.AppendBatch(m.pending)
		sent = all
		sent.Consolidate()
	}
	m.pending, m.consolidated = sent, sent.Len()
}

// alight is land for who does not go on: what could not be committed stays pending.
func (g *group) alight(ctx context.Context) {
	if err := g.land(ctx); err != nil && ctx.Err() == nil {
		g.c.Log.Warn("a commit of streaming views was not made", "views", g.names(), "error", err)
	}
}
