package catalog

import (
	"slices"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/ddl"
)

// Kind is the materialization model of a view.
type Kind string

// The two kinds.
const (
	Traditional Kind = "traditional"
	Streaming   Kind = "streaming"
)

// State is where a view stands for its readers.
type State string

// The states.
const (
	NotPopulated State = "NOT_POPULATED"         // a traditional view that was never refreshed: it cannot be read
	NotReady     State = "NOT_READY"             // a streaming view without its first complete content: it cannot be read
	Ready        State = "READY"                 // a complete generation is served
	Unadopted    State = "UNADOPTED"             // a comment defines it, no administrator does
	Altered      State = "ALTERED"               // another program changed the table's columns: it is served and not refreshed
	TableGone    State = "TABLE_GONE"            // another program dropped the table
	TooNew       State = "DEFINITION_TOO_NEW"    // written by a newer server
	Unreadable   State = "DEFINITION_UNREADABLE" // the stored definition is damaged
)

// Name is where a table is in its lake.
type Name struct{ Schema, Name string }

// String prints the name with DuckDB's quoting.
func (n Name) String() string { return ddl.Name{Schema: n.Schema, Name: n.Name}.String() }

// Column is one column of a table.
type Column struct {
	ID   int64 // the lake's column id: what a rename keeps
	Name string
	Type string // SQL type
}

// Table is what the lake says about a table.
type Table struct {
	ID      int64
	UUID    string
	Name    Name
	Columns []Column
	Comment string
}

// Row is what this server keeps about a view beside the lake's own record.
type Row struct {
	UUID       string // of the table
	Kind       Kind
	Owner      string // principal
	Definition string // the envelope's text; the table's comment is a copy of it
	Hash       string // HashDefinition(Definition)
	Name       Name   // where the table was when the row was written; the lake knows where it is
	CreatedAt  time.Time
	Sources    []Source
	Columns    []Column // of the table, as the view has them; nil when they were not noted yet
	Revision   int64    // grows with every change of the row
}

// Source is a table or view that a view reads, as it was when its query was last bound.
type Source struct {
	UUID    string
	Name    Name
	Columns []Column // the columns the query uses
}

// Published is what the last publication of a view says.
type Published struct {
	Generation int64 // 0: nothing was ever published
	Epoch      int64
	Snapshot   int64 // the lake snapshot that holds the content
	Rows       int64
	At         time.Time
	CommitID   string
	Frontier   Frontier
}

// View is a view with everything that is known about it.
type View struct {
	Row
	Table     Table      // where it is now; UUID equals Row.UUID
	Def       Definition // the decoded Row.Definition; zero when Problem is set
	Published Published
	Problem   error // DEFINITION_TOO_NEW or DEFINITION_UNREADABLE, else nil
	state     State
}

// Words is what statements call such a view.
func (v *View) Words() string {
	if v.Kind == Streaming {
		return "STREAMING MATERIALIZED VIEW"
	}
	return "MATERIALIZED VIEW"
}

// Name is where the view is now.
func (v *View) Name() Name { return v.Table.Name }

// State says whether the view can be read, and if not, why.
func (v *View) State() State {
	switch {
	case v.state != "":
		return v.state
	case v.Published.Generation == 0 && v.Kind == Streaming:
		return NotReady
	case v.Published.Generation == 0:
		return NotPopulated
	case v.Altered() != nil:
		return Altered
	}
	return Ready
}

// Altered says in what the table's columns are not the view's any more; nil when they are.
func (v *View) Altered() error {
	if v.Row.Columns == nil || SameColumns(v.Row.Columns, v.Table.Columns) {
		return nil
	}
	again := "CREATE OR REPLACE MATERIALIZED VIEW " + v.Name().String()
	if v.Kind == Streaming {
		again = "drop the view and create it again"
	}
	return fault.ViewAltered.Newf("another program changed the columns of view %s from %s to %s", v.Name(), columnList(v.Row.Columns), columnList(v.Table.Columns)).
		WithHint("undo that with ALTER TABLE in the other program, or %s", again)
}

// SameColumns compares names and types, in order. Names are compared as they are spelled.
func SameColumns(a, b []Column) bool {
	return slices.EqualFunc(a, b, func(x, y Column) bool { return x.Name == y.Name && strings.EqualFold(x.Type, y.Type) })
}

func columnList(columns []Column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = ddl.QuoteIdent(c.Name) + " " + c.Type
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// Reads tells whether the view reads the table or view with that uuid directly.
func (v *View) Reads(uuid string) bool {
	for i := range v.Sources {
		if v.Sources[i].UUID == uuid {
			return true
		}
	}
	return false
}

// fold is how the lake compares names.
func (n Name) fold() Name {
	return Name{Schema: strings.ToLower(n.Schema), Name: strings.ToLower(n.Name)}
}
