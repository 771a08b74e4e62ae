package gate

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/vegadb/vega-flight/fault"
)

// Sync brings the shadow to the lake's newest schema version. It is cheap when nothing moved. Statements that
// are being analysed end first, or keep the old shadow.
func (g *Gate) Sync(ctx context.Context, lake Lake) error {
	g.syncing.Lock()
	defer g.syncing.Unlock()
	in := g.now()
	have := int64(-1)
	if in.mirror.loaded && !in.stuck.Load() {
		have = in.mirror.version
	}
	objects, err := lake.Objects(ctx, have)
	if err != nil || objects == nil {
		return err
	}
	next := newMirror(g.config.Lake, g.functions)
	next.fill(objects)
	next.weighAll()
	free, err := g.stop(ctx, in)
	switch {
	case err != nil:
		in.turn.unlock()
		return err
	case free:
		defer in.turn.unlock()
		in.cache.clear()
		return g.mirrorTo(ctx, in, next)
	}
	fresh, err := openInstance(ctx, g.config)
	if err != nil {
		in.turn.unlock()
		return err
	}
	fresh.mirror = newMirror(g.config.Lake, g.functions)
	if err := g.mirrorTo(ctx, fresh, next); err != nil {
		in.turn.unlock()
		return errors.Join(err, fresh.close())
	}
	return g.replace(fresh)
}

