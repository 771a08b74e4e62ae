package store

import (
	"context"
	"strings"
	"sync"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// Owner is a life of a server.
type Owner struct {
	ServerID string
	Fence    int64
}

// Streams implements stream.Views for one server.
type Streams struct {
	s    *Store
	me   func() Owner
	live func(ctx context.Context) (map[string]bool, error)

	mu  sync.Mutex
	set *catalog.Set // the last one that was read
}

var _ stream.Views = (*Streams)(nil)

// Streams is the port of package stream. me is this server now; live are the servers with a lease, nil when there can be no other.
func (s *Store) Streams(me func() Owner, live func(ctx context.Context) (map[string]bool, error)) *Streams {
	return &Streams{s: s, me: me, live: live}
}

const streamColumns = `uuid, paused, paused_at, restarts, generation, mode, state, reason_code, reason_message, reason_hint, since, handled,
	boundary, late, server_id, fence, rebuilt_at`

// streamRows reads one view's control row, or with an empty uuid all of them.
func streamRows(ctx context.Context, tx metadata.Tx, uuid string) (map[string]stream.Record, error) {
	rows, err := tx.Query(ctx, `SELECT `+streamColumns+` FROM {M}vega_streams WHERE uuid = $1 OR $1 = ''`, uuid)
	if err != nil {
		return nil, err
	}
	out := make(map[string]stream.Record, len(rows))
	for _, values := range rows {
		var r metadata.Row
		r.Take(values)
		x := stream.Record{
			UUID: r.Text(), Paused: r.Bool(), PausedAt: r.NullTime(), Restarts: r.Int(), Generation: r.Int(), Mode: r.Text(),
			State:  stream.State(r.Text()),
			Reason: stream.Reason{Code: r.Text(), Message: r.Text(), Hint: r.Text()},
			Since:  r.NullTime(), Handled: r.Int(), Boundary: r.Int(), Late: r.Int(), ServerID: r.Text(), Fence: r.Int(),
			RebuiltAt: r.NullInt(0),
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
		out[x.UUID] = x
	}
	return out, nil
}

// Views are the views as they are now, and their control rows. The views are read again only when something moved.
func (v *Streams) Views(ctx context.Context) (*catalog.Set, map[string]stream.Record, error) {
	v.mu.Lock()
	set := v.set
	v.mu.Unlock()
	var records map[string]stream.Record
	err := v.s.db.View(ctx, func(tx metadata.Tx) (err error) {
		if records, err = streamRows(ctx, tx, ""); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, revisionSQL)
		if err != nil {
			return err
		}
		r, err := single(rows)
		if err != nil {
			return err
		}
		if at, err := scanRevision(r); err != nil || set != nil && set.Revision == at {
			return err
		}
		facts, err := v.s.Facts(ctx, tx)
		if err == nil {
			set = catalog.Resolve(facts)
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	v.mu.Lock()
	v.set = set
	v.mu.Unlock()
	return set, records, nil
}

// Save writes the observed part of a view's row, if the row is this server's.
func (v *Streams) Save(ctx context.Context, r stream.Record) error {
	me := v.me()
	return v.s.db.Update(ctx, func(tx metadata.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE {M}vega_streams SET state = $4, reason_code = $5, reason_message = $6, reason_hint = $7, since = $8,
			handled = $9, boundary = $10, late = $11 WHERE uuid = $1 AND server_id = $2 AND fence = $3`,
			r.UUID, me.ServerID, me.Fence, string(r.State), r.Reason.Code, storable(r.Reason.Message), storable(r.Reason.Hint), when(r.Since),
			r.Handled, r.Boundary, r.Late)
		return err
	})
}

// storable is a text that both catalogs keep: messages quote data.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", `\0`)
}

// Claim makes this server the owner of all the views, or of none. Views whose row is gone do not hinder it. If a new view has brought together
// views of several servers that live, one of the servers is given them all: the others hand over theirs here.
func (v *Streams) Claim(ctx context.Context, uuids []string) ([]string, error) {
	var live map[string]bool
	if v.live != nil {
		var err error
		if live, err = v.live(ctx); err != nil {
			return nil, err
		}
	}
	me := v.me()
	var d division
	look := func(tx metadata.Tx) error {
		records, err := streamRows(ctx, tx, "")
		d = divide(records, uuids, me, live)
		return err
	}
	if err := v.s.db.View(ctx, look); err != nil || len(d.free) == 0 && len(d.given) == 0 {
		return d.owned, err
	}
	err := v.s.db.Update(ctx, func(tx metadata.Tx) error {
		if err := look(tx); err != nil {
			return err
		}
		for _, to := range []struct {
			uuids []string
			owner Owner
		}{{d.free, me}, {d.given, d.keeper}} {
			for _, uuid := range to.uuids {
				if err := v.s.TakeUp(ctx, tx, uuid, to.owner); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return append(d.owned, d.free...), nil
}

// division is how views that belong together are divided among servers, as one of them sees it.
type division struct {
	owned, free []string // all of them, if nobody else works on any
	given       []string // that are handed over
	keeper      Owner    // to whom
}

func divide(records map[string]stream.Record, uuids []string, me Owner, live map[string]bool) (d division) {
	d.keeper = me
	others := false
	for _, uuid := range uuids {
		r, there := records[uuid]
		switch mine := r.ServerID == me.ServerID; {
		case !there:
		case mine && r.Fence == me.Fence:
			d.owned = append(d.owned, uuid)
		case r.ServerID == "", mine && r.Fence < me.Fence, !mine && !live[r.ServerID]:
			d.free = append(d.free, uuid)
		case mine: // a later life of this server works on it
			return division{}
		default:
			others = true
			if of := (Owner{r.ServerID, r.Fence}); of.ServerID < d.keeper.ServerID || of.ServerID == d.keeper.ServerID && of.Fence > d.keeper.Fence {
				d.keeper = of
			}
		}
	}
	switch {
	case !others:
		return d
	case d.keeper == me:
		return division{} // the others hand over
	}
	return division{given: d.owned, keeper: d.keeper}
}

// Rebind writes the sources of a view.
func (v *Streams) Rebind(ctx context.Context, uuid string, sources []catalog.Source) error {
	return v.s.db.Update(ctx, func(tx metadata.Tx) error {
		row, found, err := v.s.RowByUUID(ctx, tx, uuid)
		if err != nil || !found {
			return err
		}
		row.Sources = sources
		ok, err := v.s.UpdateRow(ctx, tx, row)
		if err == nil && !ok {
			err = fault.CommitConflict.Newf("the row of view %s changed in its own transaction", row.Name)
		}
		return err
	})
}
