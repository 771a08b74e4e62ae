package publish

import (
	"context"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// Prepare makes a table ready for native commits; call it once it exists and before it is read. The table for inlined
// deletes is created now, because a reader whose transaction is older than it fails; and the lake is told not to
// compact the table by itself.
func (p *Publisher) Prepare(ctx context.Context, table metadata.TableInfo) error {
	if err := checkTypes(table); err != nil {
		return err
	}
	if err := p.Store.View(ctx, func(tx metadata.Tx) error { return checkLayout(ctx, tx, table) }); err != nil {
		return err
	}
	if !p.broken(RuleInlinedDeletes) {
		if err := p.ensureInlinedDeletes(ctx, table.ID); err != nil {
			return err
		}
	}
	return p.own(ctx, func(c *duck.Conn) error { return p.setCompact(ctx, c, table, false) })
}

func (p *Publisher) setCompact(ctx context.Context, c *duck.Conn, t metadata.TableInfo, on bool) error {
	_, err := c.Exec(ctx, `CALL `+metadata.QuoteIdent(p.Lake)+`.set_option('auto_compact', ?, schema => ?, table_name => ?)`, on, t.Schema, t.Name)
	return err
}

// ensureInlinedDeletes creates the table for a table's inlined deletes, once for each process.
func (p *Publisher) ensureInlinedDeletes(ctx context.Context, tableID int64) error {
	p.mu.Lock()
	done := p.prepared[tableID]
	p.mu.Unlock()
	if done {
		return nil
	}
	unlock, err := p.Lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err = p.Store.Update(ctx, func(tx metadata.Tx) error { return makeInlinedDeletes(ctx, tx, tableID) }); err != nil {
		return err
	}
	p.notePrepared(tableID)
	return nil
}

func makeInlinedDeletes(ctx context.Context, tx metadata.Tx, tableID int64) error {
	_, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS {M}`+metadata.QuoteIdent(InlinedDeletes(tableID))+`(file_id BIGINT, row_id BIGINT, begin_snapshot BIGINT)`)
	return err
}

func (p *Publisher) notePrepared(tableID int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prepared[tableID] = true
}

// InlinedTables lists all registered tables of a table's inlined rows, the newest last. A rename or another change of
// the table adds one, and rows may be in any of them.
func InlinedTables(ctx context.Context, tx metadata.Tx, tableID int64) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT table_name FROM {M}ducklake_inlined_data_tables WHERE table_id = $1 ORDER BY schema_version`, tableID)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(rows))
	for i, r := range rows {
		name, ok := r[0].(string)
		if !ok {
			return nil, fault.LakeUnreadable.Newf("table %d has a malformed entry in ducklake_inlined_data_tables", tableID)
		}
		out[i] = name
	}
	return out, nil
}

// target is where new inlined rows go, as of a schema version of the lake.
type target struct {
	name          string // "" when new rows cannot be inlined
	schemaVersion int64
}

// maxTargets bounds what is remembered.
const maxTargets = 4096

// target is remembered from commit to commit: it can only change with the lake's schema version, which every commit looks at.
func (p *Publisher) target(ctx context.Context, tableID int64) (target, error) {
	p.mu.Lock()
	t, known := p.targets[tableID]
	p.mu.Unlock()
	if known {
		return t, nil
	}
	err := p.Store.View(ctx, func(tx metadata.Tx) (err error) {
		t, err = inlineInto(ctx, tx, tableID)
		return err
	})
	if err == nil {
		p.mu.Lock()
		if len(p.targets) >= maxTargets { // most are of tables that are gone
			clear(p.targets)
		}
		p.targets[tableID] = t
		p.mu.Unlock()
	}
	return t, err
}

func (p *Publisher) forgetTarget(tableID int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.targets, tableID)
}

// inlineInto is the table that new inlined rows go to: the newest, if its columns are the table's columns of now.
func inlineInto(ctx context.Context, tx metadata.Tx, tableID int64) (target, error) {
	rows, err := tx.Query(ctx, `SELECT (SELECT schema_version FROM {M}ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1), i.table_name,
			coalesce((SELECT max(v.begin_snapshot) FROM {M}ducklake_schema_versions v WHERE v.table_id = i.table_id AND v.schema_version = i.schema_version),
				(SELECT min(t.begin_snapshot) FROM {M}ducklake_table t WHERE t.table_id = i.table_id)),
			(SELECT max(greatest(c.begin_snapshot, coalesce(c.end_snapshot, 0))) FROM {M}ducklake_column c WHERE c.table_id = i.table_id)
		FROM {M}ducklake_inlined_data_tables i WHERE i.table_id = $1 ORDER BY i.schema_version DESC LIMIT 1`, tableID)
	if err != nil || len(rows) == 0 {
		return target{}, err
	}
	version, ok0 := rows[0][0].(int64)
	name, ok := rows[0][1].(string)
	since, ok2 := rows[0][2].(int64)
	changed, ok3 := rows[0][3].(int64)
	if !ok0 || !ok || !ok2 || !ok3 {
		return target{}, fault.LakeUnreadable.Newf("table %d has a malformed entry in ducklake_inlined_data_tables", tableID)
	}
	if since < changed {
		name = ""
	}
	return target{name: name, schemaVersion: version}, nil
}
