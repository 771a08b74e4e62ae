package ducklake

import (
	"context"

	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

var _ gate.Lake = (*Lake)(nil)

// Objects is what the gate mirrors: schemas, tables, views and macros of the newest snapshot, without the hidden
// tables that are being built. It is nil when the schema version is still have.
func (l *Lake) Objects(ctx context.Context, have int64) (*gate.Objects, error) {
	o, shrunk, err := l.objects(ctx, have)
	if err == nil && shrunk {
		if err = l.touch(ctx); err == nil {
			o, _, err = l.objects(ctx, have)
		}
	}
	if err == nil && o != nil && !hasMain(o) {
		if _, err = l.restoreMain(ctx); err == nil {
			o, _, err = l.objects(ctx, have)
		}
	}
	if err != nil {
		return nil, l.check(err)
	}
	return o, nil
}

// objects also says that the extension knows tables of inlined rows that are gone.
func (l *Lake) objects(ctx context.Context, have int64) (o *gate.Objects, shrunk bool, err error) {
	err = l.store.View(ctx, func(tx metadata.Tx) error {
		o = nil
		at, err := metadata.Latest(ctx, tx)
		if err != nil {
			return err
		}
		if l.Shared() {
			if shrunk, err = l.registered.shrunk(ctx, tx, at.SchemaVersion); err != nil {
				return err
			}
		}
		if at.SchemaVersion == have {
			return nil
		}
		o = &gate.Objects{SchemaVersion: at.SchemaVersion}
		return readObjects(ctx, tx, at.ID, o)
	})
	return o, shrunk, err
}

func readObjects(ctx context.Context, tx metadata.Tx, at int64, o *gate.Objects) error {
	schemas, err := metadata.Schemas(ctx, tx, at)
	if err != nil {
		return err
	}
	for _, s := range schemas {
		o.Schemas = append(o.Schemas, s.Name)
	}
	tables, err := metadata.Tables(ctx, tx, metadata.Filter{At: at})
	if err != nil {
		return err
	}
	for _, t := range tables {
		if Hidden(t.Name) {
			continue
		}
		g := gate.Table{ID: t.ID, UUID: t.UUID, Schema: t.Schema, Name: t.Name}
		for _, c := range t.Columns {
			g.Columns = append(g.Columns, gate.TableColumn{Name: c.Name, Type: c.SQLType(), NotNull: !c.Nullable, Default: c.Default})
		}
		o.Tables = append(o.Tables, g)
	}
	views, err := metadata.Views(ctx, tx, at)
	if err != nil {
		return err
	}
	for _, v := range views {
		if Hidden(v.Name) {
			continue
		}
		o.Views = append(o.Views, gate.View{ID: v.ID, UUID: v.UUID, Schema: v.Schema, Name: v.Name, SQL: v.SQL, Aliases: v.Aliases})
	}
	macros, err := metadata.Macros(ctx, tx, at)
	if err != nil {
		return err
	}
	for _, m := range macros {
		g := gate.Macro{Schema: m.Schema, Name: m.Name}
		for _, body := range m.Overloads {
			g.Overloads = append(g.Overloads, overload(body))
		}
		o.Macros = append(o.Macros, g)
	}
	return nil
}

func overload(m metadata.MacroOverload) gate.MacroOverload {
	out := gate.MacroOverload{Table: m.Table, SQL: m.SQL}
	for _, p := range m.Params {
		// DuckLake writes the type "unknown" for a parameter of any type, and for a default that is not there.
		g := gate.MacroParam{Name: p.Name}
		if p.Type != "unknown" {
			g.Type = metadata.ColumnInfo{Type: p.Type}.SQLType()
		}
		if p.HasDefault && p.DefaultType != "unknown" {
			g.Default = metadata.QuoteLiteral(p.Default)
			switch p.DefaultType {
			case "list", "struct", "map": // the text is DuckDB's own, and its elements' types are not recorded
				g.Default = p.Default
			default:
				g.Default = `CAST(` + g.Default + ` AS ` + metadata.ColumnInfo{Type: p.DefaultType}.SQLType() + `)`
			}
		}
		out.Params = append(out.Params, g)
	}
	return out
}
