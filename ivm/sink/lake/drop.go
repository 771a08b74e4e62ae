package lake

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/store"
)

// dropping is one table of a journaled drop.
type dropping struct {
	ID   int64  `json:"id"`
	UUID string `json:"uuid"`
}

// Drop drops the tables in this order, then their rows. Once it is journaled it will be finished, by whomever.
func (s *Sink) Drop(ctx context.Context, views []*catalog.View) error {
	list := make([]dropping, len(views))
	for i, v := range views {
		list[i] = dropping{ID: v.Table.ID, UUID: v.UUID}
	}
	payload, err := json.Marshal(list)
	if err != nil {
		return err
	}
	s.drops.Lock()
	defer s.drops.Unlock()
	e := maintain.Entry{ID: uuid.NewString(), Kind: store.DropEntry, Payload: string(payload), Owner: s.owner()}
	if err := s.db.Update(ctx, func(tx metadata.Tx) error { return maintain.WriteEntry(ctx, tx, e) }); err != nil {
		return err
	}
	if err := fail(s.Faults.Dropping); err != nil {
		return err
	}
	return s.finishDrop(context.WithoutCancel(ctx), e)
}

// owner is who finishes what this server journals.
func (s *Sink) owner() publish.Fence {
	f := s.Fence()
	if f.ServerID == "" {
		f.ServerID = s.Lake.ServerID()
	}
	return f
}

func (s *Sink) finishDrop(ctx context.Context, e maintain.Entry) error {
	var list []dropping
	if err := json.Unmarshal([]byte(e.Payload), &list); err != nil {
		return fmt.Errorf("lake: journal entry %s: %w", e.ID, err)
	}
	uuids := make([]string, len(list))
	for i, d := range list {
		uuids[i] = d.UUID
		if err := s.dropTable(ctx, d); err != nil {
			return err
		}
	}
	if err := fail(s.Faults.Dropped); err != nil {
		return err
	}
	return s.db.Update(ctx, func(tx metadata.Tx) error {
		if err := s.Store.DeleteRows(ctx, tx, uuids...); err != nil {
			return err
		}
		for _, uuid := range uuids {
			if err := maintain.ReleaseHolds(ctx, tx, uuid); err != nil {
				return err
			}
			// Each generation of a streaming view holds for itself.
			if _, err := tx.Exec(ctx, `DELETE FROM {M}vega_holds WHERE holder LIKE $1`, uuid+".%"); err != nil {
				return err
			}
		}
		return maintain.RemoveEntry(ctx, tx, e.ID)
	})
}

// dropTable drops a table wherever it is now, if it is there. It goes by its id: by the time of the commit another table may have its name.
func (s *Sink) dropTable(ctx context.Context, d dropping) error {
	var found bool
	err := s.db.View(ctx, func(tx metadata.Tx) error {
		t, there, err := metadata.TableByID(ctx, tx, d.ID, 0)
		found = there && t.UUID == d.UUID // ids of a lake that was restored may be another's
		return err
	})
	if err != nil || !found {
		return err
	}
	if err := fail(s.Faults.DroppingTable); err != nil {
		return err
	}
	if err = s.Lake.DropTable(ctx, d.ID); fault.CodeOf(err) == fault.ObjectNotFound {
		return nil
	}
	return err
}
