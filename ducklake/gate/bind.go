package gate

import (
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

// binding makes one view's query independent of its session. It changes the text only where it must: where names
// stand for lake tables, views and macros. So what a literal or an operator means cannot change.
//
// Each lake table becomes a subquery that selects the columns the query uses, under the same name: whatever is
// added to the table later can neither widen a star nor make a name ambiguous.
type binding struct {
	*Session
	ctx    context.Context
	env    Env
	stack  []string // the views that are being inlined
	pinned []PinnedObject
	uses   map[key]map[string]bool // the columns used of each lake table, lower case
}

// Bind makes a view's query independent of its session: the query must read tables and views of the lake only.
// Names of columns are as the query gives them, and may occur twice.
func (s *Session) Bind(ctx context.Context, query string, env Env) (*Bound, error) {
	a, err := s.Analyze(ctx, query, env)
	if err != nil {
		return nil, err
	}
	if err := bindable(a); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fault.SessionNotFound.Newf("the session is closed")
	}
	leave, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if a.SchemaVersion != s.inst.mirror.version {
		return nil, fault.CommitConflict.Newf("the lake's schemas changed while the query was bound")
	}
	env = env.complete(s.gate.config.Lake)
	if err := s.enter(ctx, env); err != nil {
		return nil, err
	}
	b := &binding{Session: s, ctx: ctx, env: env, uses: map[key]map[string]bool{}}
	sql, err := b.canonical(a.SQL, env.Schema)
	if err != nil {
		return nil, err
	}
	return b.finish(a, sql)
}

// bindable says why a statement cannot be a view's query.
func bindable(a *Analysis) error {
	if a.Kind != Select {
		return fault.InvalidParameter.Newf("a materialized view is made of a query, not of %s", a.Kind).At(0)
	}
	if len(a.Params) > 0 {
		return fault.InvalidParameter.Newf("a view's query cannot have parameters")
	}
	if len(a.AtClauses) > 0 {
		return fault.StatementForbidden.Newf("a view's query cannot have AT clauses").
			WithHint("REFRESH … WITH (source_version = n) reads all sources at one snapshot")
	}
	for _, f := range a.Functions {
		switch {
		case f == "getvariable":
			return fault.TemporarySource.Newf("the view reads a variable of the session")
		case lakeFunctionNames[f] || catalogFunction[f] || strings.HasPrefix(f, "duckdb_") || strings.HasPrefix(f, "pragma_"):
			return fault.StatementForbidden.Newf("a view's query reads tables and views; function %s reads something else", f)
		}
	}
	for _, r := range a.Reads {
		switch r.Catalog {
		case tempCatalog:
			return fault.TemporarySource.Newf("the view reads the temporary object %s", r.Name).WithHint("make it a table of the lake")
		case vegaCatalog:
			return fault.StatementForbidden.Newf("a view cannot read %s.%s, which the lake does not keep", r.Catalog, r.Name)
		}
	}
	return nil
}

var lakeFunctionNames = set(lakeFunctions)

// canonical rewrites a query whose names are looked up from a schema.
func (b *binding) canonical(sql, schema string) (string, error) {
	sql, err := b.macros(sql, schema)
	if err != nil {
		return "", err
	}
	t, err := parse(b.ctx, b.conn, sql)
	if err != nil {
		return "", err
	}
	if t.described {
		return "", fault.StatementForbidden.Newf("a view's query cannot have DESCRIBE, SHOW or SUMMARIZE")
	}
	for _, c := range t.columns {
		last := lower(c.names[len(c.names)-1])
		if virtualColumn[last] && !b.hasColumn(t, schema, last) {
			return "", fault.StatementForbidden.Newf("a view's query cannot use %s: it is where a row lies, not what it is", last)
		}
	}
	var edits []edit
	bare := map[key]bool{} // tables without an alias: columns may be qualified by their schema
	for _, u := range t.tables {
		text, k, err := b.table(t, u, schema)
		if err != nil {
			return "", err
		}
		if text == "" {
			continue // it stands there as it should already
		}
		e, err := t.replaceTable(u, text)
		if err != nil {
			return "", err
		}
		if u.alias == "" {
			bare[k] = true
		}
		edits = append(edits, e)
	}
	return apply(t.text, append(edits, t.unqualify(bare, b.inst.mirror.lakeName)...)), nil
}

// virtualColumn are the columns that a lake table has beside its own.
var virtualColumn = set("rowid snapshot_id filename file_row_number file_index")

