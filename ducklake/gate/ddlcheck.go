package gate

import (
	"context"
	"errors"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
)

// ddl finds the object of a DDL statement and what becomes of it.
func (x *analyzer) ddl() error {
	a, st := x.a, x.st
	ref, err := x.object()
	if err != nil {
		return err
	}
	temp := ref.Catalog == tempCatalog
	switch {
	case temp && a.Kind != Comment:
		a.TouchesTemp, a.Effect = true, &SessionEffect{Kind: TempDDL}
	case temp:
		return fault.StatementForbidden.Newf("temporary objects have no comments").At(st.target[0].start)
	default:
		a.DDL = true
	}
	switch a.Kind {
	case Drop:
		a.Drops = []ObjectRef{ref}
	case Alter, Comment:
		a.Alters = []ObjectRef{ref}
	default:
		a.Creates = []ObjectRef{ref}
	}
	if err := x.checkName(ref); err != nil {
		return err
	}
	if err := x.typed(ref); err != nil {
		return err
	}
	if temp {
		a.replay = x.shadow
		if a.Kind == CreateTableAs {
			head := "CREATE TEMP TABLE "
			if st.replace {
				head = "CREATE OR REPLACE TEMP TABLE "
			} else if st.ifExists {
				head += "IF NOT EXISTS "
			}
			a.replay = tempTable(head+ident(ref.Name), a.Columns)
		}
	}
	return nil
}

// object says which object the statement is about.
func (x *analyzer) object() (ObjectRef, error) {
	st, m := x.st, x.inst.mirror
	ref := ObjectRef{Type: st.object, IfExists: st.ifExists, Replace: st.replace, Cascade: st.cascade, Column: st.column, Renamed: st.renamed}
	if st.object == SchemaObject {
		return ref, x.schemaObject(&ref)
	}
	making := x.a.Kind == CreateTable || x.a.Kind == CreateTableAs || x.a.Kind == CreateView || x.a.Kind == CreateMacro
	lookup := x.has
	if making {
		lookup = nil
	}
	place, err := x.place(st.target, making && st.temp, lookup)
	if err != nil {
		return ref, err
	}
	ref.TableRef = place
	if place.Catalog == tempCatalog {
		ref.Exists = x.has(place)
		return ref, nil
	}
	k := keyOf(place.Schema, place.Name)
	switch t, v, f := m.tables[k], m.views[k], m.macros[k]; {
	case st.object == ScalarMacro || st.object == TableMacroObject:
		if f != nil {
			ref.Exists, ref.Schema, ref.Name = true, f.Schema, f.Name
		}
	case t != nil:
		ref.Exists, ref.TableRef = true, t.ref(x.gate.config.Lake)
		ref.Type = TableObject
	case v != nil:
		ref.Exists, ref.Schema, ref.Name, ref.UUID = true, v.Schema, v.Name, v.UUID
		ref.Type = ViewObject
	}
	if making {
		ref.Type = st.object
	}
	return ref, nil
}

func (x *analyzer) schemaObject(ref *ObjectRef) error {
	st, lake := x.st, x.gate.config.Lake
	last := st.target[len(st.target)-1]
	if len(st.target) > 2 || len(st.target) == 2 && st.target[0].lower != lower(lake) {
		return x.foreign(st.target[0])
	}
	if x.a.Kind == Drop && last.lower == mainSchema {
		return fault.StatementForbidden.Newf("the schema %s cannot be dropped: every session begins in it", mainSchema).At(last.start).
			WithHint("drop its tables and views")
	}
	ref.TableRef = TableRef{Catalog: lake, Schema: x.schemaName(last.text)}
	ref.Exists = x.inst.mirror.schemas[last.lower] != ""
	return nil
}

// has says that a table, view or macro of that place exists, whichever the statement is about.
func (x *analyzer) has(ref TableRef) bool {
	macro := x.st.object == ScalarMacro || x.st.object == TableMacroObject
	if ref.Catalog == tempCatalog {
		name := lower(ref.Name)
		if macro {
			name += "("
		}
		return x.temp[name] != ""
	}
	m, k := x.inst.mirror, keyOf(ref.Schema, ref.Name)
	if macro {
		return m.macros[k] != nil
	}
	return m.tables[k] != nil || m.views[k] != nil
}

