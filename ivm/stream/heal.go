package stream

import (
	"context"

	"github.com/vegadb/vega-flight/ivm/zset"
)

// heal takes back what somebody else wrote into the view's table since the last publication.
func (m *member) heal(ctx context.Context) error {
	if m.fresh {
		return nil // the difference to what is there is published anyway
	}
	from := m.result.Mark().Snapshot
	if err := m.result.Reload(ctx); err != nil {
		return err
	}
	to := m.result.Mark().Snapshot
	if to <= from {
		return nil
	}
	theirs := zset.New(m.graph.Layout())
	if err := m.written(ctx, from, to, theirs); err != nil {
		return err
	}
	m.takeBack(theirs, from)
	return nil
}

// healSince does the same for what was written while nobody looked, between publications of ours.
func (m *member) healSince(ctx context.Context, from int64) error {
	to := m.result.Mark().Snapshot
	if to <= from {
		return nil
	}
	commits, err := m.c.Source.Commits(ctx, from, to)
	if err != nil {
		return err
	}
	theirs := zset.New(m.graph.Layout())
	for _, c := range commits {
		if t := c.Tables[m.view.Table.ID]; t.Rows && !t.Ours {
			if err := m.written(ctx, c.Snapshot-1, c.Snapshot, theirs); err != nil {
				return err
			}
		}
	}
	m.takeBack(theirs, from)
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

func (m *member) takeBack(theirs *zset.Batch, since int64) {
	theirs.Consolidate()
	if theirs.Len() == 0 {
		return
	}
	m.c.Log.Warn("somebody else wrote into a streaming view; that is taken back", "view", m.name(), "rows", theirs.Len(), "since snapshot", since)
	m.figures.Healed.Add(1)
	theirs.Negate()
	m.delta = theirs
	m.keep()
}
