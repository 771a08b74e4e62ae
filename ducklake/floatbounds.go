package ducklake

import (
	"context"

	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// forgetFloatBounds removes the bounds of FLOAT and DOUBLE columns that the extension has recorded for new files, see
// [metadata.ForgetFloatBounds]. It is called with the commit lock.
func (l *Lake) forgetFloatBounds(ctx context.Context) error {
	from := l.boundsSeen.Load()
	var newest metadata.Snapshot
	found := false
	err := l.store.View(ctx, func(tx metadata.Tx) (err error) {
		if newest, err = metadata.Latest(ctx, tx); err != nil || newest.NextFileID <= from {
			return err
		}
		found, err = metadata.HasFloatBounds(ctx, tx, from)
		return err
	})
	if err != nil || newest.NextFileID <= from {
		return err
	}
	if found {
		err = l.store.Update(ctx, func(tx metadata.Tx) error { return metadata.ForgetFloatBounds(ctx, tx, from) })
		if err != nil {
			return err
		}
	}
	l.boundsSeen.Store(newest.NextFileID)
	return nil
}

// sweepFloatBounds does it for commits that others made: other servers, and maintenance.
func (l *Lake) sweepFloatBounds(ctx context.Context) error {
	unlock, err := l.lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return l.forgetFloatBounds(ctx)
}
