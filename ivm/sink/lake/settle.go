package lake

import (
	"context"
	"errors"

	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/store"
)

// Settle finishes the drops that this server or dead ones left, and removes tables that dead servers were building.
func (s *Sink) Settle(ctx context.Context) error {
	var live map[string]bool
	if s.Live != nil {
		var err error
		if live, err = s.Live(ctx); err != nil {
			return err
		}
	}
	me := s.owner().ServerID
	dead := func(server string) bool { return server != me && !live[server] }

	s.drops.Lock() // what is in the journal now, nobody here is working on
	defer s.drops.Unlock()
	var entries []maintain.Entry
	err := s.db.View(ctx, func(tx metadata.Tx) (err error) {
		entries, err = maintain.Entries(ctx, tx, "")
		return err
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if e.Kind == store.DropEntry && (e.Owner.ServerID == me || dead(e.Owner.ServerID)) {
			s.Log.Info("finishing a drop that was interrupted", "entry", e.ID, "server", e.Owner.ServerID)
			errs = append(errs, s.finishDrop(ctx, e))
		}
	}
	errs = append(errs, s.Lake.Sweep(ctx, dead), s.sweepOwn(ctx), s.forgetPublished(ctx))
	return errors.Join(errs...)
}

// forgetPublished removes the published states of tables that were built for a replacement and never became a view.
func (s *Sink) forgetPublished(ctx context.Context) error {
	const left = ` FROM {M}vega_published WHERE uuid NOT IN (SELECT uuid FROM {M}vega_views)
		AND uuid NOT IN (SELECT CAST(table_uuid AS VARCHAR) FROM {M}ducklake_table WHERE end_snapshot IS NULL)`
	var rows [][]any
	err := s.db.View(ctx, func(tx metadata.Tx) (err error) {
		rows, err = tx.Query(ctx, `SELECT 1`+left+` LIMIT 1`)
		return err
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	return s.db.Update(ctx, func(tx metadata.Tx) error {
		_, err := tx.Exec(ctx, `DELETE`+left)
		return err
	})
}

// sweepOwn removes once what an earlier life of this server staged.
func (s *Sink) sweepOwn(ctx context.Context) error {
	f := s.Fence()
	s.mu.Lock()
	done := s.swept || f.ServerID == ""
	s.mu.Unlock()
	if done {
		return nil
	}
	f.Epoch--
	if err := s.Publisher.DiscardOwner(ctx, publish.Fence{ServerID: f.ServerID, Epoch: f.Epoch}); err != nil {
		return err
	}
	s.mu.Lock()
	s.swept = true
	s.mu.Unlock()
	return nil
}

// Changed says for each view whether a source has changes that its content does not reflect.
func (s *Sink) Changed(ctx context.Context, views []*catalog.View) (map[string]bool, error) {
	out := make(map[string]bool, len(views))
	if len(views) == 0 {
		return out, nil
	}
	err := s.db.View(ctx, func(tx metadata.Tx) error {
		newest, err := metadata.Latest(ctx, tx)
		if err != nil {
			return err
		}
		tables, err := metadata.Tables(ctx, tx, metadata.Filter{At: newest.ID})
		if err != nil {
			return err
		}
		byUUID := make(map[string]metadata.TableInfo, len(tables))
		for _, t := range tables {
			byUUID[t.UUID] = t
		}
		since, oldest := make([]int64, len(views)), newest.ID
		for i, v := range views {
			since[i] = v.Published.Frontier.SourceVersion
			if v.Published.Generation == 0 {
				since[i] = byUUID[v.UUID].Begin
			}
			oldest = min(oldest, since[i])
		}
		w, err := readWindow(ctx, tx, oldest, newest.ID)
		if err != nil {
			return err
		}
		for i, v := range views {
			out[v.UUID] = false
			var ids []int64
			for _, src := range v.Sources {
				t, there := byUUID[src.UUID]
				if !there {
					out[v.UUID] = true
				}
				ids = append(ids, t.ID)
			}
			if w.changed(since[i], ids) {
				out[v.UUID] = true
			}
		}
		return nil
	})
	return out, err
}
