package metadata

import (
	"context"
	"strings"
)

// SchemaName is the spelling of the schema that name means at the newest snapshot, "" when there is none.
func SchemaName(ctx context.Context, tx Tx, name string) (string, error) {
	rows, err := tx.Query(ctx, `SELECT schema_name FROM {M}ducklake_schema WHERE end_snapshot IS NULL AND lower(schema_name) = lower($1)`, name)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	var r Row
	r.Take(rows[0])
	return r.Text(), r.Err()
}

// SchemaInfo is a schema as of one snapshot.
type SchemaInfo struct {
	ID   int64
	Name string
}

// ViewInfo is a plain view as of one snapshot.
type ViewInfo struct {
	ID           int64
	UUID         string
	Schema, Name string
	SQL          string
	Aliases      []string // the column names of CREATE VIEW v (a, b), or none
	Comment      string
}

// MacroInfo is a macro as of one snapshot.
type MacroInfo struct {
	ID           int64
	Schema, Name string
	Overloads    []MacroOverload
}

// MacroOverload is one body of a macro.
type MacroOverload struct {
	Table  bool // a table macro
	SQL    string
	Params []MacroParam
}

// MacroParam is a parameter of a macro; Default is a literal's text, HasDefault tells it from none.
type MacroParam struct {
	Name, Type  string
	Default     string
	DefaultType string // DuckLake's type of the default
	HasDefault  bool
}

const live = `.begin_snapshot <= $1 AND (`
const until = `.end_snapshot IS NULL OR `

// alive is the condition that the row alias is valid at snapshot $1.
func alive(alias string) string {
	return alias + live + alias + until + alias + `.end_snapshot > $1)`
}

// Schemas reads the schemas of a snapshot.
func Schemas(ctx context.Context, tx Tx, at int64) ([]SchemaInfo, error) {
	rows, err := tx.Query(ctx, `SELECT schema_id, schema_name FROM {M}ducklake_schema s WHERE `+alive("s")+` ORDER BY schema_name`, at)
	if err != nil {
		return nil, err
	}
	out := make([]SchemaInfo, 0, len(rows))
	for _, v := range rows {
		var r Row
		r.Take(v)
		out = append(out, SchemaInfo{ID: r.Int(), Name: r.Text()})
		if r.Err() != nil {
			return nil, r.Err()
		}
	}
	return out, nil
}

// Views reads the plain views of a snapshot.
func Views(ctx context.Context, tx Tx, at int64) ([]ViewInfo, error) {
	rows, err := tx.Query(ctx, `SELECT v.view_id, CAST(v.view_uuid AS VARCHAR), s.schema_name, v.view_name, v.sql, v.column_aliases, g.value
		FROM {M}ducklake_view v
		JOIN {M}ducklake_schema s ON s.schema_id = v.schema_id AND `+alive("s")+`
		LEFT JOIN {M}ducklake_tag g ON g.object_id = v.view_id AND g.key = 'comment' AND `+alive("g")+`
		WHERE `+alive("v")+` ORDER BY s.schema_name, v.view_name`, at)
	if err != nil {
		return nil, err
	}
	out := make([]ViewInfo, 0, len(rows))
	for _, v := range rows {
		var r Row
		r.Take(v)
		info := ViewInfo{ID: r.Int(), UUID: r.Text(), Schema: r.Text(), Name: r.Text(), SQL: r.Text(), Aliases: splitAliases(r.Text()), Comment: r.Text()}
		if r.Err() != nil {
			return nil, r.Err()
		}
		out = append(out, info)
	}
	return out, nil
}

// splitAliases reads DuckLake's list of column names: quoted where they need it, separated by commas.
func splitAliases(text string) []string {
	var out []string
	for text = strings.TrimSpace(text); text != ""; {
		if text[0] == '"' {
			p := changeText{text: text}
			name, err := p.quoted()
			if err != nil {
				return out
			}
			out, text = append(out, name), text[p.pos:]
		} else {
			name, _, _ := strings.Cut(text, ",")
			out, text = append(out, strings.TrimSpace(name)), text[len(name):]
		}
		text = strings.TrimLeft(text, ", ")
	}
	return out
}

// Macros reads the macros of a snapshot.
func Macros(ctx context.Context, tx Tx, at int64) ([]MacroInfo, error) {
	rows, err := tx.Query(ctx, `SELECT m.macro_id, s.schema_name, m.macro_name, i.impl_id, i.sql, i.type
		FROM {M}ducklake_macro m
		JOIN {M}ducklake_schema s ON s.schema_id = m.schema_id AND `+alive("s")+`
		JOIN {M}ducklake_macro_impl i ON i.macro_id = m.macro_id
		WHERE `+alive("m")+` ORDER BY s.schema_name, m.macro_name, m.macro_id, i.impl_id`, at)
	if err != nil {
		return nil, err
	}
	params, err := macroParams(ctx, tx)
	if err != nil {
		return nil, err
	}
	var out []MacroInfo
	for _, v := range rows {
		var r Row
		r.Take(v)
		m := MacroInfo{ID: r.Int(), Schema: r.Text(), Name: r.Text()}
		impl := r.Int()
		o := MacroOverload{SQL: r.Text(), Table: r.Text() == "table", Params: params[[2]int64{m.ID, impl}]}
		if r.Err() != nil {
			return nil, r.Err()
		}
		if n := len(out); n == 0 || out[n-1].ID != m.ID {
			out = append(out, m)
		}
		last := &out[len(out)-1]
		last.Overloads = append(last.Overloads, o)
	}
	return out, nil
}

func macroParams(ctx context.Context, tx Tx) (map[[2]int64][]MacroParam, error) {
	rows, err := tx.Query(ctx, `SELECT macro_id, impl_id, parameter_name, parameter_type, default_value, default_value_type
		FROM {M}ducklake_macro_parameters ORDER BY macro_id, impl_id, column_id`)
	if err != nil {
		return nil, err
	}
	out := map[[2]int64][]MacroParam{}
	for _, v := range rows {
		var r Row
		r.Take(v)
		key := [2]int64{r.Int(), r.Int()}
		p := MacroParam{Name: r.Text(), Type: r.Text()}
		if v := r.Next(); v != nil {
			p.Default, p.HasDefault = v.(string)
		}
		p.DefaultType = r.Text()
		if r.Err() != nil {
			return nil, r.Err()
		}
		out[key] = append(out[key], p)
	}
	return out, nil
}