// hasColumn says that some source has a column of that name of its own.
func (b *binding) hasColumn(t *tree, schema, name string) bool {
	for _, u := range t.tables {
		if table, _ := b.look(u, schema); table != nil && table.column(name) != nil {
			return true
		}
	}
	return t.aliasedAs(name)
}

// aliasedAs says that the text gives something that name.
func (t *tree) aliasedAs(name string) bool {
	for i, k := range t.toks {
		if k.name() && k.lower == name && i > 0 && t.toks[i-1].is("as") {
			return true
		}
	}
	return false
}

// look finds the lake table or view that a name means.
func (b *binding) look(u tableUse, schema string) (*Table, *View) {
	m := b.inst.mirror
	schemas := []string{schema, "main"}
	switch {
	case u.catalog != "":
		schemas = []string{u.schema}
	case u.schema != "" && lower(u.schema) != m.lakeName:
		schemas = []string{u.schema}
	case u.schema != "":
		schemas = []string{schema}
	}
	for _, s := range schemas {
		k := keyOf(s, u.name)
		if m.tables[k] != nil || m.views[k] != nil {
			return m.tables[k], m.views[k]
		}
	}
	return nil, nil
}

// table is the text that is to stand for one table or view, "" when it does already.
func (b *binding) table(t *tree, u tableUse, schema string) (string, key, error) {
	if u.travels {
		return "", key{}, fault.StatementForbidden.Newf("a view's query cannot have AT clauses, nor can the views it reads")
	}
	if b.temp[lower(u.name)] != "" && (u.schema == "" || lower(u.schema) == tempCatalog) || lower(u.catalog) == tempCatalog {
		// Also inside of the lake's views: there too a temporary object comes first.
		return "", key{}, fault.TemporarySource.Newf("the view reads the temporary object %s", u.name).WithHint("make it a table or view of the lake")
	}
	table, view := b.look(u, schema)
	switch {
	case view != nil:
		text, err := b.view(view)
		return text, keyOf(view.Schema, view.Name), err
	case table == nil:
		return "", key{}, fault.StatementForbidden.Newf("%s is not a table or view of the lake", u.name).At(u.at)
	}
	k := keyOf(table.Schema, table.Name)
	columns, stands := t.narrowed(table, u)
	if !stands {
		columns = t.used(table, u)
	}
	if b.uses[k] == nil {
		b.uses[k] = map[string]bool{}
	}
	list := make([]string, len(columns))
	for i, c := range columns {
		b.uses[k][lower(c.Name)] = true
		list[i] = ident(c.Name)
	}
	if stands {
		return "", k, nil
	}
	if len(list) == 0 {
		list = []string{"NULL AS vega_no_column"}
	}
	return "(SELECT " + strings.Join(list, ", ") + " FROM " + table.qualified(b.gate.config.Lake) + ")", k, nil
}

func (t *Table) qualified(lake string) string {
	return ident(lake) + "." + ident(t.Schema) + "." + ident(t.Name)
}

func (t *Table) column(name string) *TableColumn {
	for i := range t.Columns {
		if lower(t.Columns[i].Name) == name {
			return &t.Columns[i]
		}
	}
	return nil
}

// view is a plain view's query in parentheses.
func (b *binding) view(v *View) (string, error) {
	name := v.Schema + "." + v.Name
	if slices.Contains(b.stack, lower(name)) {
		return "", fault.ViewCycle.Newf("view %s reads itself", name)
	}
	b.stack = append(b.stack, lower(name))
	defer func() { b.stack = b.stack[:len(b.stack)-1] }()
	sql, err := b.canonical(v.SQL, v.Schema)
	if err != nil {
		return "", err
	}
	b.pin(PinnedObject{
		Type: ViewObject, TableRef: TableRef{Catalog: b.gate.config.Lake, Schema: v.Schema, Name: v.Name, UUID: v.UUID}, SQL: v.SQL,
	})
	text := "(" + sql + "\n)"
	if len(v.Aliases) > 0 {
		aliases := make([]string, len(v.Aliases))
		for i, a := range v.Aliases {
			aliases[i] = ident(a)
		}
		text = "(SELECT * FROM " + text + " AS " + ident(v.Name) + "(" + strings.Join(aliases, ", ") + "))"
	}
	return text, nil
}

func (b *binding) pin(p PinnedObject) {
	for _, have := range b.pinned {
		if have == p {
			return
		}
	}
	b.pinned = append(b.pinned, p)
}

