package ducklake

import (
	"context"

	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/types"
	"github.com/vegadb/vega-flight/fault"
)

// NewTable is a table to be made. Of the columns, Name and LakeType count.
type NewTable struct {
	Schema, Name string
	Comment      string
	Columns      []gate.Column
	CommitID     string
}

// Create makes an empty table, and whatever also writes for it, in one lake commit. It is for tables that only this package's users write:
// the extension's own CREATE TABLE cannot share its commit.
func (l *Lake) Create(ctx context.Context, n NewTable, also func(context.Context, metadata.Tx, metadata.TableInfo, metadata.Snapshot) error) (metadata.TableInfo, error) {
	m := metadata.Making{Schema: n.Schema, Name: n.Name, Comment: n.Comment, Columns: make([]metadata.ColumnInfo, len(n.Columns))}
	for i, c := range n.Columns {
		shape, ok := types.ShapeOf(c.LakeType)
		if !ok {
			why, instead := types.Why(c.LakeType)
			return metadata.TableInfo{}, fault.UnstableType.Newf("the lake cannot keep column %s of type %s: %s", metadata.QuoteIdent(c.Name), c.LakeType, why).
				WithHint("%s", instead)
		}
		m.Columns[i] = columnOf(c.Name, shape)
	}
	var made metadata.TableInfo
	_, err := l.alter(ctx, metadata.CommitInfo{ID: n.CommitID, Kind: metadata.CommitPublish, Server: l.config.ServerID},
		func(tx metadata.Tx, c metadata.CommitInfo) (s metadata.Snapshot, err error) {
			m := m
			m.Commit = c
			s, made, err = metadata.Create(ctx, tx, m)
			return s, err
		},
		func(ctx context.Context, tx metadata.Tx, at metadata.Snapshot) error { return also(ctx, tx, made, at) })
	return made, err
}

// columnOf is a column in DuckLake's words.
func columnOf(name string, t types.Shape) metadata.ColumnInfo {
	c := metadata.ColumnInfo{Name: name}
	parts := []string{}
	switch t.Name {
	case "LIST":
		c.Type, parts = "list", []string{"element"}
	case "MAP":
		c.Type, parts = "map", []string{"key", "value"}
	case "STRUCT":
		c.Type = "struct"
	default:
		c.Type = metadata.LakeType(t.Name)
	}
	for i, f := range t.Fields {
		if i < len(parts) {
			f.Name = parts[i]
		}
		c.Children = append(c.Children, columnOf(f.Name, f.Shape))
	}
	return c
}
