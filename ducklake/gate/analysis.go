package gate

// TableRef names a table or view by where it is, and by what it is when it is one of the lake's tables.
type TableRef struct {
	Catalog string // the lake's name, "vega", or "temp"
	Schema  string
	Name    string
	ID      int64  // the lake's table id, 0 for anything but a lake table
	UUID    string // "" for anything but a lake table
}

// ObjectType is the sort of catalog object a DDL statement makes, drops, alters or comments on.
type ObjectType string

// The object types of a lake.
const (
	TableObject      ObjectType = "table"
	ViewObject       ObjectType = "view"
	SchemaObject     ObjectType = "schema"
	ScalarMacro      ObjectType = "macro"
	TableMacroObject ObjectType = "table macro"
)

// ObjectRef is an object of a DDL statement. A schema has its name in Schema and Name empty.
type ObjectRef struct {
	Type ObjectType
	TableRef
	Exists   bool   // the object exists at the analysed schema version
	IfExists bool   // IF EXISTS was said, or IF NOT EXISTS for what is created
	Replace  bool   // OR REPLACE was said
	Cascade  bool   // CASCADE was said
	Column   string // the column of COMMENT ON COLUMN
	Renamed  string // the new name of ALTER … RENAME TO
}

// Column is one column of a result.
type Column struct {
	Name     string
	Type     string // the SQL type the statement gives
	LakeType string // the type a lake table keeps it as; "" when the lake has no type that keeps its values
}

// Param is one parameter of a prepared statement.
type Param struct {
	Name string // "1", "2", … for positional ones
	Type string // SQL type, "" when it is not known before a value is bound
}

// EffectKind is what a statement changes in its session and nowhere else.
type EffectKind int

// The effects a statement can have on its session.
const (
	UseSchema   EffectKind = iota + 1 // Catalog and Schema become the search path
	SetOption                         // Option gets Value
	ResetOption                       // Option goes back to its default
	SetVariable                       // a SQL variable is set; run the statement on the session's own connection
	TempDDL                           // a temporary object is made, altered or dropped; run it, then call Applied
)

// SessionEffect is set for statements that change their session. UseSchema, SetOption and ResetOption
// are for the session layer to apply; the statement itself is not to be run.
type SessionEffect struct {
	Kind            EffectKind
	Catalog, Schema string
	Option          string // lower case, e.g. "timezone", "vega.accept_stale"
	Value           any    // string, bool, int64, float64
}

// Analysis is an admitted statement: what it is, what it reads and writes, what it gives. It is shared between
// sessions and must not be changed.
type Analysis struct {
	SQL  string // the text to run: the user's own without semicolons, as admitted
	Kind Kind
	// Inner is the kind of the explained statement when Kind is Explain; otherwise it equals Kind.
	Inner Kind
	// Execute says that the statement runs; it does not when it is explained without ANALYZE.
	Execute bool

	Reads  []TableRef // tables, with views expanded to their tables; also the vega.* and temporary ones
	Writes []TableRef // tables whose rows the statement changes
	// Creates, Drops and Alters are the objects of DDL statements; COMMENT and ALTER go to Alters.
	Creates, Drops, Alters []ObjectRef
	AtClauses              []string // the text's AT (VERSION => …) clauses, as written

	ReadOnly    bool     // changes neither the lake nor the session
	DDL         bool     // changes the lake's schema: runs as a single autocommitted statement
	TouchesTemp bool     // needs the session's own connection: temporary objects, variables
	Functions   []string // lower-case names of the functions that the text names

	// Columns are the result's; of CREATE TABLE and ALTER TABLE … ADD or SET TYPE, the columns that get a type.
	Columns []Column
	// Query is the query of CREATE TABLE AS, as written; the session layer fills the table from it.
	Query  string
	Names  []string // the column names of CREATE TABLE t (a, b) AS, or none
	NoData bool     // CREATE TABLE … AS … WITH NO DATA
	Params []Param
	Effect *SessionEffect

	// SchemaVersion is the lake's schema version the statement was analysed at.
	SchemaVersion int64

	returns bool
	steady  bool   // of an UPDATE or DELETE with parameters: its functions are DuckDB's own, take columns, and none is volatile; rowid is what the lake gives
	replay  string // a temporary object's DDL, for the shadow
}

// Returns says that running the statement gives rows of its own: a query, or DML with RETURNING.
func (a *Analysis) Returns() bool { return a.returns }