// checkName refuses new names that would mean something else somewhere.
func (x *analyzer) checkName(ref ObjectRef) error {
	st := x.st
	at := st.target[len(st.target)-1].start
	name := ref.Name
	switch {
	case x.a.Kind == Drop || x.a.Kind == Comment || x.a.Kind == Alter && st.renamed == "":
		return nil
	case st.renamed != "":
		name = st.renamed
	}
	switch st.object {
	case SchemaObject:
		if takenSchema[lower(ref.Schema)] || lower(ref.Schema) == lower(x.gate.config.Lake) {
			return fault.ReservedName.Newf("a schema cannot be called %s", ref.Schema).At(at)
		}
		if f := new(fault.Error); errors.As(oneLine(ref.Schema), &f) {
			return f.At(at)
		}
	case ScalarMacro, TableMacroObject:
		if reservedName[lower(name)] {
			return fault.ReservedName.Newf("%s is a function of every lake", name).At(at)
		}
		if ref.Catalog != tempCatalog && x.gate.functions[lower(name)] != "" {
			// It would be called in its place by everybody who works in that schema; operators are functions too.
			return fault.ReservedName.Newf("%s is a function or an operator of DuckDB", name).At(at).
				WithHint("give the macro another name, or make it for this session: CREATE TEMP MACRO")
		}
	default:
		err := CheckTableName(name)
		if f := new(fault.Error); errors.As(err, &f) {
			return f.At(at)
		}
		return err
	}
	return nil
}

// typed finds the columns that get a type by the statement.
func (x *analyzer) typed(ref ObjectRef) error {
	a, st := x.a, x.st
	switch {
	case a.Kind == CreateTableAs:
		query := x.toks[st.queryFrom:st.queryTo]
		from, to := query[0].start, query[len(query)-1].end
		a.Query, a.NoData, a.Names = x.text[from:to], st.noData, st.columns
		stmt, err := x.conn.Prepare(x.ctx, x.shadow[from:to])
		if err != nil {
			return x.refused(err)
		}
		a.Columns = nil
		for i, c := range stmt.Columns() {
			if i < len(st.columns) {
				c.Name = st.columns[i]
			}
			a.Columns = append(a.Columns, column(c))
		}
		return stmt.Close()
	case a.Kind == CreateTable && ref.Catalog == tempCatalog:
		a.Columns = nil
		return nil
	case a.Kind == CreateTable:
		columns, err := x.try(ref.TableRef)
		a.Columns = columns
		return err
	case a.Kind == Alter && st.retypes && ref.Catalog != tempCatalog && ref.Exists:
		columns, err := x.try(ref.TableRef)
		a.Columns = nil
		was := map[Column]bool{}
		if t := x.inst.mirror.tables[keyOf(ref.Schema, ref.Name)]; t != nil {
			for _, c := range t.Columns {
				was[column(duck.Column{Name: c.Name, Type: c.Type})] = true
			}
		}
		for _, c := range columns {
			if !was[c] {
				a.Columns = append(a.Columns, c)
			}
		}
		return err
	}
	a.Columns = nil
	return nil
}

// try runs DDL in a transaction of the shadow that is rolled back, and gives the columns that the table then has.
func (x *analyzer) try(ref TableRef) (columns []Column, err error) {
	if err := x.inst.probe(x.ctx, x.gate.patience); err != nil {
		return nil, err
	}
	defer x.inst.probed()
	conn := x.inst.prober
	if err := conn.Settle(x.ctx); err != nil { // an end that failed for want of memory
		return nil, refused(err, 0)
	}
	for _, sql := range []string{"USE " + ident(x.gate.config.Lake) + "." + ident(x.env.Schema), "BEGIN"} {
		if _, err := conn.Exec(context.WithoutCancel(x.ctx), sql); err != nil {
			return nil, refused(err, 0)
		}
	}
	defer func() {
		_, end := conn.Exec(context.WithoutCancel(x.ctx), "ROLLBACK")
		err = errors.Join(err, end)
	}()
	if _, err := conn.Exec(x.ctx, x.shadow); err != nil {
		return nil, refused(err, 0)
	}
	rows, err := conn.Rows(x.ctx, "DESCRIBE "+ident(ref.Catalog)+"."+ident(ref.Schema)+"."+ident(ref.Name))
	if err != nil {
		return nil, refused(err, 0)
	}
	for _, r := range rows {
		name, _ := r[0].(string)
		typ, _ := r[1].(string)
		columns = append(columns, column(duck.Column{Name: name, Type: typ}))
	}
	return columns, nil
}
