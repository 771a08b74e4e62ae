package stream

import (
	"context"
	"errors"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// place is where a member is to come to.
type place struct {
	frontier  int64
	published int64 // lake snapshot that shows the results of the views it reads at the frontier
}

// target says where the views that a member reads are now, or where the lake is.
type target func(ctx context.Context) (place, error)

// saying is told where a member stands that is being made, and what it has done if that is to be seen.
type saying func(s State, r Reason, does *Figures)

// make makes a member and brings it to where the views that it reads are, or to near the lake's head.
func (c *Config) make(ctx context.Context, k making, to target, say saying) (*member, error) {
	m, p, there, err := open(ctx, c, k)
	if err != nil {
		return nil, err
	}
	how, why := Begin(k.generation, k.view.Published, p, there && m.graph.Stepped())
	if how != First && k.clean {
		how, why = Again, "it is rebuilt"
	}
	if how == Again {
		c.Log.Warn("the state of a streaming view is computed anew", "view", m.name(), "why", why)
	}
	if how != Resume && there {
		// What is in the store is of another time.
		if err := m.close(); err != nil {
			return nil, err
		}
		k.clean = true
		if m, _, _, err = open(ctx, c, k); err != nil {
			return nil, err
		}
	}
	var was *kept
	if how == Again && k.mode != Future { // that one reads all that came since its boundary, one change after the other
		if was, err = m.recall(ctx); err != nil {
			return nil, errors.Join(err, m.close())
		}
		if was == nil && m.marked() && k.view.Published.Frontier.Since > 0 {
			c.Log.Warn("what a streaming view has dropped as late counts again: it reads other columns now", "view", m.name())
		}
	}
	if how == Resume {
		say(Recovering, Reason{Message: "it goes on from its last checkpoint"}, nil)
		err = m.resume(ctx, p)
	} else {
		say(Backfilling, Reason{Message: "its content is computed from its sources"}, nil)
		err = m.load(ctx, k, to, was, say)
	}
	if errors.Is(err, errOther) {
		c.Log.Warn("the first content of a streaming view has other rows than its operators give; they are put right", "view", m.name())
		if m, err = m.anew(ctx, k); err != nil {
			return nil, err
		}
		err = m.load(ctx, k, to, nil, say)
	}
	if err == nil {
		err = m.catchUp(ctx, to)
	}
	if code := fault.CodeOf(err); was != nil && (code == fault.HistoryExpired || code == fault.HistoryRewritten) {
		// What came since the frontier that the catalog knows cannot be known any more, nor what of it was late.
		c.Log.Warn("what a streaming view has dropped as late counts again: the lake's history is gone", "view", m.name(), "error", err)
		if err := m.close(); err != nil {
			return nil, err
		}
		k.clean = true
		if m, _, _, err = open(ctx, c, k); err != nil {
			return nil, err
		}
		if err = m.load(ctx, k, to, nil, say); err == nil {
			err = m.catchUp(ctx, to)
		}
	}
	if err != nil {
		err = errors.Join(err, m.close())
		c.unhold(m)
		return nil, err
	}
	return m, nil
}

// unholdWait bounds how long letting go of a hold may take when nobody waits for it.
const unholdWait = 10 * time.Second

// unhold lets go of what is held for a member that ends before anything of its generation was published: the next attempt begins at the sources
// as they are then, and perhaps there is none for a long time. In future mode it begins where this one did, so that one keeps its hold.
func (c *Config) unhold(m *member) {
	if m.view.Published.Generation >= m.generation || m.after > 0 { // it was promised what came since it was made, or since REBUILD was asked for
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), unholdWait)
	defer stop()
	if err := c.Sink.Release(ctx, m.holder()); err != nil {
		c.Log.Warn("what was held for a streaming view that was not made", "view", m.name(), "error", err)
	}
}

// load computes the content of a new generation, or of one whose state is lost: then, if something counts that the sources do not show
// any more, as it was at the frontier that the catalog knows.
func (m *member) load(ctx context.Context, k making, to target, was *kept, say saying) error {
	at, err := to(ctx)
	if err != nil {
		return err
	}
	m.begun = at.frontier
	if was != nil {
		at, m.begun = place{m.served.Frontier, m.served.Published}, m.view.Published.Frontier.Since
	}
	if k.mode == Future && k.boundary == 0 {
		k.boundary = at.frontier
	}
	if k.mode == Future {
		m.after = k.boundary
	}
	m.frontier, m.published = at.frontier, at.published
	since := at.frontier
	if m.after > 0 {
		since = min(since, m.after)
	}
	if err := m.hold(ctx, point{Frontier: since, Published: at.published}); err != nil {
		return m.lostSince(err)
	}
	m.clock = max(m.c.Now().UnixMicro(), m.served.Clock)
	filled, err := m.fill(ctx, at, say)
	if err != nil {
		return m.lostSince(err)
	}
	var from dataflow.Contents = &contents{ctx, m, at, was}
	whole := filled && m.graph.Whole() != nil
	if whole {
		from = dataflow.Nothing // it keeps nothing
	}
	var sum Sum // of a content that is published before the state is there: rows go by what the operators say
	if filled && !whole {
		sum = m.result.Summing()
	}
	content, err := m.compute(ctx, from, sum)
	if err != nil {
		return m.lostSince(inconsistent(err))
	}
	if was != nil {
		if err := m.remark(was, at.frontier); err != nil {
			return err
		}
	}
	m.drop()
	m.countLate()
	m.errors = m.graph.Errors()
	if !filled {
		m.pending, m.fresh = content.Take(), true
		m.result, err = m.c.Sink.Open(ctx, m.spec(), m.remembered(), Mark{})
		return err
	}
	if sum == nil {
		return nil
	}
	same, err := m.result.Has(ctx, sum)
	if err == nil && !same {
		err = errOther
	}
	return err
}

