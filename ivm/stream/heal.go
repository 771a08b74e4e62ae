package stream

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/ivm/zset"
)

// heal takes back what somebody else wrote into the view's table since the last publication, and says whether there was anything.
func (m *member) heal(ctx context.Context) (bool, error) {
	if m.fresh {
		return true, nil // the difference to what is there is published anyway
	}
	from := m.result.Mark().Snapshot
	if err := m.result.Reload(ctx); err != nil {
		return false, err
	}
	to := m.result.Mark().Snapshot
	if to <= from {
		return false, nil
	}
	theirs := zset.New(m.graph.Layout())
	if err := m.written(ctx, from, to, theirs); err != nil {
		return false, err
	}
	return m.takeBack(theirs, from), nil
}

// healSince does the same for a member that has gone on from a checkpoint, when the table was as it is to be after a snapshot: pending is
// what has changed since then, and published, unless somebody else wrote. If somebody did, perhaps between publications of ours and taken
// back by some of them, what is missing is all of that without all that was written.
func (m *member) healSince(ctx context.Context, from int64) error {
	replayed := m.pending
	m.pending = nil
	head, err := m.c.Source.Head(ctx)
	if err != nil || head <= from {
		return err
	}
	commits, err := m.c.Source.Commits(ctx, from, head)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(commits, func(c Commit) bool { t := c.Tables[m.view.Table.ID]; return t.Rows && !t.Ours }) {
		return nil
	}
	if err := m.result.Reload(ctx); err != nil {
		return err
	}
	written := zset.New(m.graph.Layout())
	if err := m.written(ctx, from, m.result.Mark().Snapshot, written); err != nil {
		return err
	}
	m.pending = replayed
	m.takeBack(written, from)
	if m.pending != nil {
		m.pending.Consolidate()
	}
	return nil
}

// written adds what was written into the view's table.
func (m *member) written(ctx context.Context, from, to int64, out *zset.Batch) error {
	r := Reading{TableID: m.view.Table.ID, UUID: m.view.UUID, Name: m.view.Name(), Columns: m.view.Table.Columns, Layout: out.Layout, Position: -1}
	return m.c.Source.Changes(ctx, r, from, to, func(b *zset.Batch) error {
		out.AppendBatch(b)
		return nil
	})
}

func (m *member) takeBack(theirs *zset.Batch, since int64) bool {
	theirs.Consolidate()
	if theirs.Len() == 0 {
		return false
	}
	m.c.Log.Warn("somebody else wrote into a streaming view; that is taken back", "view", m.name(), "rows", theirs.Len(), "since snapshot", since)
	m.figures.Healed.Add(1)
	theirs.Negate()
	m.delta = theirs
	m.keep()
	return true
}
