package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// Views implements catalog.Store.
type Views struct{ s *Store }

var _ catalog.Store = (*Views)(nil)

// Rows is the counter of changes of the views' rows. With an embedded catalog it asks nobody.
func (v *Views) Rows(ctx context.Context) (int64, error) {
	if v.s.db.Dialect() == metadata.DuckDB {
		return v.s.rows.Load(), nil
	}
	r, err := v.s.one(ctx, counterSQL)
	if err != nil {
		return 0, err
	}
	return r.Int(), r.Err()
}

const revisionSQL = `SELECT s.snapshot_id, s.schema_version, c.value FROM {M}ducklake_snapshot s, {M}vega_counters c
	WHERE s.snapshot_id = (SELECT max(snapshot_id) FROM {M}ducklake_snapshot) AND c.name = 'views'`

// Revision is where the lake and the rows stand.
func (v *Views) Revision(ctx context.Context) (catalog.Revision, error) {
	r, err := v.s.one(ctx, revisionSQL)
	if err != nil {
		return catalog.Revision{}, err
	}
	return scanRevision(r)
}

func scanRevision(r metadata.Row) (catalog.Revision, error) {
	rev := catalog.Revision{Snapshot: r.Int(), SchemaVersion: r.Int(), Rows: r.Int()}
	return rev, r.Err()
}

// Load reads everything about all views in one transaction.
func (v *Views) Load(ctx context.Context) (catalog.Facts, error) {
	var f catalog.Facts
	err := v.s.db.View(ctx, func(tx metadata.Tx) (err error) {
		f, err = v.s.Facts(ctx, tx)
		return err
	})
	return f, err
}

// Facts is Load in a transaction.
func (s *Store) Facts(ctx context.Context, tx metadata.Tx) (catalog.Facts, error) {
	var f catalog.Facts
	rows, err := tx.Query(ctx, revisionSQL)
	if err != nil {
		return f, err
	}
	r, err := single(rows)
	if err != nil {
		return f, err
	}
	if f.Revision, err = scanRevision(r); err != nil {
		return f, err
	}
	if f.Rows, err = viewRows(ctx, tx, ""); err != nil {
		return f, err
	}
	if f.Published, err = published(ctx, tx); err != nil {
		return f, err
	}
	c, err := s.lakeTables(ctx, tx, f.Revision)
	f.Tables, f.PlainViews, f.Schemas = c.tables, c.plain, c.schemas
	if err != nil {
		return f, err
	}
	f.Rows, err = withoutDropped(ctx, tx, f.Rows, f.Tables)
	return f, err
}

// DropEntry is the kind of the journal's entries that name views to be dropped: their tables go first, then in one transaction their rows and the
// entry.
const DropEntry = "drop views"

// withoutDropped leaves out the rows of views whose table a drop has dropped that is not through with the rows.
func withoutDropped(ctx context.Context, tx metadata.Tx, rows []catalog.Row, tables []catalog.Table) ([]catalog.Row, error) {
	there := make(map[string]bool, len(tables))
	for _, t := range tables {
		there[t.UUID] = true
	}
	gone := func(r catalog.Row) bool { return !there[r.UUID] }
	if !slices.ContainsFunc(rows, gone) {
		return rows, nil
	}
	entries, err := tx.Query(ctx, `SELECT payload FROM {M}vega_journal WHERE kind = $1`, DropEntry)
	if err != nil {
		return nil, err
	}
	for _, values := range entries {
		var r metadata.Row
		r.Take(values)
		payload := r.Text()
		if r.Err() != nil {
			return nil, r.Err()
		}
		rows = slices.DeleteFunc(rows, func(row catalog.Row) bool { return gone(row) && strings.Contains(payload, row.UUID) })
	}
	return rows, nil
}