// used are the table's columns that the text may mean. With a star, a list of aliases or the like they are all.
func (t *tree) used(table *Table, u tableUse) []TableColumn {
	if t.star || u.renames {
		return table.Columns
	}
	own := lower(u.alias)
	if own == "" {
		own = lower(u.name)
	}
	names := map[string]bool{}
	for _, c := range t.using {
		names[lower(c)] = true
	}
	for _, c := range t.columns {
		for i, n := range c.names {
			n = lower(n)
			if len(c.names) == 1 && t.aliases[n] && table.column(n) == nil {
				return table.Columns // the whole row as one value
			}
			if i == 0 && len(c.names) > 1 && t.aliases[n] {
				continue
			}
			// Behind another table's name it is that table's column.
			if i > 0 && len(c.names) == 2 && t.aliases[lower(c.names[0])] && lower(c.names[0]) != own && table.column(lower(c.names[0])) == nil {
				continue
			}
			names[n] = true
		}
	}
	var out []TableColumn
	for _, c := range table.Columns {
		if names[lower(c.Name)] {
			out = append(out, c)
		}
	}
	return out
}

// narrowed says that a table stands already as Bind would write it, `(SELECT "a", … FROM lake.schema.table)`, and which columns it selects.
func (t *tree) narrowed(table *Table, u tableUse) (columns []TableColumn, ok bool) {
	from, to, ok := t.dottedAt(u.at, 3)
	if !ok || u.catalog == "" || u.alias != "" || to >= len(t.toks) || !t.toks[to].op(')') || from < 3 || !t.toks[from-1].is("from") {
		return nil, false
	}
	i := from - 2
	if i >= 4 && t.toks[i].lower == "vega_no_column" && t.toks[i-1].is("as") && t.toks[i-2].is("null") && t.toks[i-3].is("select") && t.toks[i-4].op('(') {
		return nil, true
	}
	for ; i >= 1 && t.toks[i].kind == quoted; i -= 2 {
		c := table.column(t.toks[i].lower)
		if c == nil {
			return nil, false
		}
		columns = append(columns, *c)
		if t.toks[i-1].is("select") {
			slices.Reverse(columns)
			return columns, i >= 2 && t.toks[i-2].op('(')
		}
		if !t.toks[i-1].op(',') {
			return nil, false
		}
	}
	return nil, false
}

// replaceTable puts text in the place of a table's name.
func (t *tree) replaceTable(u tableUse, text string) (edit, error) {
	parts := 1
	for _, q := range []string{u.catalog, u.schema} {
		if q != "" {
			parts++
		}
	}
	from, to, ok := t.dottedAt(u.at, parts)
	if !ok || t.toks[to-1].lower != lower(u.name) {
		return edit{}, fault.NotYetSupported.Newf("table %s is named in a way that a view's query cannot keep", u.name).
			WithHint("write FROM and the table's name")
	}
	if u.alias == "" {
		text += " AS " + ident(u.name)
	}
	start := t.toks[from].start
	if from > 0 && t.toks[from-1].is("table") {
		text, start = "FROM "+text, t.toks[from-1].start
	}
	return edit{start, t.toks[to-1].end, text}, nil
}

// unqualify takes catalog and schema off column references, since the tables are subqueries now.
func (t *tree) unqualify(bare map[key]bool, lake string) []edit {
	var edits []edit
	done := map[int]bool{}
	for _, c := range t.columns {
		n := c.names
		skip := 0
		switch {
		case done[c.at] || len(n) < 3 || t.aliases[lower(n[0])]:
		case len(n) > 3 && lower(n[0]) == lake && bare[keyOf(n[1], n[2])]:
			skip = 2
		case bare[keyOf(n[0], n[1])]:
			skip = 1
		case lower(n[0]) == lake: // lake.t.column
			for k := range bare {
				if k.name == lower(n[1]) {
					skip = 1
				}
			}
		}
		if from, to, ok := t.dottedAt(c.at, skip+1); ok && skip > 0 {
			done[c.at] = true
			edits = append(edits, edit{t.toks[from].start, t.toks[to-1].start, ""})
		}
	}
	return edits
}

func apply(text string, edits []edit) string {
	sort.Slice(edits, func(i, j int) bool { return edits[i].from < edits[j].from })
	var out strings.Builder
	pos := 0
	for _, e := range edits {
		out.WriteString(text[pos:e.from])
		out.WriteString(e.text)
		pos = e.to
	}
	out.WriteString(text[pos:])
	return out.String()
}
