package gate

// Kind is the kind of a statement.
type Kind int

// The kinds of statements that are recognised.
const (
	Unknown  Kind = iota
	Select        // also WITH, FROM, VALUES, TABLE, PIVOT, UNPIVOT, SUMMARIZE
	Describe      // DESCRIBE, SHOW
	Explain
	Insert
	Update
	Delete
	Merge
	Truncate
	CreateTable
	CreateTableAs
	CreateView
	CreateSchema
	CreateMacro
	Drop
	Alter
	Comment
	Use
	Set
	Reset
	Begin
	Commit
	Rollback
)

var kindNames = [...]string{
	Unknown: "statement", Select: "SELECT", Describe: "DESCRIBE", Explain: "EXPLAIN", Insert: "INSERT", Update: "UPDATE",
	Delete: "DELETE", Merge: "MERGE", Truncate: "TRUNCATE", CreateTable: "CREATE TABLE", CreateTableAs: "CREATE TABLE AS",
	CreateView: "CREATE VIEW", CreateSchema: "CREATE SCHEMA", CreateMacro: "CREATE MACRO", Drop: "DROP", Alter: "ALTER",
	Comment: "COMMENT", Use: "USE", Set: "SET", Reset: "RESET", Begin: "BEGIN", Commit: "COMMIT", Rollback: "ROLLBACK",
}

// String is the kind's head in capitals.
func (k Kind) String() string { return kindNames[k] }

// DML says that the kind changes rows.
func (k Kind) DML() bool {
	return k == Insert || k == Update || k == Delete || k == Merge || k == Truncate
}

// DDL says that the kind changes schemas.
func (k Kind) DDL() bool { return k >= CreateTable && k <= Comment }

// Transaction says that the kind is for the session's transaction: BEGIN, COMMIT, ROLLBACK.
func (k Kind) Transaction() bool { return k >= Begin && k <= Rollback }
