package gate

import (
	"errors"
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

// tempCatalog is DuckDB's catalog of a connection's temporary objects.
const tempCatalog = "temp"

// table makes a reference of a name that a plan scans, and refuses what users may not read.
func (x *analyzer) table(parts []string) (TableRef, error) {
	ref := TableRef{Catalog: parts[0], Schema: parts[1], Name: parts[2]}
	switch lower(parts[0]) {
	case lower(x.gate.config.Lake):
		t := x.inst.mirror.tables[keyOf(ref.Schema, ref.Name)]
		if t == nil {
			return ref, fault.InternalError.Newf("the shadow has a table %s.%s that the lake has not", ref.Schema, ref.Name)
		}
		if fileLike(t.Name) {
			return ref, fault.StatementForbidden.Newf("table %s cannot be read: its name looks like a file's", t.Name)
		}
		return t.ref(x.gate.config.Lake), nil
	case tempCatalog:
		if fileLike(ref.Name) {
			return ref, fault.StatementForbidden.Newf("temporary table %s cannot be read: its name looks like a file's", ref.Name)
		}
		return ref, nil
	case vegaCatalog:
		return ref, nil
	}
	if why, name := x.brokenName(); why != "" {
		return ref, fault.StatementForbidden.Newf("%s cannot be used: %s", name, why)
	}
	return ref, fault.StatementForbidden.Newf("%s is not a table of the lake", strings.Join(parts, "."))
}

func (t *Table) ref(lake string) TableRef {
	return TableRef{Catalog: lake, Schema: t.Schema, Name: t.Name, ID: t.ID, UUID: t.UUID}
}

// brokenName finds the unusable object that the text may have meant.
func (x *analyzer) brokenName() (why, name string) {
	for _, t := range x.toks {
		if !t.name() {
			continue
		}
		for k, why := range x.inst.mirror.broken {
			if k.name == t.lower {
				return why, t.text
			}
		}
	}
	// A view may read an unusable one.
	for _, t := range x.toks {
		for k := range x.inst.mirror.views {
			if !t.name() || k.name != t.lower {
				continue
			}
			inner, _, err := scan(x.inst.mirror.views[k].SQL)
			if err != nil {
				continue
			}
			for _, i := range inner {
				for b, why := range x.inst.mirror.broken {
					if i.name() && b.name == i.lower {
						return why, t.text
					}
				}
			}
		}
	}
	return "", ""
}

// resolve finds the table that a name means, by DuckDB's own look-up.
func (x *analyzer) resolve(name []token) (TableRef, error) {
	parts := make([]string, len(name))
	for i, t := range name {
		parts[i] = ident(t.text)
	}
	scans, _, err := explain(x.ctx, x.conn, "FROM "+strings.Join(parts, "."), 0)
	if err != nil {
		err = refused(err, 0)
		if f := new(fault.Error); errors.As(err, &f) {
			f.Position = name[0].start
		}
		return TableRef{}, err
	}
	if len(scans) != 1 || scans[0].table == nil {
		return TableRef{}, fault.SQLError.Newf("%s is not a table", name[len(name)-1].text).At(name[0].start)
	}
	return x.table(scans[0].table)
}

// place says where a name of an object to be made lies, or of one that may exist. Lookups of existing objects
// follow DuckDB: the temporary ones, then the session's schema, then main.
func (x *analyzer) place(name []token, temp bool, exists func(ref TableRef) bool) (TableRef, error) {
	lake := x.gate.config.Lake
	last := name[len(name)-1].text
	here := TableRef{Catalog: lake, Schema: x.env.Schema, Name: last}
	inTemp := TableRef{Catalog: tempCatalog, Schema: "main", Name: last}
	if temp {
		// DuckDB takes CREATE TEMP … main.x for temp.main.x.
		if q := name[0].lower; len(name) == 1 || q == tempCatalog || len(name) == 2 && q == "main" {
			return inTemp, nil
		}
		return inTemp, fault.StatementForbidden.Newf("temporary objects lie in temp.main").At(name[0].start)
	}
	switch len(name) {
	case 1:
		if exists != nil {
			for _, ref := range []TableRef{inTemp, here, {Catalog: lake, Schema: "main", Name: last}} {
				if exists(ref) {
					return ref, nil
				}
			}
		}
		return here, nil
	case 2:
		switch first := name[0].lower; {
		case first == tempCatalog:
			return inTemp, nil
		case first == lower(lake):
			return here, nil
		case takenSchema[first]:
			return here, x.foreign(name[0])
		}
		here.Schema = x.schemaName(name[0].text)
		return here, nil
	}
	switch first := name[0].lower; first {
	case tempCatalog:
		return inTemp, nil
	case lower(lake):
		here.Schema = x.schemaName(name[1].text)
		return here, nil
	}
	return here, x.foreign(name[0])
}

func (x *analyzer) foreign(t token) error {
	if t.lower == vegaCatalog {
		return fault.ReservedName.Newf("the catalog %s belongs to the server", vegaCatalog).At(t.start)
	}
	return fault.StatementForbidden.Newf("objects are made in the lake or as temporary ones, not in %s", t.text).At(t.start)
}

// schemaName is the schema's name as the lake spells it, or as given.
func (x *analyzer) schemaName(name string) string {
	if s := x.inst.mirror.schemas[lower(name)]; s != "" {
		return s
	}
	return name
}
