package ducklake

import (
	"context"
	"fmt"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/types"
)

// settleInlining makes the rows of tables go to files at once where the catalog would change them, see [types.Inlined].
// It is called after each DDL statement, with the DDL mutex, and looks at tables only when the schema has changed.
func (l *Lake) settleInlining(ctx context.Context) error {
	var doubtful []metadata.TableInfo
	var newest metadata.Snapshot
	err := l.store.View(ctx, func(tx metadata.Tx) (err error) {
		doubtful = nil
		if newest, err = metadata.Latest(ctx, tx); err == nil && newest.SchemaVersion != l.inliningSeen.Load() {
			doubtful, err = metadata.DoubtfulInlining(ctx, tx)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, t := range doubtful {
		if l.inlinable(t) {
			continue
		}
		_, err := l.keep.Exec(ctx, fmt.Sprintf(`CALL %s.set_option('data_inlining_row_limit', 0, schema => %s, table_name => %s)`,
			metadata.QuoteIdent(l.config.Name), metadata.QuoteLiteral(t.Schema), metadata.QuoteLiteral(t.Name)))
		if err != nil {
			return fmt.Errorf("keep the rows of table %s.%s out of the catalog: %w", t.Schema, t.Name, err)
		}
	}
	l.inliningSeen.Store(newest.SchemaVersion)
	return nil
}

// settleOthers does it after DDL statements of others.
func (l *Lake) settleOthers(ctx context.Context) error {
	select {
	case l.ddl <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.ddl }()
	return l.settleInlining(ctx)
}

func (l *Lake) inlinable(t metadata.TableInfo) bool {
	for _, c := range t.Columns {
		if !types.Inlined(c.SQLType(), l.Shared()) {
			return false
		}
	}
	return true
}
