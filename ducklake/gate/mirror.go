package gate

import (
	"fmt"
	"slices"
	"strings"
)

// key names an object of the lake regardless of case.
type key struct{ schema, name string }

func keyOf(schema, name string) key { return key{lower(schema), lower(name)} }

// mirror is what the gate knows of the lake at one schema version. It does not change once it is in use.
type mirror struct {
	lakeName  string // lower case
	functions map[string]stability
	version   int64
	loaded    bool
	schemas   map[string]string // lower case → as written
	tables    map[key]*Table
	views     map[key]*View
	macros    map[key]*Macro
	macroName map[string]bool   // names of macros in any schema
	broken    map[key]string    // tables and views that must not be used, and why
	badMacro  map[string]string // names of macros that must not be called, and why
	weigh     *weigher          // all its weights are known once it is in use
}

func newMirror(lake string, functions map[string]stability) *mirror {
	return &mirror{
		lakeName: lower(lake), functions: functions, schemas: map[string]string{}, tables: map[key]*Table{}, views: map[key]*View{},
		macros: map[key]*Macro{}, macroName: map[string]bool{}, broken: map[key]string{}, badMacro: map[string]string{},
		weigh: newWeigher(nil),
	}
}

func (m *mirror) lake() string                { return m.lakeName }
func (m *mirror) exists(function string) bool { return m.functions[function] != "" }
func (m *mirror) macro(name string) bool      { return m.macroName[name] }
func (m *mirror) poisoned(name string) (string, bool) {
	why, bad := m.badMacro[name]
	return why, bad
}

// fill takes over what the lake says it has.
func (m *mirror) fill(o *Objects) {
	m.version, m.loaded = o.SchemaVersion, true
	m.schemas["main"] = "main"
	for _, s := range o.Schemas {
		m.schemas[lower(s)] = s
	}
	for i := range o.Tables {
		t := &o.Tables[i]
		m.tables[keyOf(t.Schema, t.Name)] = t
	}
	for i := range o.Views {
		v := &o.Views[i]
		m.views[keyOf(v.Schema, v.Name)] = v
	}
	for i := range o.Macros {
		f := &o.Macros[i]
		m.macros[keyOf(f.Schema, f.Name)] = f
		m.macroName[lower(f.Name)] = true
		if reservedName[lower(f.Name)] {
			m.badMacro[lower(f.Name)] = "the name is one of the lake's own functions"
		}
	}
}

// weighAll makes the weights of all views and macros known, so that they can be read from several goroutines.
func (m *mirror) weighAll() {
	for _, v := range m.views {
		if toks, _, err := scan(v.SQL); err == nil {
			m.weigh.add(lower(v.Name), body{toks: toks})
		}
	}
	for _, f := range m.macros {
		for _, o := range f.Overloads {
			toks, _, err := scan(o.SQL)
			if err != nil {
				continue
			}
			b := body{toks: toks}
			for _, p := range o.Params {
				b.params = append(b.params, lower(p.Name))
			}
			m.weigh.add(lower(f.Name)+"(", b)
		}
	}
	for name := range m.weigh.bodies {
		m.weigh.of(name)
	}
}

// grownFrom says that m has all of old, unchanged and usable, and beside it new tables and views whose names no
// stored text can mean already.
func (m *mirror) grownFrom(old *mirror) bool {
	if !old.loaded || len(old.broken) > 0 || len(old.badMacro) > 0 || len(old.macros) != len(m.macros) {
		return false
	}
	taken := map[string]bool{}
	for k, s := range old.schemas {
		if m.schemas[k] != s {
			return false
		}
	}
	for k, t := range old.tables {
		if now := m.tables[k]; now == nil || now.UUID != t.UUID || !now.same(t) {
			return false
		}
		taken[k.name] = true
	}
	for k, v := range old.views {
		if now := m.views[k]; now == nil || now.SQL != v.SQL || now.Name != v.Name || !slices.Equal(now.Aliases, v.Aliases) {
			return false
		}
		taken[k.name] = true
	}
	for k, f := range old.macros {
		if now := m.macros[k]; now == nil || now.ddl("") != f.ddl("") {
			return false
		}
	}
	for k := range m.tables {
		if old.tables[k] == nil && taken[k.name] {
			return false
		}
	}
	for k := range m.views {
		if old.views[k] == nil && taken[k.name] {
			return false
		}
	}
	return true
}

// same says that two tables have the same name and columns.
func (t *Table) same(other *Table) bool {
	return t.Name == other.Name && slices.Equal(t.Columns, other.Columns)
}

