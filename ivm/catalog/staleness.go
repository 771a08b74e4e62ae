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

// Staleness finds the first commit to a base table, seen through views, that
// the published content of v does not reflect. now is the catalog's clock.
func Staleness(ctx context.Context, h History, v *View, now time.Time) (Lag, error) {
	var first time.Time
	for base, reflected := range v.Published.Frontier.Tables {
		at, ok, err := h.FirstChange(ctx, base, reflected)
		if err != nil {
			return Lag{}, err
		}
		if ok && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if first.IsZero() {
		return Lag{}, nil
	}
	// A commit that another server's clock put into the future is not less than just behind.
	return Lag{Since: first, By: max(now.Sub(first), 0)}, nil
}
