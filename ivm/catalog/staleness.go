package catalog

import (
	"context"
	"time"
)

// History tells which commits changed which tables.
type History interface {
	// FirstChange is the commit time of the oldest lake snapshot after the given one that changed the table's rows;
	// ok is false when none did. Commits that only move rows about do not count.
	FirstChange(ctx context.Context, tableUUID string, after int64) (at time.Time, ok bool, err error)
}

// Lag is how far a view is behind its base tables.
type Lag struct {
	Since time.Time     // commit time of the first commit the content does not reflect; zero when it reflects all
	By    time.Duration // the catalog's clock now, minus Since
}

// Staleness finds the first commit that the published content of v does not
// reflect: one to a base table, seen through views, or one that gave a view it
// was computed from the content of another definition. now is the catalog's clock.
func (s *Set) Staleness(ctx context.Context, h History, v *View, now time.Time) (Lag, error) {
	var first time.Time
	look := func(table string, after int64) error {
		at, ok, err := h.FirstChange(ctx, table, after)
		if ok && (first.IsZero() || at.Before(first)) {
			first = at
		}
		return err
	}
	content := s.Reflected(v)
	for base, reflected := range content.Tables {
		if err := look(base, reflected); err != nil {
			return Lag{}, err
		}
	}
	for uuid, read := range content.Read {
		// A view that was dropped is as a dropped table: its readers say so when they refresh.
		up := s.ByUUID(uuid)
		if up == nil || up.Problem != nil || up.Published.Generation == 0 || up.Published.Snapshot <= read.Snapshot || up.Def.Meaning() == read.Meaning {
			continue
		}
		// Publications under the old definition may be between, which were for changes of base tables that count all the same.
		if err := look(uuid, read.Snapshot); err != nil {
			return Lag{}, err
		}
		if first.IsZero() {
			first = up.Published.At // it has no rows, before or now, or the history is gone
		}
	}
	if first.IsZero() {
		return Lag{}, nil
	}
	// A commit that another server's clock put into the future is not less than just behind.
	return Lag{Since: first, By: max(now.Sub(first), 0)}, nil
}
