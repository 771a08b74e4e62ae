package lake

import (
	"context"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// Results are the lake's tables as streaming views write them. It is safe for concurrent use; a result is for one goroutine at a time.
type Results struct{ s *Sink }

var _ stream.Sink = Results{}

// Results is the sink of streaming views. Their commits and those of refreshes go together.
func (s *Sink) Results() Results { return Results{s} }

// Open finds where the rows of a view's table lie.
func (o Results) Open(ctx context.Context, spec stream.ResultSpec, tables dataflow.Tables, at stream.Mark) (stream.Result, error) {
	r := &result{s: o.s, uuid: spec.UUID, layout: spec.Layout, names: newNamer(spec.Layout, spec.UUID), mark: at, seen: at.Snapshot, next: at.NextRowID}
	var err error
	if r.places, err = openPlaces(tables); err != nil {
		return nil, err
	}
	if err := o.s.db.View(ctx, func(tx metadata.Tx) (err error) {
		r.table, err = tableOf(ctx, tx, spec.Table.ID, spec.Table.Name.String())
		return err
	}); err != nil {
		return nil, err
	}
	if r.schema, err = arrowSchema(spec.Layout); err != nil {
		return nil, err
	}
	if at.Snapshot == 0 {
		if err := r.all(ctx); err != nil {
			return nil, err
		}
	} else {
		r.count, _ = r.places.fact(meta, metaCount)
		if err := r.catchUp(ctx, following); err != nil {
			return nil, err
		}
	}
	return r, r.places.err()
}

func tableOf(ctx context.Context, tx metadata.Tx, id int64, name string) (metadata.TableInfo, error) {
	t, found, err := metadata.TableByID(ctx, tx, id, 0)
	if err == nil && !found {
		err = fault.ViewTableGone.Newf("the table of view %s was dropped", name)
	}
	return t, err
}

// Hold keeps what is needed to follow tables.
func (o Results) Hold(ctx context.Context, uuid string, tables map[int64]int64) error {
	return o.s.db.Update(ctx, func(tx metadata.Tx) error {
		for id, snapshot := range tables {
			if err := maintain.SetHold(ctx, tx, maintain.Hold{Holder: uuid, TableID: id, Snapshot: snapshot}); err != nil {
				return err
			}
		}
		return maintain.KeepHolds(ctx, tx, uuid, tables)
	})
}

// Release lets go of all that is held for the view.
func (o Results) Release(ctx context.Context, uuid string) error {
	return o.s.db.Update(ctx, func(tx metadata.Tx) error { return maintain.ReleaseHolds(ctx, tx, uuid) })
}

// Reflect records frontiers that have moved without a change of the content, of all views or of none.
func (o Results) Reflect(ctx context.Context, moved []stream.Change) error {
	if len(moved) == 0 {
		return nil
	}
	return o.s.db.Update(ctx, func(tx metadata.Tx) error {
		if err := o.owned(ctx, tx, moved); err != nil {
			return err
		}
		any := false
		for _, c := range moved {
			n, err := tx.Exec(ctx, `UPDATE {M}vega_published SET frontier = $4 WHERE uuid = $1 AND generation = $2 AND epoch = $3`,
				c.UUID, c.Generation, c.Epoch, c.Frontier.Encode())
			if err != nil {
				return err
			}
			if n == 0 {
				if err := o.unpublished(ctx, tx, c); err != nil {
					return err
				}
			}
			if n > 0 && (c.Anew || c.Dropped != nil) {
				if err := o.s.Store.AddDropped(ctx, tx, c); err != nil {
					return err
				}
			}
			any = any || n > 0
		}
		if !any {
			return nil
		}
		return o.s.Store.Touch(ctx, tx) // no snapshot says that what is known of the views is old
	})
}

// Dropped is what was dropped as late of the sources of a view.
func (o Results) Dropped(ctx context.Context, uuid string, since int64) ([]stream.Dropped, error) {
	return o.s.Store.Dropped(ctx, uuid, since)
}

// unpublished says why there is nothing published as a change says that it is: something else is, or the view is gone, which is no error.
func (o Results) unpublished(ctx context.Context, tx metadata.Tx, c stream.Change) error {
	p, found, err := publish.ReadPublished(ctx, tx, c.UUID)
	if err != nil || !found {
		return err
	}
	return fault.RefreshConflict.Newf("view %s is at generation %d, epoch %d, not %d, %d", c.View, p.Generation, p.Epoch, c.Generation, c.Epoch)
}

// owned says whether all the views are this server's still.
func (o Results) owned(ctx context.Context, tx metadata.Tx, views []stream.Change) error {
	f := o.s.Fence()
	uuids := make([]string, len(views))
	for i, c := range views {
		uuids[i] = c.UUID
	}
	return o.s.Store.Owned(ctx, tx, store.Owner{ServerID: f.ServerID, Fence: f.Epoch}, uuids)
}

// reading runs f with a connection of the server's own.
func (s *Sink) reading(ctx context.Context, f func(*duck.Conn) error) error {
	c, release, err := s.Lake.Acquire(ctx, ducklake.Aside(""))
	if err != nil {
		return err
	}
	defer release()
	return reading(f(c))
}

// current is what is published of a view.
func (s *Sink) current(ctx context.Context, uuid string) (p publish.Published, err error) {
	err = s.db.View(ctx, func(tx metadata.Tx) (err error) {
		p, _, err = publish.ReadPublished(ctx, tx, uuid)
		return err
	})
	return p, err
}