// stop shuts the turnstile and says whether the instance can be changed now. False says that another one must be made.
func (g *Gate) stop(ctx context.Context, in *instance) (bool, error) {
	g.mu.Lock()
	crowded := g.retired >= maxRetired
	g.mu.Unlock()
	if crowded {
		return true, in.turn.lock(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, g.patience)
	defer cancel()
	if err := in.turn.lock(limited); err != nil {
		return false, ctx.Err()
	}
	in.stuck.Store(false) // a trial is made inside of the turnstile
	return true, nil
}

// mirrorTo makes an instance that nobody uses equal to a mirror. Once begun it ends, whoever waits for it: half a
// mirror would stop everybody.
func (g *Gate) mirrorTo(ctx context.Context, in *instance, next *mirror) error {
	b := &builder{gate: g, in: in, ctx: context.WithoutCancel(ctx), old: in.mirror, next: next}
	if err := b.run(); err != nil {
		// Half a mirror must not be used: the next Sync starts from nothing.
		in.mirror = newMirror(g.config.Lake, g.functions)
		return fault.InternalError.Wrap(err, "mirroring the lake's schemas")
	}
	in.mirror = next
	return nil
}

// builder makes the shadow equal to a new mirror.
type builder struct {
	gate      *Gate
	in        *instance
	ctx       context.Context
	old, next *mirror
	grows     bool // tables and views were added, and nothing that was there has changed
}

func (b *builder) exec(sql string) error {
	_, err := b.in.admin.Exec(b.ctx, sql)
	return err
}

func (b *builder) run() error {
	b.grows = b.next.grownFrom(b.old)
	if err := b.exec("USE " + ident(b.gate.config.Lake) + ".main"); err != nil {
		return err
	}
	if !b.grows {
		if err := b.dropStored(); err != nil {
			return err
		}
	}
	if err := b.schemas(); err != nil {
		return err
	}
	if err := b.tables(); err != nil {
		return err
	}
	return b.stored()
}

// dropStored drops the views and macros: their texts may mean something else now.
func (b *builder) dropStored() error {
	if o := b.old; o.loaded && len(o.views)+len(o.macros)+len(o.broken)+len(o.badMacro) == 0 {
		return nil // there are none, and to ask for functions takes longer than all else
	}
	lake := literal(b.gate.config.Lake)
	rows, err := b.in.admin.Rows(b.ctx, `SELECT 'VIEW', schema_name, view_name FROM duckdb_views() WHERE database_name = `+lake+` AND NOT internal
		UNION ALL SELECT DISTINCT CASE function_type WHEN 'table_macro' THEN 'MACRO TABLE' ELSE 'MACRO' END, schema_name, function_name
		FROM duckdb_functions() WHERE database_name = `+lake)
	if err != nil {
		return err
	}
	for _, r := range rows {
		schema, name := r[1].(string), r[2].(string)
		if r[0] != "VIEW" && reservedName[lower(name)] && b.next.schemas[lower(schema)] != "" {
			continue
		}
		if err := b.exec(fmt.Sprintf("DROP %s %s.%s.%s", r[0], ident(b.gate.config.Lake), ident(schema), ident(name))); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) schemas() error {
	lake := b.gate.config.Lake
	rows, err := b.in.admin.Rows(b.ctx, "SELECT schema_name FROM duckdb_schemas() WHERE database_name = "+literal(lake))
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for _, r := range rows {
		name := r[0].(string)
		if b.next.schemas[lower(name)] != "" || name == "main" {
			have[lower(name)] = true
			continue
		}
		if err := b.exec(fmt.Sprintf("DROP SCHEMA %s.%s CASCADE", ident(lake), ident(name))); err != nil {
			return err
		}
	}
	for _, name := range sorted(b.next.schemas) {
		if !have[lower(name)] {
			if err := b.exec(fmt.Sprintf("CREATE SCHEMA %s.%s", ident(lake), ident(name))); err != nil {
				return err
			}
		}
		if b.old.loaded && b.old.schemas[lower(name)] != "" && have[lower(name)] {
			continue // it has them
		}
		n, err := b.in.admin.Rows(b.ctx, fmt.Sprintf(`SELECT count(*) FROM duckdb_functions() WHERE database_name = %s AND schema_name = %s
			AND function_name = 'snapshots'`, literal(lake), literal(name)))
		if err != nil {
			return err
		}
		if n[0][0].(int64) > 0 {
			continue
		}
		for _, sql := range lakeMacros(lake, name) {
			if err := b.exec(sql); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
	}
	return nil
}

// tables drops and makes the tables whose definition differs.
func (b *builder) tables() error {
	lake := b.gate.config.Lake
	rows, err := b.in.admin.Rows(b.ctx, "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = "+literal(lake))
	if err != nil {
		return err
	}
	kept := map[key]bool{}
	for _, r := range rows {
		schema, name := r[0].(string), r[1].(string)
		k := keyOf(schema, name)
		now, was := b.next.tables[k], b.old.tables[k]
		if now != nil && was != nil && now.same(was) && now.Name == name {
			kept[k] = true
			continue
		}
		if err := b.exec(fmt.Sprintf("DROP TABLE %s.%s.%s", ident(lake), ident(schema), ident(name))); err != nil {
			return err
		}
	}
	for k, t := range b.next.tables {
		if why := b.badTable(t); why != "" {
			b.next.broken[k] = why
		}
		if kept[k] {
			continue
		}
		if err := b.exec(t.ddl(lake)); err != nil {
			// A type or default that the shadow does not know: the table exists, but nothing may use it.
			b.next.broken[k] = err.Error()
			if err := b.placeholder(t.Schema, t.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// badTable says why a table must not be used: its defaults run when somebody inserts.
func (b *builder) badTable(t *Table) string {
	if fileLike(t.Name) {
		return "its name looks like a file's"
	}
	for _, c := range t.Columns {
		if c.Default == "" {
			continue
		}
		if err := b.check(c.Default); err != nil {
			return fmt.Sprintf("the default of column %s: %v", c.Name, err)
		}
	}
	return ""
}

// check is the gate's first lock for a stored text.
func (b *builder) check(sql string) error {
	toks, _, err := scan(sql)
	if err != nil {
		return err
	}
	for _, t := range toks {
		if t.op(';') {
			return fault.SyntaxError.Newf("several statements")
		}
	}
	if err := errors.Join(bounded(toks), checkVariant(toks, false)); err != nil {
		return err
	}
	_, err = checkFunctions(toks, b.next, false, -1)
	return err
}

// placeholder takes the name of an object that must not be used, so that the name means nothing else.
func (b *builder) placeholder(schema, name string) error {
	return b.exec(fmt.Sprintf("CREATE VIEW %s.%s.%s AS SELECT * FROM %s", ident(b.gate.config.Lake), ident(schema), ident(name), brokenTable))
}

// brokenTable is what placeholders read; a plan that scans it is refused.
const brokenTable = `memory.main."unusable object"`

// storedText is a view or macro to be made in the shadow.
type storedText struct {
	view  *View
	macro *Macro
	texts []string
	sql   string
	err   error
}

// stored makes the views and macros in an order in which they bind.
func (b *builder) stored() error {
	if err := b.exec("CREATE TABLE IF NOT EXISTS " + brokenTable + "(unusable INTEGER)"); err != nil {
		return err
	}
	todo := b.texts()
	for again := true; again; {
		again = false
		var rest []*storedText
		for _, s := range todo {
			if s.err = b.make(s); s.err == nil {
				again = true
			} else {
				rest = append(rest, s)
			}
		}
		todo = rest
	}
	for len(todo) > 0 {
		for _, s := range todo {
			if err := b.condemn(s); err != nil {
				return err
			}
		}
		var err error
		if todo, err = b.unmake(); err != nil {
			return err
		}
	}
	return nil
}

// texts lists the views and macros, in a fixed order.
func (b *builder) texts() []*storedText {
	var out []*storedText
	lake := b.gate.config.Lake
	for k, v := range b.next.views {
		if b.grows && b.old.views[k] != nil {
			continue
		}
		s := &storedText{view: v, texts: []string{v.SQL}}
		if _, clean, err := scan(v.SQL); err == nil {
			if shadow, _, err := withoutAt(clean); err == nil {
				s.sql = v.head(lake) + shadow
			}
		}
		out = append(out, s)
	}
	for k, f := range b.next.macros {
		if b.grows && b.old.macros[k] != nil {
			continue
		}
		s := &storedText{macro: f, sql: f.ddl(lake)}
		for _, o := range f.Overloads {
			s.texts = append(s.texts, o.SQL)
			for _, p := range o.Params {
				s.texts = append(s.texts, p.Default)
			}
		}
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].sql < out[j].sql })
	return out
}

// make checks a stored text and makes it in the shadow.
func (b *builder) make(s *storedText) error {
	if s.macro != nil && reservedName[lower(s.macro.Name)] {
		return fault.ReservedName.Newf("%s is a function of every lake", s.macro.Name)
	}
	if s.view != nil && fileLike(s.view.Name) {
		return fault.ReservedName.Newf("its name looks like a file's")
	}
	for _, text := range s.texts {
		if err := b.check(text); err != nil {
			return err
		}
	}
	if s.view != nil {
		toks, clean, err := scan(s.view.SQL)
		if err != nil {
			return err
		}
		st, err := read(toks, len(clean))
		if err != nil {
			return err
		}
		if st.kind != Select {
			return fault.StatementForbidden.Newf("it is not a query")
		}
		if _, _, err := withoutAt(clean); err != nil {
			return err
		}
		// A view's names are looked up from where it lies.
		if err := b.exec("USE " + ident(b.gate.config.Lake) + "." + ident(s.view.Schema)); err != nil {
			return err
		}
	}
	return refused(b.exec(s.sql), 0)
}

// condemn marks an object as not to be used.
func (b *builder) condemn(s *storedText) error {
	if s.macro != nil {
		b.next.badMacro[lower(s.macro.Name)] = s.err.Error()
		if reservedName[lower(s.macro.Name)] {
			return nil
		}
		// It cannot be called, but it can be dropped.
		body := "() AS NULL"
		if len(s.macro.Overloads) > 0 && s.macro.Overloads[0].Table {
			body = "() AS TABLE SELECT NULL"
		}
		return b.exec("CREATE MACRO " + ident(b.gate.config.Lake) + "." + ident(s.macro.Schema) + "." + ident(s.macro.Name) + body)
	}
	b.next.broken[keyOf(s.view.Schema, s.view.Name)] = s.err.Error()
	return b.placeholder(s.view.Schema, s.view.Name)
}

// unmake drops what was made before it turned out that it uses a bad macro's name.
func (b *builder) unmake() ([]*storedText, error) {
	var bad []*storedText
	for _, s := range b.texts() {
		k := key{}
		if s.view != nil {
			k = keyOf(s.view.Schema, s.view.Name)
		}
		if b.next.broken[k] != "" || s.macro != nil && b.next.badMacro[lower(s.macro.Name)] != "" {
			continue
		}
		for _, text := range s.texts {
			if s.err = b.check(text); s.err != nil {
				break
			}
		}
		if s.err == nil {
			continue
		}
		kind := "VIEW"
		var schema, name string
		if s.view != nil {
			schema, name = s.view.Schema, s.view.Name
		} else {
			schema, name = s.macro.Schema, s.macro.Name
			if kind = "MACRO"; len(s.macro.Overloads) > 0 && s.macro.Overloads[0].Table {
				kind = "MACRO TABLE"
			}
		}
		if err := b.exec(fmt.Sprintf("DROP %s %s.%s.%s", kind, ident(b.gate.config.Lake), ident(schema), ident(name))); err != nil {
			return nil, err
		}
		bad = append(bad, s)
	}
	return bad, nil
}

func sorted(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	sort.Strings(out)
	return out
}
