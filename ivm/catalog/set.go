package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

// Set is all views of a lake at one moment, as Resolve found them.
type Set struct {
	Facts
	Views     []*View // sorted by name; with those whose definition cannot be used
	Unadopted []*View // tables whose comment is a definition that no row answers for
	Gone      []*View // views whose table is gone
	// Repairs are what somebody should do; they are not done yet.
	Repairs Repairs

	byUUID map[string]*View
	byName map[Name]*View
	tables map[Name]*Table
	plain  map[Name]bool
}

// Repairs are differences between the rows and the lake.
type Repairs struct {
	Forget  []string // rows whose table is gone with its schema, or whose name another table has
	Restore []*View  // views whose table has lost its comment, or has another one
}

// Resolve puts the rows, the lake's tables and the published states together.
func Resolve(f Facts) *Set {
	s := &Set{Facts: f, byUUID: map[string]*View{}, byName: map[Name]*View{}, tables: map[Name]*Table{}, plain: map[Name]bool{}}
	rows := make(map[string]Row, len(f.Rows))
	for _, r := range f.Rows {
		rows[r.UUID] = r
	}
	for _, n := range f.PlainViews {
		s.plain[n.fold()] = true
	}
	for i := range f.Tables {
		t := &f.Tables[i]
		s.tables[t.Name.fold()] = t
		row, ours := rows[t.UUID]
		delete(rows, t.UUID)
		switch {
		case ours:
			v := s.view(row, *t)
			s.Views = append(s.Views, v)
			s.byUUID[t.UUID], s.byName[t.Name.fold()] = v, v
			if t.Comment != row.Definition && v.Problem == nil {
				s.Repairs.Restore = append(s.Repairs.Restore, v)
			}
		case LooksLikeDefinition(t.Comment):
			s.Unadopted = append(s.Unadopted, unadopted(*t))
		}
	}
	for uuid, row := range rows {
		known := slices.ContainsFunc(f.Schemas, func(schema string) bool { return strings.EqualFold(schema, row.Name.Schema) })
		if !known || s.tables[row.Name.fold()] != nil {
			s.Repairs.Forget = append(s.Repairs.Forget, uuid)
			continue
		}
		v := s.view(row, Table{UUID: uuid, Name: row.Name})
		v.state = TableGone
		s.Gone = append(s.Gone, v)
	}
	slices.SortFunc(s.Gone, byName)
	slices.Sort(s.Repairs.Forget)
	slices.SortFunc(s.Views, byName)
	slices.SortFunc(s.Unadopted, byName)
	slices.SortFunc(s.Repairs.Restore, byName)
	return s
}

func byName(a, b *View) int {
	return cmp.Or(cmp.Compare(a.Table.Name.Schema, b.Table.Name.Schema), cmp.Compare(a.Table.Name.Name, b.Table.Name.Name))
}

func (s *Set) view(row Row, t Table) *View {
	v := &View{Row: row, Table: t, Published: s.Published[t.UUID]}
	if HashDefinition(row.Definition) != row.Hash {
		v.Problem = fault.DefinitionInvalid.Newf("the definition of view %s does not have the hash that was recorded for it", t.Name)
	} else if d, err := Decode(row.Definition); err != nil {
		v.Problem = err
	} else {
		v.Def = d
	}
	switch fault.CodeOf(v.Problem) {
	case nil:
	case fault.DefinitionTooNew:
		v.state = TooNew
	default:
		v.state = Unreadable
	}
	return v
}

// unadopted is a table that would be a view if somebody vouched for its comment.
func unadopted(t Table) *View {
	v := &View{Table: t, state: Unadopted}
	v.Row = Row{UUID: t.UUID, Kind: Traditional, Definition: t.Comment, Hash: HashDefinition(t.Comment), Name: t.Name}
	if d, err := Decode(t.Comment); err != nil {
		v.Problem = err
	} else {
		v.Def, v.Kind = d, d.Kind
	}
	return v
}

// ByUUID finds a view by its table's uuid, or nil.
func (s *Set) ByUUID(uuid string) *View { return s.byUUID[uuid] }

// Find finds a view by where it is now, or nil.
func (s *Set) Find(n Name) *View { return s.byName[n.fold()] }

// TableAt finds a lake table, view or not, or nil.
func (s *Set) TableAt(n Name) *Table { return s.tables[n.fold()] }

// Lookup finds the view that a statement names, or says what is there instead.
func (s *Set) Lookup(n Name) (*View, error) {
	if v := s.Find(n); v != nil {
		return v, nil
	}
	for _, v := range s.Unadopted {
		if v.Table.Name.fold() == n.fold() {
			return nil, fault.ViewUnadopted.Newf("table %s carries the definition of a materialized view, and nobody vouches for it", v.Table.Name).
				WithHint("an administrator makes it a view again with ALTER %s %s OWNER TO role", v.Words(), v.Table.Name)
		}
	}
	if v := s.FindGone(n); v != nil {
		return nil, fault.ViewTableGone.Newf("another program dropped the table of view %s", v.Name()).
			WithHint("create the view again, or DROP %s %s", v.Words(), v.Name())
	}
	switch {
	case s.TableAt(n) != nil:
		return nil, fault.NotAView.Newf("%s is a table, not a materialized view", n)
	case s.plain[n.fold()]:
		return nil, fault.NotAView.Newf("%s is a plain view, not a materialized view", n)
	}
	return nil, fault.ViewNotFound.Newf("there is no materialized view %s", n).WithHint("SHOW MATERIALIZED VIEWS and SHOW STREAMING MATERIALIZED VIEWS list them")
}

// FindUnadopted finds a table with an unadopted definition, or nil.
func (s *Set) FindUnadopted(n Name) *View {
	for _, v := range s.Unadopted {
		if v.Table.Name.fold() == n.fold() {
			return v
		}
	}
	return nil
}

// FindGone finds a view whose table is gone, or nil.
func (s *Set) FindGone(n Name) *View {
	for _, v := range s.Gone {
		if v.Table.Name.fold() == n.fold() {
			return v
		}
	}
	return nil
}

// Free says why the name cannot be given to a new view; nil when it can.
func (s *Set) Free(n Name) error {
	switch {
	case s.Find(n) != nil:
		return fault.ViewExists.Newf("there is a materialized view %s already", n)
	case s.TableAt(n) != nil:
		return fault.ObjectExists.Newf("there is a table %s already", n)
	case s.plain[n.fold()]:
		return fault.ObjectExists.Newf("there is a plain view %s already", n)
	}
	return nil
}
