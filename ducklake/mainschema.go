package ducklake

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// Every connection is in the lake's schema main when it begins. Another program may drop that; what was in it is gone then, but the
// lake must go on working.

// restoreMain makes the schema main again if the newest snapshot has none, and says whether it did.
func (l *Lake) restoreMain(ctx context.Context) (restored bool, err error) {
	select {
	case l.ddl <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-l.ddl }()
	unlock, err := l.lock.Lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	missing := false
	err = l.store.View(ctx, func(tx metadata.Tx) error {
		newest, err := metadata.Latest(ctx, tx)
		if err != nil {
			return err
		}
		schemas, err := metadata.Schemas(ctx, tx, newest.ID)
		missing = !slices.ContainsFunc(schemas, func(s metadata.SchemaInfo) bool { return s.Name == "main" })
		return err
	})
	if err != nil || !missing {
		return false, err
	}
	l.log.Warn("another program dropped the lake's schema main; it is made again, empty")
	_, err = l.keep.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+metadata.QuoteIdent(l.config.Name)+`.main`)
	if metadata.IsConflict(err) { // another server was first
		err = nil
	}
	return err == nil, err
}

// hasMain says whether the schema main is among the objects.
func hasMain(o *gate.Objects) bool { return slices.Contains(o.Schemas, "main") }