// lakeTables reads the lake's tables unless those of the schema version are known.
func (s *Store) lakeTables(ctx context.Context, tx metadata.Tx, rev catalog.Revision) (cachedTables, error) {
	s.mu.Lock()
	c := s.tables
	s.mu.Unlock()
	if c.known && c.schemaVersion == rev.SchemaVersion {
		return c, nil
	}
	c = cachedTables{schemaVersion: rev.SchemaVersion, known: true}
	infos, err := metadata.Tables(ctx, tx, metadata.Filter{At: rev.Snapshot})
	if err != nil {
		return c, err
	}
	c.tables = make([]catalog.Table, len(infos))
	for i := range infos {
		c.tables[i] = Table(infos[i])
	}
	rows, err := tx.Query(ctx, `SELECT s.schema_name, v.view_name FROM {M}ducklake_view v JOIN {M}ducklake_schema s ON s.schema_id = v.schema_id
		WHERE v.end_snapshot IS NULL AND s.end_snapshot IS NULL ORDER BY s.schema_name, v.view_name`)
	if err != nil {
		return c, err
	}
	for _, values := range rows {
		var r metadata.Row
		r.Take(values)
		c.plain = append(c.plain, catalog.Name{Schema: r.Text(), Name: r.Text()})
		if r.Err() != nil {
			return c, r.Err()
		}
	}
	if rows, err = tx.Query(ctx, `SELECT schema_name FROM {M}ducklake_schema WHERE end_snapshot IS NULL ORDER BY schema_name`); err != nil {
		return c, err
	}
	for _, values := range rows {
		var r metadata.Row
		r.Take(values)
		c.schemas = append(c.schemas, r.Text())
		if r.Err() != nil {
			return c, r.Err()
		}
	}
	s.mu.Lock()
	if !s.tables.known || s.tables.schemaVersion <= c.schemaVersion {
		s.tables = c
	}
	s.mu.Unlock()
	return c, nil
}

// Table is a lake table in the catalog's words.
func Table(t metadata.TableInfo) catalog.Table {
	out := catalog.Table{ID: t.ID, UUID: t.UUID, Name: catalog.Name{Schema: t.Schema, Name: t.Name}, Comment: t.Comment}
	for _, c := range t.Columns {
		out.Columns = append(out.Columns, catalog.Column{ID: c.ID, Name: c.Name, Type: c.SQLType()})
	}
	return out
}

// viewRows reads one view's row, or with an empty uuid all of them.
func viewRows(ctx context.Context, tx metadata.Tx, uuid string) ([]catalog.Row, error) {
	rows, err := tx.Query(ctx, `SELECT uuid, kind, owner, definition, hash, schema_name, view_name, created_at, revision
		FROM {M}vega_views WHERE uuid = $1 OR $1 = '' ORDER BY uuid`, uuid)
	if err != nil {
		return nil, err
	}
	sources, err := viewSources(ctx, tx, uuid)
	if err != nil {
		return nil, err
	}
	columns, err := viewColumns(ctx, tx, uuid)
	if err != nil {
		return nil, err
	}
	out := make([]catalog.Row, 0, len(rows))
	for _, values := range rows {
		var r metadata.Row
		r.Take(values)
		v := catalog.Row{UUID: r.Text(), Kind: catalog.Kind(r.Text()), Owner: r.Text(), Definition: r.Text(), Hash: r.Text(),
			Name: catalog.Name{Schema: r.Text(), Name: r.Text()}, CreatedAt: r.NullTime(), Revision: r.Int()}
		if r.Err() != nil {
			return nil, r.Err()
		}
		v.Sources, v.Columns = sources[v.UUID], columns[v.UUID]
		out = append(out, v)
	}
	return out, nil
}

func viewSources(ctx context.Context, tx metadata.Tx, uuid string) (map[string][]catalog.Source, error) {
	rows, err := tx.Query(ctx, `SELECT view_uuid, source_uuid, schema_name, table_name, columns_used
		FROM {M}vega_view_sources WHERE view_uuid = $1 OR $1 = '' ORDER BY view_uuid, position`, uuid)
	if err != nil {
		return nil, err
	}
	out := map[string][]catalog.Source{}
	for _, values := range rows {
		var r metadata.Row
		r.Take(values)
		view := r.Text()
		src := catalog.Source{UUID: r.Text(), Name: catalog.Name{Schema: r.Text(), Name: r.Text()}}
		columns := r.Text()
		if r.Err() != nil {
			return nil, r.Err()
		}
		if err := json.Unmarshal([]byte(columns), &src.Columns); err != nil {
			return nil, fmt.Errorf("store: the columns of a source of view %s: %w", view, err)
		}
		out[view] = append(out[view], src)
	}
	return out, nil
}

// published reads what was published for the views. The table is the publisher's.
func published(ctx context.Context, tx metadata.Tx) (map[string]catalog.Published, error) {
	rows, err := tx.Query(ctx, `SELECT p.uuid, p.generation, p.epoch, p.frontier, p.snapshot_id, p.row_count, p.commit_id, p.published_at
		FROM {M}vega_published p JOIN {M}vega_views v ON v.uuid = p.uuid`)
	if err != nil {
		return nil, err
	}
	out := make(map[string]catalog.Published, len(rows))
	for _, values := range rows {
		var r metadata.Row
		r.Take(values)
		uuid := r.Text()
		p := catalog.Published{Generation: r.Int(), Epoch: r.Int()}
		frontier := r.Bytes()
		p.Snapshot, p.Rows, p.CommitID, p.At = r.NullInt(0), r.NullInt(0), r.Text(), r.NullTime()
		if r.Err() != nil {
			return nil, r.Err()
		}
		if p.Frontier, err = catalog.DecodeFrontier(frontier); err != nil {
			return nil, err
		}
		out[uuid] = p
	}
	return out, nil
}

