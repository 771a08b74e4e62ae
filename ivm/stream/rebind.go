package stream

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/ivm/catalog"
)

// rebind lets a view follow tables that were dropped and made again under their names, with the columns that it reads. Its content is then
// computed anew. It says whether there was one.
func (s *Supervisor) rebind(ctx context.Context, sl *slot, v *catalog.View) bool {
	sources, changed := rebound(v.Sources, s.latest)
	if !changed {
		return false
	}
	ask, answered := s.asking(ctx)
	defer answered()
	if err := s.c.Views.Rebind(ask, v.UUID, sources); err != nil {
		if ctx.Err() == nil {
			s.c.Log.Warn("a streaming view cannot follow a table that was made again", "view", v.Name().String(), "error", err)
		}
		return false
	}
	s.c.Log.Info("a streaming view follows a table that was made again", "view", v.Name().String())
	sl.clean = true
	s.tell(nil) // its row is another now
	return true
}

// rebound gives the sources with the tables that are now in the places of those that are gone.
func rebound(sources []catalog.Source, set *catalog.Set) (out []catalog.Source, changed bool) {
	out = slices.Clone(sources)
	for i, src := range out {
		if slices.ContainsFunc(set.Tables, func(t catalog.Table) bool { return t.UUID == src.UUID }) {
			continue
		}
		t := set.TableAt(src.Name)
		if t == nil {
			return nil, false
		}
		columns := make([]catalog.Column, len(src.Columns))
		for k, c := range src.Columns {
			at := slices.IndexFunc(t.Columns, func(is catalog.Column) bool {
				return strings.EqualFold(is.Name, c.Name) && sameType(is.Type, c.Type)
			})
			if at < 0 {
				return nil, false
			}
			columns[k] = catalog.Column{ID: t.Columns[at].ID, Name: c.Name, Type: c.Type}
		}
		out[i] = catalog.Source{UUID: t.UUID, Name: src.Name, Columns: columns}
		changed = true
	}
	return out, changed
}

// letGo ends what a view that has been paused for too long holds in the lake.
func (s *Supervisor) letGo(ctx context.Context, sl *slot, v *catalog.View, now time.Time) {
	if sl.state != Paused || sl.heldUntil.IsZero() || now.Before(sl.heldUntil) {
		return
	}
	ctx, answered := s.asking(ctx)
	defer answered()
	for _, generation := range []int64{v.Published.Generation, sl.generation} { // the next one may have been given up
		if err := s.c.Sink.Release(ctx, holder(sl.uuid, generation)); err != nil {
			return // in a second again
		}
	}
	sl.heldUntil = time.Time{}
	s.c.Log.Warn("a streaming view was paused for longer than its max_hold; its history may expire", "uuid", sl.uuid)
}
