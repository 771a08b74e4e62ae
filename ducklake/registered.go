package ducklake

import (
	"context"
	"errors"
	"sync"

	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// registered remembers the catalog's tables of inlined rows. The extension knows them per schema version and never looks
// again; yet a flush by another program drops those of earlier columns of a table without a new schema version. A scan of
// one that is gone fails, and the next one ends the whole instance.
type registered struct {
	mu      sync.Mutex
	version int64 // the schema version they belong to
	count   int64
	sum     int64 // of their names' hashes
	names   map[string]bool
}

// shrunk says that one of the tables is gone since the schema version began.
func (r *registered) shrunk(ctx context.Context, tx metadata.Tx, version int64) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows, err := tx.Query(ctx, `SELECT count(*), coalesce(sum(hashtext(table_name::text)::bigint), 0)::bigint FROM {M}ducklake_inlined_data_tables`)
	if err != nil {
		return false, err
	}
	count, _ := rows[0][0].(int64)
	sum, _ := rows[0][1].(int64)
	if version == r.version && count == r.count && sum == r.sum {
		return false, nil
	}
	if rows, err = tx.Query(ctx, `SELECT table_name::text FROM {M}ducklake_inlined_data_tables`); err != nil {
		return false, err
	}
	names := make(map[string]bool, len(rows))
	for _, row := range rows {
		name, _ := row[0].(string)
		names[name] = true
	}
	if version == r.version {
		for name := range r.names {
			if !names[name] {
				return true, nil // and again until the schema version has changed
			}
		}
	}
	r.version, r.count, r.sum, r.names = version, count, sum, names
	return false, nil
}

// touchView is made and dropped to begin a schema version, as any DDL does.
const touchView = hiddenPrefix + "touch"

// touch makes every program that has the lake open read its tables anew.
func (l *Lake) touch(ctx context.Context) error {
	before, err := l.Snapshot(ctx)
	if err != nil {
		return err
	}
	l.log.Info("another program dropped tables of inlined rows; the schemas are read anew", "schema_version", before.SchemaVersion)
	name := l.qualified("main", touchView)
	err = l.DDL(ctx, `CREATE OR REPLACE VIEW `+name+` AS SELECT 1`)
	err = errors.Join(err, l.DDL(ctx, `DROP VIEW IF EXISTS `+name))
	if err == nil {
		return nil
	}
	// Servers that do it at the same time are in each other's way; one of them is enough.
	if after, failed := l.Snapshot(ctx); failed == nil && after.SchemaVersion > before.SchemaVersion {
		return nil
	}
	return err
}

// settleRegistered touches the lake when that is needed.
func (l *Lake) settleRegistered(ctx context.Context) error {
	if !l.Shared() {
		return nil
	}
	shrunk := false
	err := l.store.View(ctx, func(tx metadata.Tx) error {
		at, err := metadata.Latest(ctx, tx)
		if err == nil {
			shrunk, err = l.registered.shrunk(ctx, tx, at.SchemaVersion)
		}
		return err
	})
	if err != nil || !shrunk {
		return err
	}
	return l.touch(ctx)
}