// Insert adds a row. A streaming view begins with its sources' content, whatever its table has.
func (v *Views) Insert(ctx context.Context, r catalog.Row) error {
	return v.s.db.Update(ctx, func(tx metadata.Tx) error {
		if err := v.s.InsertRow(ctx, tx, r); err != nil || r.Kind != catalog.Streaming {
			return err
		}
		return v.s.InsertStream(ctx, tx, r.UUID, stream.Backfill, 0)
	})
}

// InsertRow is Views.Insert in a transaction.
func (s *Store) InsertRow(ctx context.Context, tx metadata.Tx, r catalog.Row) error {
	rows, err := tx.Query(ctx, `SELECT 1 FROM {M}vega_views WHERE uuid = $1`, r.UUID)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return fault.ViewExists.Newf("table %s is a materialized view already", r.Name)
	}
	if _, err := tx.Exec(ctx, `INSERT INTO {M}vega_views VALUES ($1, $2, $3, $4, $5, $6, $7, COALESCE($8, now()), 1)`,
		r.UUID, string(r.Kind), r.Owner, r.Definition, r.Hash, r.Name.Schema, r.Name.Name, when(r.CreatedAt)); err != nil {
		return err
	}
	if err := insertSources(ctx, tx, r); err != nil {
		return err
	}
	if r.Columns != nil {
		return s.SetColumns(ctx, tx, r.UUID, r.Columns)
	}
	return s.Touch(ctx, tx)
}

// SetColumns notes the columns of a view's table as the view has them.
func (s *Store) SetColumns(ctx context.Context, tx metadata.Tx, uuid string, columns []catalog.Column) error {
	text, err := json.Marshal(columns)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM {M}vega_view_columns WHERE view_uuid = $1`, uuid); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO {M}vega_view_columns VALUES ($1, $2)`, uuid, string(text)); err != nil {
		return err
	}
	return s.Touch(ctx, tx)
}

func viewColumns(ctx context.Context, tx metadata.Tx, uuid string) (map[string][]catalog.Column, error) {
	rows, err := tx.Query(ctx, `SELECT view_uuid, columns FROM {M}vega_view_columns WHERE view_uuid = $1 OR $1 = ''`, uuid)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]catalog.Column, len(rows))
	for _, v := range rows {
		view, _ := v[0].(string)
		text, _ := v[1].(string)
		var columns []catalog.Column
		if err := json.Unmarshal([]byte(text), &columns); err != nil {
			return nil, fmt.Errorf("store: the columns of view %s: %w", view, err)
		}
		out[view] = columns
	}
	return out, nil
}

