package refresh

import (
	"strings"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
)

// Reading is a source as the query's text names it and as it is now.
type Reading struct {
	Source catalog.Source // names as in the query's text, identity as it is now
	Now    catalog.Name
	At     int64 // the snapshot at which this source is read in place of the others'; 0: as they are
	// Columns has, for each used column that has another name now, text name → present name.
	Renamed map[string]string
}

// Moved says that the text does not fit the table any more.
func (r Reading) Moved() bool { return r.Source.Name != r.Now || len(r.Renamed) > 0 }

// Follow finds the sources among the tables of a snapshot: by uuid and column id; a table that is gone may have been made again under the
// same name with equal columns. changed tells that an identity is another one than before.
func Follow(view catalog.Name, sources []catalog.Source, tables []catalog.Table) (reads []Reading, changed bool, err error) {
	byUUID := make(map[string]*catalog.Table, len(tables))
	byName := make(map[catalog.Name]*catalog.Table, len(tables))
	for i := range tables {
		t := &tables[i]
		byUUID[t.UUID] = t
		byName[fold(t.Name)] = t
	}
	for _, s := range sources {
		if t := byUUID[s.UUID]; t != nil {
			r, err := follow(view, s, t)
			if err != nil {
				return nil, false, err
			}
			reads = append(reads, r)
			continue
		}
		t := byName[fold(s.Name)]
		if t == nil {
			return nil, false, fault.SourceChanged.Newf("source table %s of view %s does not exist", s.Name, view).
				WithHint("make the table again with the same columns, or replace the view")
		}
		r, err := remade(view, s, t)
		if err != nil {
			return nil, false, err
		}
		reads, changed = append(reads, r), true
	}
	return reads, changed, nil
}

// fold is how the lake compares names.
func fold(n catalog.Name) catalog.Name {
	return catalog.Name{Schema: strings.ToLower(n.Schema), Name: strings.ToLower(n.Name)}
}

func follow(view catalog.Name, s catalog.Source, t *catalog.Table) (Reading, error) {
	r := Reading{Source: s, Now: t.Name}
	for _, used := range s.Columns {
		now, ok := columnByID(t, used.ID)
		if !ok {
			return r, fault.SourceChanged.Newf("column %q of source table %s, which view %s uses, was dropped", used.Name, t.Name, view).
				WithHint("replace the view, or add the column under the table again and replace the view")
		}
		if err := sameType(view, t, used, now); err != nil {
			return r, err
		}
		if now.Name != used.Name {
			if r.Renamed == nil {
				r.Renamed = map[string]string{}
			}
			r.Renamed[used.Name] = now.Name
		}
	}
	return r, nil
}

func remade(view catalog.Name, s catalog.Source, t *catalog.Table) (Reading, error) {
	r := Reading{Source: s, Now: t.Name}
	r.Source.UUID = t.UUID
	r.Source.Columns = make([]catalog.Column, len(s.Columns))
	for i, used := range s.Columns {
		now, ok := columnByName(t, used.Name)
		if !ok {
			return r, fault.SourceChanged.Newf("source table %s of view %s was made again without column %q", t.Name, view, used.Name).
				WithHint("replace the view")
		}
		if err := sameType(view, t, used, now); err != nil {
			return r, err
		}
		r.Source.Columns[i] = catalog.Column{ID: now.ID, Name: used.Name, Type: used.Type}
	}
	return r, nil
}

func sameType(view catalog.Name, t *catalog.Table, used, now catalog.Column) error {
	if strings.EqualFold(used.Type, now.Type) {
		return nil
	}
	return fault.SourceChanged.Newf("column %q of source table %s, which view %s uses, was %s and is %s now", now.Name, t.Name, view, used.Type, now.Type).
		WithHint("replace the view")
}

func columnByID(t *catalog.Table, id int64) (catalog.Column, bool) {
	for _, c := range t.Columns {
		if c.ID == id {
			return c, true
		}
	}
	return catalog.Column{}, false
}

func columnByName(t *catalog.Table, name string) (catalog.Column, bool) {
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return catalog.Column{}, false
}
