package stream

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// leap is one way from a frontier to the next.
type leap struct {
	to    int64
	clock int64
	// published is the lake snapshot at which the results of views outside of the cluster show their content at `to`.
	published int64
	touched   map[int64]bool // tables whose rows may have changed; nil: any may
	cluster   []*member      // in topological order

	full    bool        // it is not to wait for more
	shorten func() bool // takes fewer commits if what was read is too much, and says whether it did
}

// in is the member of the cluster that a table is the result of, or nil.
func (l *leap) in(uuid string) *member {
	for _, m := range l.cluster {
		if m.view.UUID == uuid {
			return m
		}
	}
	return nil
}

// read takes what the member needs for the leap from the lake. It changes no state.
func (m *member) read(ctx context.Context, l *leap) error {
	for _, in := range m.inputs {
		in.delta.Reset()
		from, to := m.frontier, l.to
		if in.stream {
			if l.in(in.reading.UUID) != nil {
				continue // its delta is made on the way
			}
			from, to = m.published, l.published
		}
		if from >= to || !in.stream && l.touched != nil && !l.touched[in.reading.TableID] {
			continue
		}
		r := in.reading
		r.After = m.after
		if err := m.c.Source.Changes(ctx, r, from, to, func(b *zset.Batch) error {
			in.delta.AppendBatch(b)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// took is how many rows and bytes were read for the leap.
func (m *member) took() (rows, bytes int64) {
	for _, in := range m.inputs {
		rows += int64(in.delta.Len())
		bytes += bytesOf(in.delta)
	}
	return rows, bytes
}

// step takes the member from its frontier to the leap's end with what was read and what the cluster's members before it made. What comes
// of it is in delta until the next step. After an error the member is of no use.
func (m *member) step(ctx context.Context, l *leap) error {
	rows, _ := m.took()
	m.figures.read(int(rows))
	deltas := make([]*zset.Batch, len(m.inputs))
	work := m.graph.Due(l.clock)
	for i, in := range m.inputs {
		deltas[i] = in.delta
		if in.stream {
			if up := l.in(in.reading.UUID); up != nil {
				deltas[i] = project(up.delta, in)
			}
		}
		work = work || deltas[i] != nil && deltas[i].Len() > 0
	}
	m.delta = nil
	if work {
		began := time.Now()
		out, err := m.graph.Step(ctx, l.clock, deltas...)
		if err != nil {
			m.broken = true
			return inconsistent(err)
		}
		m.delta = out
		m.errors = m.graph.Errors()
		m.countLate()
		m.figures.stepped(out.Len(), time.Since(began))
		m.touched, m.unsaid = true, true
	}
	// A commit counts as not reflected until the catalog hears otherwise, also one whose rows are none of this view's.
	m.unsaid = m.unsaid || len(l.touched) > 0
	m.frontier, m.clock = l.to, max(m.clock, l.clock)
	m.published = max(m.published, l.published)
	if work {
		m.drop()
	}
	return nil
}

// keep adds the step's change to what is to be published.
func (m *member) keep() {
	if m.delta == nil || m.delta.Len() == 0 {
		return
	}
	if m.pending == nil {
		m.pending, m.consolidated = zset.New(m.delta.Layout), 0
	}
	if m.pending.Len() == 0 {
		m.since = time.Now()
	}
	m.pending.AppendBatch(m.delta)
	if n := m.pending.Len(); n < fewRows || n >= 2*m.consolidated {
		m.sumUp()
	}
}

// fewRows are summed up each time that some come.
const fewRows = 4096

// sumUp consolidates what is pending. The whole content is summed up once, when it is published.
func (m *member) sumUp() {
	if m.pending != nil && !m.fresh && m.pending.Len() != m.consolidated {
		m.pending.Consolidate()
		m.consolidated = m.pending.Len()
	}
}

// inconsistent gives more retractions than rows the name that users know.
func inconsistent(err error) error {
	if fault.CodeOf(err) == fault.ExcessRetraction {
		return fault.SourceInconsistent.Wrap(err, "a source took back rows that it had not given").
			WithHint("REBUILD the view when the source is right again")
	}
	return err
}

// project is the part of a view's change that an input reads. It shares the long values.
func project(from *zset.Batch, in *input) *zset.Batch {
	if from == nil || from.Len() == 0 {
		return nil
	}
	out := &zset.Batch{Layout: in.reading.Layout, Heap: from.Heap}
	src := from.Layout
	for i, w := range from.Weights {
		r, to := from.Row(i), out.AppendRow(w)
		for f, k := range in.pick {
			copyField(out.Layout, to, f, src, r, k)
		}
	}
	return out
}

func copyField(dl *row.Layout, dst []uint64, f int, sl *row.Layout, src []uint64, k int) {
	if sl.IsNull(src, k) {
		dl.SetNull(dst, f)
		return
	}
	copy(dst[dl.Off[f]:dl.Off[f]+dl.Types[f].Words()], src[sl.Off[k]:])
}