// errOther says that what was published before the state was there is not the state's content.
var errOther = errors.New("stream: the operators give other rows")

// compute makes the state, and gives the content that the operators say: itself, or to a sum.
func (m *member) compute(ctx context.Context, from dataflow.Contents, sum Sum) (*zset.Batch, error) {
	if sum == nil {
		return m.graph.LoadFrom(ctx, m.clock, from)
	}
	return nil, m.graph.LoadTo(ctx, m.clock, from, func(b *zset.Batch) error {
		sum.Add(b)
		return nil
	})
}

// anew makes the member without state, to take in what its operators give in the place of what is published of it.
func (m *member) anew(ctx context.Context, k making) (*member, error) {
	served := m.served
	if err := m.close(); err != nil {
		return nil, err
	}
	k.clean = true
	out, _, _, err := open(ctx, m.c, k)
	if err == nil {
		out.served = served
	}
	return out, err
}

// lostSince says what helps when the rows that came after the boundary cannot be known any more: nobody else knows them.
func (m *member) lostSince(err error) error {
	if code := fault.CodeOf(err); m.after == 0 || code != fault.HistoryExpired && code != fault.HistoryRewritten {
		return err
	}
	return fault.HistoryExpired.Wrap(err, "view %s counts rows that came after lake snapshot %d", m.name(), m.after).
		WithHint("ALTER STREAMING MATERIALIZED VIEW %s REBUILD WITH (initial_mode = 'future') counts those that come from then on", m.name())
}

// resume goes on from a checkpoint over what was published since.
func (m *member) resume(ctx context.Context, p point) error {
	m.frontier, m.clock, m.published, m.after = p.Frontier, p.Clock, p.Published, p.After
	m.saved, m.savedAt = p, time.Now()
	m.begun, m.marks = m.view.Published.Frontier.Since, m.graph.Watermarks()
	var err error
	if m.result, err = m.c.Sink.Open(ctx, m.spec(), m.remembered(), p.Result); err != nil {
		return err
	}
	if err := m.hold(ctx, p); err != nil {
		return err
	}
	for m.frontier < m.served.Frontier || m.clock < m.served.Clock {
		l, err := m.leap(ctx, place{m.served.Frontier, m.served.Published})
		if err != nil {
			return err
		}
		if l.to >= m.served.Frontier {
			l.clock = m.served.Clock
		}
		if err := m.follow(ctx, l); err != nil {
			return err
		}
	}
	m.errors = m.graph.Errors()
	m.recordedUpTo(m.frontier)
	m.countLate()
	return m.healSince(ctx, p.Result.Snapshot)
}

// leap is the next one of a member by itself.
func (m *member) leap(ctx context.Context, to place) (*leap, error) {
	l := &leap{to: max(to.frontier, m.frontier), clock: m.clock, published: to.published, cluster: []*member{m}}
	if m.frontier >= to.frontier {
		return l, nil
	}
	tables := map[int64]bool{}
	streams := false
	for _, in := range m.inputs {
		if in.stream {
			streams = true // between here and there, nobody knows which snapshot shows what
		} else {
			tables[in.reading.TableID] = true
		}
	}
	commits, err := m.c.Source.Commits(ctx, m.frontier, to.frontier)
	if err != nil {
		return nil, err
	}
	most := int64(catchUpRows)
	if streams {
		most = 0
	}
	w := choose(commits, m.frontier, to.frontier, tables, most, 0)
	if len(w.schema) > 0 {
		if err := m.checkSchema(ctx, w.to); err != nil {
			return nil, err
		}
	}
	if streams && w.to < to.frontier {
		// A snapshot that may have changed columns has not changed those that are used, or it would have been an error above: take all.
		w.touched, w.to = nil, to.frontier
	}
	l.to, l.touched = w.to, w.touched
	return l, nil
}

// catchUpRows bounds what a member that catches up takes at once.
const catchUpRows = 1 << 18

// follow reads and makes one leap.
func (m *member) follow(ctx context.Context, l *leap) error {
	if err := m.read(ctx, l); err != nil {
		return err
	}
	if err := m.step(ctx, l); err != nil {
		return err
	}
	m.keep()
	return nil
}

// catchUp brings the member to where it is to be, as it moves on; the last bit is left to its group.
func (m *member) catchUp(ctx context.Context, to target) error {
	for range 64 {
		at, err := to(ctx)
		if err != nil {
			return err
		}
		if at.frontier <= m.frontier {
			return nil
		}
		last := at.frontier
		for m.frontier < last {
			l, err := m.leap(ctx, at)
			if err != nil {
				return err
			}
			near := l.to == last && len(l.touched) == 0 && l.touched != nil
			if err := m.follow(ctx, l); err != nil {
				return err
			}
			if near {
				return nil
			}
		}
	}
	return nil
}

// checkSchema says whether the tables that are read have, at a snapshot, the columns that are read.
func (m *member) checkSchema(ctx context.Context, at int64) error {
	uuids := make([]string, len(m.inputs))
	for i, in := range m.inputs {
		uuids[i] = in.reading.UUID
	}
	now, err := m.c.Source.Tables(ctx, uuids, at)
	if err != nil {
		return err
	}
	for _, in := range m.inputs {
		t, ok := now[in.reading.UUID]
		if !ok {
			return droppedTable(nil, in.reading, m.name())
		}
		if err := sameColumns(t, in.reading.Columns, m.name()); err != nil {
			return err
		}
	}
	return nil
}
