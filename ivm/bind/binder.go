package bind

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/types"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/refresh"
	"github.com/vegadb/vega-flight/ivm/row"
)

// Binder binds in sessions of one lake.
type Binder struct {
	Lake *ducklake.Lake

	mu      sync.Mutex
	planner *Planner // nil until a query is streamed
}

// session is what a caller's session must be.
func (b *Binder) session(s any) (*ducklake.Session, error) {
	session, ok := s.(*ducklake.Session)
	if !ok || session == nil {
		return nil, fault.InternalError.Newf("a caller without a session: %T", s)
	}
	return session, nil
}

// Place completes a name from the session's search path. As in DuckDB, the first of two parts is a catalog if it is the lake's name.
func (b *Binder) Place(s any, n ddl.Name) (catalog.Name, error) {
	session, err := b.session(s)
	if err != nil {
		return catalog.Name{}, err
	}
	at := session.Settings()
	if n.Catalog == "" && strings.EqualFold(n.Schema, b.Lake.Name()) {
		n.Catalog, n.Schema = n.Schema, "main"
	}
	switch {
	case n.Catalog == "" && n.Schema == "":
		n.Catalog, n.Schema = at.Catalog, at.Schema
	case n.Catalog == "":
		n.Catalog = b.Lake.Name()
	}
	if !strings.EqualFold(n.Catalog, b.Lake.Name()) {
		return catalog.Name{}, fault.ViewNotFound.Newf("there are no materialized views in catalog %s", ddl.QuoteIdent(n.Catalog)).
			WithHint("views live in the lake, %s", ddl.QuoteIdent(b.Lake.Name()))
	}
	return catalog.Name{Schema: n.Schema, Name: n.Name}, nil
}

// Bind makes a query independent of the session.
func (b *Binder) Bind(ctx context.Context, s any, query string) (refresh.Bound, error) {
	session, err := b.session(s)
	if err != nil {
		return refresh.Bound{}, err
	}
	bound, err := session.Bind(ctx, query)
	if err != nil {
		return refresh.Bound{}, err
	}
	stored, err := b.sources(ctx, bound.Sources)
	if err != nil {
		return refresh.Bound{}, err
	}
	return boundOf(bound, stored)
}

// boundOf is what is kept of a bound query.
func boundOf(bound *gate.Bound, stored []catalog.Source) (out refresh.Bound, err error) {
	out = refresh.Bound{Query: bound.SQL, TimeZone: bound.TimeZone, Consistent: bound.Consistent, Sources: stored}
	if out.Columns, err = columns(bound.Columns); err != nil {
		return refresh.Bound{}, err
	}
	for _, p := range bound.Pinned {
		name := catalog.Name{Schema: p.Schema, Name: p.Name}
		out.Pinned = append(out.Pinned, catalog.Pinned{Type: string(p.Type), Name: name.String(), SQL: p.SQL})
	}
	return out, nil
}

// columns are the result's, with the types that the lake keeps.
func columns(bound []gate.Column) ([]catalog.Column, error) {
	out := make([]catalog.Column, len(bound))
	for i, c := range bound {
		if why, instead := unkept(c); why != "" {
			return nil, fault.UnstableType.Newf("column %q has the type %s, which a view does not keep unchanged: %s", c.Name, c.Type, why).
				WithHint("%s", instead)
		}
		out[i] = catalog.Column{Name: c.Name, Type: c.LakeType}
	}
	return out, nil
}

// unkept says why a view cannot have a column of the type.
func unkept(c gate.Column) (why, instead string) {
	if c.LakeType == "" {
		return types.Why(c.Type)
	}
	if t, err := row.ParseType(c.LakeType); err == nil && hasGeometry(t) {
		return "the statistics of its files are not written for views", "cast it to VARCHAR, or let the view have what is computed from it"
	}
	return "", ""
}

func hasGeometry(t row.Type) bool {
	return t.Kind == row.Geometry || slices.ContainsFunc(t.Children, hasGeometry)
}

// sources adds to the bound names what survives a rename: the ids of tables and columns.
func (b *Binder) sources(ctx context.Context, bound []gate.Source) ([]catalog.Source, error) {
	var out []catalog.Source
	err := b.Lake.Store().View(ctx, func(tx metadata.Tx) error {
		out = nil
		for _, src := range bound {
			t, found, err := metadata.TableByID(ctx, tx, src.ID, 0)
			if err != nil {
				return err
			}
			if !found || t.UUID != src.UUID {
				return fault.CommitConflict.Newf("table %s.%s was dropped while the query was bound", src.Schema, src.Name)
			}
			s := catalog.Source{UUID: t.UUID, Name: catalog.Name{Schema: t.Schema, Name: t.Name}}
			for _, name := range src.Columns {
				c, ok := t.Column(name)
				if !ok {
					return fmt.Errorf("bind: table %s.%s has no column %q", t.Schema, t.Name, name)
				}
				s.Columns = append(s.Columns, catalog.Column{ID: c.ID, Name: c.Name, Type: c.SQLType()})
			}
			out = append(out, s)
		}
		return nil
	})
	return out, err
}

// Parse gives DuckDB's parse tree of a query.
func (b *Binder) Parse(ctx context.Context, sql string) (string, error) {
	conn, release, err := b.Lake.Acquire(ctx, ducklake.Aside(""))
	if err != nil {
		return "", err
	}
	defer release()
	rows, err := conn.Rows(ctx, `SELECT json_serialize_sql(?::VARCHAR)`, sql)
	if err != nil {
		return "", err
	}
	text, ok := rows[0][0].(string)
	if !ok {
		return "", fmt.Errorf("bind: the parse tree is %T", rows[0][0])
	}
	return text, nil
}
