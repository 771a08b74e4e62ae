package gate

import (
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

// maxExpansions and maxText bound what the macros of one query become.
const (
	maxExpansions = 256
	maxText       = 128 << 10
)

// macros puts the bodies of the lake's macros in the place of their calls, until none is left. Names are looked up
// from a schema.
func (b *binding) macros(sql, schema string) (string, error) {
	for range maxExpansions {
		t, err := parse(b.ctx, b.conn, sql)
		if err != nil {
			return "", err
		}
		e, found, err := b.expansion(t, schema)
		if err != nil {
			return "", err
		}
		if !found {
			return sql, nil
		}
		sql = t.text[:e.from] + e.text + t.text[e.to:]
		if len(sql) > maxText {
			break
		}
	}
	return "", fault.StatementForbidden.Newf("the macros of the query call each other without end, or too often")
}

// expansion is the first call of a macro, and what stands for it.
func (b *binding) expansion(t *tree, schema string) (edit, bool, error) {
	for _, c := range t.calls {
		m, err := b.lookMacro(c, schema)
		if err != nil {
			return edit{}, false, err
		}
		if m == nil {
			continue
		}
		e, err := b.expand(t, c, m, schema)
		return e, true, err
	}
	return edit{}, false, nil
}

// lookMacro finds the lake's macro that a call means, or nil.
func (b *binding) lookMacro(c callUse, schema string) (*Macro, error) {
	m := b.inst.mirror
	find := func(schema string) *Macro {
		f := m.macros[keyOf(schema, c.name)]
		if f == nil || len(f.Overloads) == 0 || f.Overloads[0].Table != c.table {
			return nil
		}
		return f
	}
	switch first := lower(c.schema); {
	case first == "" || first == m.lakeName && c.catalog == "":
		if b.temp[lower(c.name)+"("] != "" && first == "" {
			return nil, fault.TemporarySource.Newf("the view calls the temporary macro %s", c.name).WithHint("make it a macro of the lake")
		}
		if f := find(schema); f != nil {
			return f, nil
		}
		return find("main"), nil
	default:
		return find(c.schema), nil
	}
}

// argument is one argument of a call.
type argument struct{ name, text string }

// expand makes the text that stands for one call.
func (b *binding) expand(t *tree, c callUse, m *Macro, schema string) (edit, error) {
	parts := 1
	for _, q := range []string{c.catalog, c.schema} {
		if q != "" {
			parts++
		}
	}
	unsupported := func(why string) error {
		return fault.NotYetSupported.Newf("the call of macro %s %s", c.name, why).WithHint("write the macro's expression into the view's query")
	}
	from, open, ok := t.dottedAt(c.at, parts)
	if !ok || open >= len(t.toks) || !t.toks[open].op('(') || t.toks[open-1].lower != lower(c.name) {
		return edit{}, unsupported("is not written as name(arguments)")
	}
	if !c.bare || c.ordinality {
		return edit{}, unsupported("has DISTINCT, FILTER, ORDER BY, OVER or WITH ORDINALITY")
	}
	args, end, err := t.arguments(open)
	if err != nil {
		return edit{}, err
	}
	o, values := m.choose(args)
	if o == nil {
		return edit{}, unsupported("has no single overload that fits")
	}
	body, err := b.substitute(m, o, values, schema, args)
	if err != nil {
		return edit{}, err
	}
	if o.Table && c.alias == "" {
		body += " AS " + ident(c.name)
	}
	b.pin(PinnedObject{
		Type:     map[bool]ObjectType{false: ScalarMacro, true: TableMacroObject}[o.Table],
		TableRef: TableRef{Catalog: b.gate.config.Lake, Schema: m.Schema, Name: m.Name}, SQL: m.ddl(b.gate.config.Lake),
	})
	return edit{t.toks[from].start, t.toks[end].end, body}, nil
}

// arguments takes the list in parentheses apart; end is its closing token.
func (t *tree) arguments(open int) (args []argument, end int, err error) {
	depth, from := 0, open+1
	take := func(to int) {
		if to == from {
			return
		}
		a := argument{}
		toks := t.toks[from:to]
		if len(toks) > 3 && toks[0].name() && (toks[1].op(':') && toks[2].op('=') || toks[1].op('=') && toks[2].op('>')) {
			a.name, toks = toks[0].lower, toks[3:]
		}
		a.text = t.text[toks[0].start:toks[len(toks)-1].end]
		args = append(args, a)
	}
	for i := open; i < len(t.toks); i++ {
		switch k := t.toks[i]; {
		case k.op('('), k.op('['), k.op('{'):
			depth++
		case k.op(')'), k.op(']'), k.op('}'):
			if depth--; depth == 0 {
				take(i)
				return args, i, nil
			}
		case k.op(',') && depth == 1:
			take(i)
			from = i + 1
		}
	}
	return nil, 0, fault.SyntaxError.Newf("a parenthesis is not closed").At(t.toks[open].start)
}

// choose finds the overload for the arguments and the text of each of its parameters.
func (m *Macro) choose(args []argument) (*MacroOverload, map[string]string) {
	var found *MacroOverload
	var values map[string]string
	exact := false
	for i := range m.Overloads {
		o := &m.Overloads[i]
		v, defaults, ok := o.fits(args)
		switch {
		case !ok:
		case found == nil || defaults == 0 && !exact:
			found, values, exact = o, v, defaults == 0
		case defaults == 0 || !exact:
			return nil, nil // two fit equally well
		}
	}
	return found, values
}

// fits gives each parameter its text, and counts the defaults that were needed.
func (o *MacroOverload) fits(args []argument) (values map[string]string, defaults int, ok bool) {
	values = map[string]string{}
	next := 0
	for _, a := range args {
		name := a.name
		if name == "" {
			if next >= len(o.Params) {
				return nil, 0, false
			}
			name = lower(o.Params[next].Name)
			next++
		}
		if _, twice := values[name]; twice || !o.has(name) {
			return nil, 0, false
		}
		values[name] = a.text
	}
	for _, p := range o.Params {
		if _, given := values[lower(p.Name)]; given {
			continue
		}
		if p.Default == "" {
			return nil, 0, false
		}
		values[lower(p.Name)] = p.Default
		defaults++
	}
	for _, p := range o.Params {
		v := "(" + values[lower(p.Name)] + "\n)"
		if p.Type != "" {
			v = "CAST(" + v + " AS " + p.Type + ")"
		}
		values[lower(p.Name)] = v
	}
	return values, defaults, true
}

func (o *MacroOverload) has(name string) bool {
	for _, p := range o.Params {
		if lower(p.Name) == name {
			return true
		}
	}
	return false
}

// substitute writes the arguments into a macro's body.
func (b *binding) substitute(m *Macro, o *MacroOverload, values map[string]string, schema string, args []argument) (string, error) {
	head := "SELECT "
	if o.Table {
		head = ""
	}
	t, err := parse(b.ctx, b.conn, head+o.SQL)
	if err != nil {
		return "", err
	}
	if err := b.captures(m, t, schema, args); err != nil {
		return "", err
	}
	var edits []edit
	done := map[int]bool{}
	for _, c := range t.columns {
		value, isParam := values[lower(c.names[0])]
		if !isParam || c.lambda[lower(c.names[0])] || done[c.at] {
			continue
		}
		from, to, ok := t.dottedAt(c.at, 1)
		if len(c.names) > 1 || !ok || t.toks[from].lower != lower(c.names[0]) {
			return "", fault.NotYetSupported.Newf("macro %s takes fields of its parameter %s", m.Name, c.names[0]).
				WithHint("write the macro's expression into the view's query")
		}
		done[c.at] = true
		edits = append(edits, edit{t.toks[from].start, t.toks[to-1].end, value})
	}
	body := apply(t.text, edits)[len(head):]
	return "(" + strings.TrimSpace(body) + "\n)", nil
}

// captures refuses a call whose arguments use a name that means something else inside of the macro's body: the
// tables and lambdas there would take it. DuckDB itself looks the arguments up outside.
func (b *binding) captures(m *Macro, body *tree, schema string, args []argument) error {
	inside := map[string]bool{}
	for n := range body.binds {
		inside[n] = true
	}
	unknown := body.nested
	for _, u := range body.tables {
		table, _ := b.look(u, schema)
		if table == nil {
			unknown = true
			continue
		}
		for _, c := range table.Columns {
			inside[lower(c.Name)] = true
		}
	}
	for n := range body.aliases {
		inside[n] = true
	}
	for _, c := range body.calls {
		unknown = unknown || c.table
	}
	if !unknown && len(inside) == 0 {
		return nil
	}
	for _, a := range args {
		t, err := parse(b.ctx, b.conn, "SELECT "+a.text)
		if err != nil {
			return err
		}
		for _, c := range t.columns {
			if unknown || inside[lower(c.names[0])] {
				return fault.NotYetSupported.Newf("macro %s has tables or lambdas of its own, which could take the name %s of its argument", m.Name, c.names[0]).
					WithHint("write the macro's expression into the view's query")
			}
		}
	}
	return nil
}
