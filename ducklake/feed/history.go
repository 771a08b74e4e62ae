package feed

import (
	"context"

	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// history is all that a table's columns ever were.
type history struct {
	versions []columnVersion
	schemas  map[int64]int64 // the snapshot that began each schema version of the table
}

type columnVersion struct {
	column     metadata.ColumnInfo
	parent     int64
	begin, end int64 // end 0: still there
}

func readHistory(ctx context.Context, tx metadata.Tx, table int64) (*history, error) {
	h := &history{schemas: map[int64]int64{}}
	rows, err := tx.Query(ctx, `SELECT column_id, parent_column, begin_snapshot, end_snapshot, column_name, column_type, initial_default
		FROM {M}ducklake_column WHERE table_id = $1 ORDER BY column_order, column_id, begin_snapshot`, table)
	if err != nil {
		return nil, err
	}
	for _, v := range rows {
		var r metadata.Row
		r.Take(v)
		c := columnVersion{column: metadata.ColumnInfo{ID: r.Int()}, parent: r.NullInt(0), begin: r.Int(), end: r.NullInt(0)}
		c.column.Name, c.column.Type = r.Text(), r.Text()
		if def := r.Next(); def != nil {
			c.column.InitialDefault, c.column.HasDefault = def.(string)
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
		h.versions = append(h.versions, c)
	}
	rows, err = tx.Query(ctx, `SELECT schema_version, begin_snapshot FROM {M}ducklake_schema_versions WHERE table_id = $1`, table)
	if err != nil {
		return nil, err
	}
	for _, v := range rows {
		var r metadata.Row
		r.Take(v)
		version, begin := r.Int(), r.Int()
		if r.Err() != nil {
			return nil, r.Err()
		}
		h.schemas[version] = begin
	}
	return h, nil
}

// at are the table's columns at a snapshot, those within a column below it.
func (h *history) at(snapshot int64) []metadata.ColumnInfo { return h.below(0, snapshot) }

func (h *history) below(parent, snapshot int64) (out []metadata.ColumnInfo) {
	for _, v := range h.versions {
		if v.parent != parent || v.begin > snapshot || v.end != 0 && v.end <= snapshot {
			continue
		}
		c := v.column
		c.Children = h.below(c.ID, snapshot)
		out = append(out, c)
	}
	return out
}

// began is the snapshot in which the table got the columns that it had in a schema version of the lake. The versions that the catalog lists for
// the table are those that changed it; other programs also make tables for its inlined rows in versions between.
func (h *history) began(version int64) (snapshot int64, ok bool) {
	newest := int64(-1)
	for v, begin := range h.schemas {
		if v <= version && v > newest {
			newest, snapshot, ok = v, begin, true
		}
	}
	return snapshot, ok
}

// changed are the columns that a snapshot changed.
func (h *history) changed(snapshot int64) (out []ColumnChange) {
	before, after := h.at(snapshot-1), h.at(snapshot)
	for _, b := range before {
		a, ok := find(after, b.ID)
		if !ok || a.Name != b.Name || !sameType(a, b) {
			out = append(out, ColumnChange{Before: b, After: a})
		}
	}
	for _, a := range after {
		if _, ok := find(before, a.ID); !ok {
			out = append(out, ColumnChange{After: a})
		}
	}
	return out
}

func find(columns []metadata.ColumnInfo, id int64) (metadata.ColumnInfo, bool) {
	for _, c := range columns {
		if c.ID == id {
			return c, true
		}
	}
	return metadata.ColumnInfo{}, false
}

// sameType says that two columns have one type, down to the names and ids of the fields within.
func sameType(a, b metadata.ColumnInfo) bool {
	if a.Type != b.Type || len(a.Children) != len(b.Children) {
		return false
	}
	for i := range a.Children {
		if a.Children[i].ID != b.Children[i].ID || a.Children[i].Name != b.Children[i].Name || !sameType(a.Children[i], b.Children[i]) {
			return false
		}
	}
	return true
}