// ddl is the statement that makes the table in the shadow.
func (t *Table) ddl(lake string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s.%s.%s (", ident(lake), ident(t.Schema), ident(t.Name))
	for i, c := range t.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", ident(c.Name), c.Type)
		if c.NotNull {
			b.WriteString(" NOT NULL")
		}
		if c.Default != "" {
			fmt.Fprintf(&b, " DEFAULT (%s)", c.Default)
		}
	}
	b.WriteString(")")
	return b.String()
}

// head is CREATE VIEW up to AS; the query is put behind it.
func (v *View) head(lake string) string {
	s := fmt.Sprintf("CREATE VIEW %s.%s.%s", ident(lake), ident(v.Schema), ident(v.Name))
	if len(v.Aliases) > 0 {
		names := make([]string, len(v.Aliases))
		for i, a := range v.Aliases {
			names[i] = ident(a)
		}
		s += " (" + strings.Join(names, ", ") + ")"
	}
	return s + " AS "
}

// ddl is the statement that makes the macro in the shadow.
func (f *Macro) ddl(lake string) string {
	parts := make([]string, len(f.Overloads))
	for i, o := range f.Overloads {
		params := make([]string, len(o.Params))
		for j, p := range o.Params {
			params[j] = strings.TrimRight(ident(p.Name)+" "+p.Type, " ")
			if p.Default != "" {
				params[j] += " := " + p.Default
			}
		}
		body := o.SQL
		if o.Table {
			body = "TABLE " + body
		}
		parts[i] = "(" + strings.Join(params, ", ") + ") AS " + body
	}
	return fmt.Sprintf("CREATE MACRO %s.%s.%s %s", ident(lake), ident(f.Schema), ident(f.Name), strings.Join(parts, ", "))
}

// lakeMacros makes the lake's own functions in one schema of the shadow. Those that name a table read it there,
// so that the plan shows it.
func lakeMacros(lake, schema string) []string {
	in := ident(lake) + "." + ident(schema) + "."
	table := literal(in+`"`) + ` || replace(table_name, '"', '""') || '"'`
	const window = "(table_name, start_snapshot, end_snapshot) AS TABLE "
	return []string{
		"CREATE MACRO " + in + "snapshots() AS TABLE " + snapshotsShape,
		"CREATE MACRO " + in + "current_snapshot() AS TABLE " + currentShape,
		"CREATE MACRO " + in + "last_committed_snapshot() AS TABLE " + currentShape,
		"CREATE MACRO " + in + "table_info() AS TABLE " + infoShape,
		"CREATE MACRO " + in + "table_changes" + window + changesShape + " FROM query_table(" + table + ")",
		"CREATE MACRO " + in + "table_insertions" + window + "SELECT * FROM query_table(" + table + ")",
		"CREATE MACRO " + in + "table_deletions" + window + "SELECT * FROM query_table(" + table + ")",
	}
}

// sessionMacros makes the ducklake_* spelling of the same functions, in a session's temporary schema: that is
// found from every search path.
func sessionMacros() []string {
	table := `'"' || replace(catalog, '"', '""') || '"."' || replace(schema_name, '"', '""') || '"."' || replace(table_name, '"', '""') || '"'`
	const in = "CREATE OR REPLACE TEMP MACRO ducklake_"
	const window = "(catalog, schema_name, table_name, start_snapshot, end_snapshot) AS TABLE "
	return []string{
		in + "snapshots(catalog) AS TABLE " + snapshotsShape,
		in + "current_snapshot(catalog) AS TABLE " + currentShape,
		in + "last_committed_snapshot(catalog) AS TABLE " + currentShape,
		in + "table_info(catalog) AS TABLE " + infoShape,
		in + "table_changes" + window + changesShape + " FROM query_table(" + table + ")",
		in + "table_insertions" + window + "SELECT * FROM query_table(" + table + ")",
		in + "table_deletions" + window + "SELECT * FROM query_table(" + table + ")",
	}
}

const (
	snapshotsShape = `SELECT NULL::BIGINT AS snapshot_id, NULL::TIMESTAMPTZ AS snapshot_time, NULL::BIGINT AS schema_version,
		NULL::MAP(VARCHAR, VARCHAR[]) AS changes, NULL::VARCHAR AS author, NULL::VARCHAR AS commit_message, NULL::VARCHAR AS commit_extra_info`
	currentShape = `SELECT NULL::UBIGINT AS id`
	infoShape    = `SELECT NULL::VARCHAR AS table_name, NULL::BIGINT AS schema_id, NULL::BIGINT AS table_id, NULL::UUID AS table_uuid,
		NULL::BIGINT AS file_count, NULL::BIGINT AS file_size_bytes, NULL::BIGINT AS delete_file_count, NULL::BIGINT AS delete_file_size_bytes`
	changesShape = `SELECT NULL::BIGINT AS snapshot_id, NULL::BIGINT AS rowid, NULL::VARCHAR AS change_type, *`
)
