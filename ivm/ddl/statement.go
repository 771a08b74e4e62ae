package ddl

import (
	"strings"
)

// Item is one statement of a text.
type Item struct {
	Offset int       // byte offset of Text in the text given to Parse
	Text   string    // from the first token to the last, without the semicolon
	Stmt   Statement // nil: a statement of DuckDB's own
}

// Statement is one of our statements. The concrete types are the pointers to
// the structs of this file.
type Statement interface {
	// String prints the statement canonically; parsing that gives an equal statement.
	String() string
	// Verb names the statement for messages and logs, such as "REFRESH MATERIALIZED VIEW".
	Verb() string
	statement()
}

// Name is a qualified name; leading parts that were not written are empty.
type Name struct{ Catalog, Schema, Name string }

// SchemaName is a name of a schema, as SHOW … IN takes it.
type SchemaName struct{ Catalog, Schema string }

// CreateView is CREATE [OR REPLACE] [STREAMING] MATERIALIZED VIEW.
type CreateView struct {
	Streaming   bool
	Replace     bool
	IfNotExists bool
	Name        Name
	NameOffset  int
	Columns     []string // nil when no list was written
	Options     Options
	Query       string // exact text, without the data clause
	QueryOffset int
	NoData      bool
}

// Refresh is REFRESH MATERIALIZED VIEW.
type Refresh struct {
	Name       Name
	NameOffset int
	Options    Options // wait, full, source_version
}

// AlterSet is ALTER … SET (option = value, …).
type AlterSet struct {
	Streaming  bool
	Name       Name
	NameOffset int
	Options    Options
}

// AlterReset is ALTER … RESET (option, …).
type AlterReset struct {
	Streaming  bool
	Name       Name
	NameOffset int
	Names      []string
}

// AlterRename is ALTER … RENAME TO; a view stays in its schema.
type AlterRename struct {
	Streaming  bool
	Name       Name
	NameOffset int
	NewName    string
	NewOffset  int
}

// AlterOwner is ALTER … OWNER TO. On a table whose definition nobody adopted
// it is also the adoption.
type AlterOwner struct {
	Streaming  bool
	Name       Name
	NameOffset int
	Owner      string
}

// Action is what AlterRun asks of a streaming view.
type Action string

// The actions of a streaming view's life.
const (
	Pause   Action = "PAUSE"
	Resume  Action = "RESUME"
	Restart Action = "RESTART"
)

// AlterRun is ALTER STREAMING … PAUSE, RESUME or RESTART.
type AlterRun struct {
	Name       Name
	NameOffset int
	Action     Action
}

// Rebuild is ALTER STREAMING … REBUILD.
type Rebuild struct {
	Name       Name
	NameOffset int
	Options    Options // initial_mode
}

// DropView is DROP [STREAMING] MATERIALIZED VIEW. Without CASCADE it restricts.
type DropView struct {
	Streaming  bool
	IfExists   bool
	Name       Name
	NameOffset int
	Cascade    bool
}

// ShowViews is SHOW [STREAMING] MATERIALIZED VIEWS.
type ShowViews struct {
	Streaming bool
	In        *SchemaName // nil: every schema
	InOffset  int
}

// ShowView is SHOW [STREAMING] MATERIALIZED VIEW name.
type ShowView struct {
	Streaming  bool
	Name       Name
	NameOffset int
}

// ShowCreate is SHOW CREATE [STREAMING] MATERIALIZED VIEW name.
type ShowCreate struct {
	Streaming  bool
	Name       Name
	NameOffset int
}

// ExplainStreaming is EXPLAIN STREAMING [(FORMAT rows | text | json)] query.
type ExplainStreaming struct {
	Format      ExplainFormat
	Query       string
	QueryOffset int
}

// ExplainFormat is the form of an explanation.
type ExplainFormat string

// The forms: a row for each operator, or all of it as one text.
const (
	ExplainRows ExplainFormat = ""
	ExplainText ExplainFormat = "text"
	ExplainJSON ExplainFormat = "json"
)

// ExplainAnalyze is EXPLAIN STREAMING ANALYZE name.
type ExplainAnalyze struct {
	Name       Name
	NameOffset int
}

// Subscribe is SUBSCRIBE TO name.
type Subscribe struct {
	Name       Name
	NameOffset int
	Options    Options // snapshot, progress, mode, as_of, up_to
}

// ShowJobs is SHOW JOBS.
type ShowJobs struct {
	View       *Name // nil: jobs of every view
	NameOffset int
	Limit      int64 // DefaultJobsLimit unless written
}

// ShowJob is SHOW JOB 'id'.
type ShowJob struct {
	ID       string
	IDOffset int
	Options  Options // wait
}

// CancelJob is CANCEL JOB 'id'.
type CancelJob struct {
	ID       string
	IDOffset int
}

// SetVega is SET vega.name = value.
type SetVega struct {
	Setting string // without "vega."
	Value   Value
}

// ResetVega is RESET vega.name.
type ResetVega struct{ Setting string }

// ShowSettings is SHOW vega.settings, or SHOW vega.name for one of them.
type ShowSettings struct{ Setting string }

func (*CreateView) statement()       {}
func (*Refresh) statement()          {}
func (*AlterSet) statement()         {}
func (*AlterReset) statement()       {}
func (*AlterRename) statement()      {}
func (*AlterOwner) statement()       {}
func (*AlterRun) statement()         {}
func (*Rebuild) statement()          {}
func (*DropView) statement()         {}
func (*ShowViews) statement()        {}
func (*ShowView) statement()         {}
func (*ShowCreate) statement()       {}
func (*ExplainStreaming) statement() {}
func (*ExplainAnalyze) statement()   {}
func (*Subscribe) statement()        {}
func (*ShowJobs) statement()         {}
func (*ShowJob) statement()          {}
func (*CancelJob) statement()        {}
func (*SetVega) statement()          {}
func (*ResetVega) statement()        {}
func (*ShowSettings) statement()     {}

// String prints the name with DuckDB's quoting.
func (n Name) String() string {
	var b strings.Builder
	for _, part := range []string{n.Catalog, n.Schema} {
		if part != "" {
			b.WriteString(QuoteIdent(part))
			b.WriteByte('.')
		}
	}
	b.WriteString(QuoteIdent(n.Name))
	return b.String()
}

// String prints the schema's name with DuckDB's quoting.
func (s SchemaName) String() string {
	if s.Catalog == "" {
		return QuoteIdent(s.Schema)
	}
	return QuoteIdent(s.Catalog) + "." + QuoteIdent(s.Schema)
}
