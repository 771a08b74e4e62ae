package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
)

// Source is a lake table that a bound query reads, with the columns it uses.
type Source struct {
	TableRef
	Columns []string
}

// PinnedObject is a view or macro whose text was put into the bound query.
type PinnedObject struct {
	Type ObjectType
	TableRef
	SQL string
}

// Bound is a view's query, independent of the session that wrote it.
type Bound struct {
	SQL        string // canonical: lake tables qualified and cut to the used columns, plain views and macros in place
	Columns    []Column
	Sources    []Source
	Pinned     []PinnedObject
	TimeZone   string
	Consistent bool // two runs over the same rows give the same answer: nothing volatile, no clock, no session

	template Template
}

// At is the query with every lake table read at the given snapshot.
func (b *Bound) At(version int64) string { return b.template.At(version) }

// finish checks that the canonical query is the same query, and describes it.
func (b *binding) finish(a *Analysis, sql string) (*Bound, error) {
	columns, err := b.columns(sql)
	if err != nil {
		return nil, wrong(err)
	}
	if len(columns) != len(a.Columns) {
		return nil, wrong(fmt.Errorf("it would have %d columns instead of %d", len(columns), len(a.Columns)))
	}
	renamed := false
	for i, c := range columns {
		if c.Type != a.Columns[i].Type {
			return nil, wrong(fmt.Errorf("column %s would be of type %s instead of %s", c.Name, c.Type, a.Columns[i].Type))
		}
		renamed = renamed || c.Name != a.Columns[i].Name
	}
	if renamed {
		// An expression without a name is called by its text, which inlining a macro changes.
		names := make([]string, len(columns))
		for i, c := range a.Columns {
			names[i] = ident(c.Name)
		}
		sql = "SELECT * FROM (" + sql + "\n) AS vega_query(" + strings.Join(names, ", ") + ")"
	}
	out := &Bound{SQL: sql, Columns: a.Columns, Pinned: b.pinned, TimeZone: b.env.TimeZone}
	if err := b.sources(a, out); err != nil {
		return nil, err
	}
	t, err := parse(b.ctx, b.conn, sql)
	if err != nil {
		return nil, wrong(err)
	}
	out.Consistent = b.consistent(t)
	if out.template, err = t.template(b.inst.mirror.lakeName); err != nil {
		return nil, err
	}
	return out, nil
}

// wrong says that the rewritten query is not the one that was given; the checks of finish found out.
func wrong(err error) error {
	return fault.NotYetSupported.Wrap(err, "the query cannot be kept independently of the session").
		WithHint("name the tables' columns instead of positions or whole rows, and write macros out")
}

func (b *binding) columns(sql string) ([]duck.Column, error) {
	stmt, err := b.conn.Prepare(b.ctx, sql)
	if err != nil {
		return nil, refused(err, 0)
	}
	columns := stmt.Columns()
	return columns, stmt.Close()
}

// sources lists the tables, which must be those that DuckDB itself found in the query.
func (b *binding) sources(a *Analysis, out *Bound) error {
	for k, used := range b.uses {
		t := b.inst.mirror.tables[k]
		src := Source{TableRef: t.ref(b.gate.config.Lake)}
		if !slices.Contains(a.Reads, src.TableRef) {
			return wrong(fmt.Errorf("it would read %s.%s", t.Schema, t.Name))
		}
		for _, c := range t.Columns {
			if used[lower(c.Name)] {
				src.Columns = append(src.Columns, c.Name)
			}
		}
		out.Sources = append(out.Sources, src)
	}
	if len(out.Sources) != len(a.Reads) {
		return wrong(fmt.Errorf("it would read %d tables instead of %d", len(out.Sources), len(a.Reads)))
	}
	slices.SortFunc(out.Sources, func(x, y Source) int { return x.compare(y.TableRef) })
	slices.SortFunc(out.Pinned, func(x, y PinnedObject) int { return x.compare(y.TableRef) })
	return nil
}

func (t TableRef) compare(other TableRef) int {
	return strings.Compare(t.Schema+"\x00"+t.Name, other.Schema+"\x00"+other.Name)
}

// sessionValues are names that give something of the session or the clock without parentheses, and functions that
// DuckDB calls consistent although another session gets another value.
var sessionValues = set(`current_date current_time current_timestamp localtime localtimestamp current_user session_user user
current_role current_catalog current_database current_schema current_schemas current_setting getvariable current_query
ago age now today in_search_path pg_postmaster_start_time pg_conf_load_time txid_current reservoir_quantile`)

// bareValues are those of them that DuckDB gives without parentheses where no column has the name.
var bareValues = set(`current_date current_time current_timestamp localtime localtimestamp current_user session_user user
current_role current_catalog current_schema`)

// consistent says that only the rows of the sources decide the result.
func (b *binding) consistent(t *tree) bool {
	if t.sampled {
		return false
	}
	for _, c := range t.calls {
		name := lower(c.name)
		if b.gate.functions[name] != stable && b.gate.functions[name] != "" || sessionValues[name] {
			return false
		}
	}
	for _, c := range t.columns {
		if len(c.names) == 1 && bareValues[lower(c.names[0])] && c.at >= 0 {
			if i, ok := t.at[c.at]; !ok || t.toks[i].kind == word {
				return false
			}
		}
	}
	return true
}

// Template cuts a bound query's text where the versions of its lake tables go.
func (g *Gate) Template(ctx context.Context, sql string) (_ Template, err error) {
	in, err := g.enter(ctx)
	if err != nil {
		return Template{}, err
	}
	defer func() {
		in.turn.leave()
		err = errors.Join(err, g.part(in))
	}()
	if err := in.probe(ctx, g.patience); err != nil {
		return Template{}, err
	}
	defer in.probed()
	t, err := parse(ctx, in.prober, sql)
	if err != nil {
		return Template{}, err
	}
	return t.template(lower(g.config.Lake))
}

// template cuts behind each table of the lake. Bound queries name one only as "lake"."schema"."table", without an alias.
func (t *tree) template(lake string) (Template, error) {
	var edits []edit
	for _, u := range t.tables {
		if lower(u.catalog) != lake {
			continue
		}
		_, to, ok := t.dottedAt(u.at, 3)
		if !ok || u.alias != "" || u.travels {
			return Template{}, fault.DefinitionInvalid.Newf("the query is not a bound one: table %s", u.name)
		}
		edits = append(edits, edit{t.toks[to-1].end, t.toks[to-1].end, " AT (VERSION => \x00)"})
	}
	return Template{pieces: strings.Split(apply(t.text, edits), "\x00")}, nil
}
