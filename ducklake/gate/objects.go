package gate

import "context"

// Lake is where the gate reads what to mirror.
type Lake interface {
	// Objects returns what the lake holds at its newest snapshot, or nil when its schema version is still have.
	Objects(ctx context.Context, have int64) (*Objects, error)
}

// Objects is a lake's catalog at one schema version.
type Objects struct {
	SchemaVersion int64
	Schemas       []string
	Tables        []Table
	Views         []View
	Macros        []Macro
}

// Table is one lake table.
type Table struct {
	ID           int64
	UUID         string
	Schema, Name string
	Columns      []TableColumn
}

// TableColumn is one column of a lake table, its type in DuckDB's words.
type TableColumn struct {
	Name    string
	Type    string
	NotNull bool
	Default string // a SQL expression, "" for none
}

// View is one plain view of the lake.
type View struct {
	ID           int64
	UUID         string
	Schema, Name string
	SQL          string   // the query
	Aliases      []string // the column names of CREATE VIEW v (a, b), or none
}

// Macro is one macro of the lake with its overloads.
type Macro struct {
	Schema, Name string
	Overloads    []MacroOverload
}

// MacroOverload is one body of a macro.
type MacroOverload struct {
	Table  bool // a table macro: SQL is a query; otherwise an expression
	Params []MacroParam
	SQL    string
}

// MacroParam is one parameter of a macro.
type MacroParam struct {
	Name    string
	Type    string // "" for any
	Default string // a SQL expression, "" for none
}