func insertSources(ctx context.Context, tx metadata.Tx, r catalog.Row) error {
	for i, src := range r.Sources {
		columns, err := json.Marshal(src.Columns)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO {M}vega_view_sources VALUES ($1, $2, $3, $4, $5, $6)`,
			r.UUID, int64(i), src.UUID, src.Name.Schema, src.Name.Name, string(columns)); err != nil {
			return err
		}
	}
	return nil
}

// Update writes the row if it still has its revision.
func (v *Views) Update(ctx context.Context, r catalog.Row) (bool, error) {
	var ok bool
	err := v.s.db.Update(ctx, func(tx metadata.Tx) (err error) {
		ok, err = v.s.UpdateRow(ctx, tx, r)
		return err
	})
	return ok && err == nil, err
}

// UpdateRow is Views.Update in a transaction.
func (s *Store) UpdateRow(ctx context.Context, tx metadata.Tx, r catalog.Row) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE {M}vega_views SET kind = $2, owner = $3, definition = $4, hash = $5, schema_name = $6, view_name = $7,
		revision = revision + 1 WHERE uuid = $1 AND revision = $8`,
		r.UUID, string(r.Kind), r.Owner, r.Definition, r.Hash, r.Name.Schema, r.Name.Name, r.Revision)
	if err != nil || n == 0 {
		return false, err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM {M}vega_view_sources WHERE view_uuid = $1`, r.UUID); err != nil {
		return false, err
	}
	if err := insertSources(ctx, tx, r); err != nil {
		return false, err
	}
	return true, s.Touch(ctx, tx)
}

// Replace puts a row with another uuid into the place of old.
func (v *Views) Replace(ctx context.Context, old string, r catalog.Row) error {
	return v.s.db.Update(ctx, func(tx metadata.Tx) error { return v.s.ReplaceRow(ctx, tx, old, r) })
}

// ReplaceRow is Views.Replace in a transaction. The view's schedule goes over to the new uuid.
func (s *Store) ReplaceRow(ctx context.Context, tx metadata.Tx, old string, r catalog.Row) error {
	if old == r.UUID {
		return fmt.Errorf("store: view %s cannot take its own place", old)
	}
	n, err := tx.Exec(ctx, `DELETE FROM {M}vega_views WHERE uuid = $1`, old)
	if err != nil {
		return err
	}
	if n == 0 {
		return fault.ViewNotFound.Newf("the view that %s was to replace is gone", r.Name)
	}
	if _, err := tx.Exec(ctx, `DELETE FROM {M}vega_view_sources WHERE view_uuid = $1`, old); err != nil {
		return err
	}
	for _, sql := range []string{`DELETE FROM {M}vega_published WHERE uuid = $1`, `DELETE FROM {M}vega_view_columns WHERE view_uuid = $1`} {
		if _, err := tx.Exec(ctx, sql, old); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, `UPDATE {M}vega_schedules SET view_uuid = $2, version = version + 1 WHERE view_uuid = $1`, old, r.UUID); err != nil {
		return err
	}
	return s.InsertRow(ctx, tx, r)
}

// Delete removes views with their sources, schedules and published states.
func (v *Views) Delete(ctx context.Context, uuids ...string) error {
	return v.s.db.Update(ctx, func(tx metadata.Tx) error { return v.s.DeleteRows(ctx, tx, uuids...) })
}

// DeleteRows is Views.Delete in a transaction.
func (s *Store) DeleteRows(ctx context.Context, tx metadata.Tx, uuids ...string) error {
	byTable := map[string]string{"vega_views": "uuid", "vega_view_sources": "view_uuid", "vega_schedules": "view_uuid", "vega_published": "uuid", "vega_view_columns": "view_uuid",
		"vega_streams": "uuid", "vega_dropped": "uuid"}
	for _, table := range slices.Sorted(maps.Keys(byTable)) {
		for _, uuid := range uuids {
			if _, err := tx.Exec(ctx, `DELETE FROM {M}`+table+` WHERE `+byTable[table]+` = $1`, uuid); err != nil {
				return err
			}
		}
	}
	return s.Touch(ctx, tx)
}

// Unread is the oldest lake snapshot up to which some view with a max_staleness reflects a table of its, or a view that was redefined since;
// 0 when there is no such view.
func (s *Store) Unread(ctx context.Context, tx metadata.Tx) (int64, error) {
	rows, err := viewRows(ctx, tx, "")
	if err != nil {
		return 0, err
	}
	done, err := published(ctx, tx)
	if err != nil {
		return 0, err
	}
	oldest := int64(0)
	meaning := map[string]string{}
	for _, r := range rows {
		if def, err := catalog.Decode(r.Definition); err == nil {
			meaning[r.UUID] = def.Meaning()
		}
	}
	for _, r := range rows {
		def, err := catalog.Decode(r.Definition)
		if err != nil || def.Options.MaxStaleness == nil {
			continue // what cannot be read is refused anyway
		}
		at := done[r.UUID].Frontier
		for _, reflected := range at.Tables {
			if oldest == 0 || reflected < oldest {
				oldest = reflected
			}
		}
		for uuid, read := range at.Read { // since when it has another definition is told by its publications
			if m, known := meaning[uuid]; known && m != read.Meaning && (oldest == 0 || read.Snapshot < oldest) {
				oldest = read.Snapshot
			}
		}
	}
	return oldest, nil
}

// HasReaders says whether any view reads the table or view with that uuid.
func (s *Store) HasReaders(ctx context.Context, tx metadata.Tx, uuid string) (bool, error) {
	rows, err := tx.Query(ctx, `SELECT 1 FROM {M}vega_view_sources WHERE source_uuid = $1 LIMIT 1`, uuid)
	return len(rows) > 0, err
}

// RowByUUID reads one view's row in a transaction.
func (s *Store) RowByUUID(ctx context.Context, tx metadata.Tx, uuid string) (catalog.Row, bool, error) {
	rows, err := viewRows(ctx, tx, uuid)
	if err != nil || len(rows) == 0 {
		return catalog.Row{}, false, err
	}
	return rows[0], true, nil
}
