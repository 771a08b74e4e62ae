package plan

import "fmt"

// Code is the stable name of a reason why a query cannot be maintained.
type Code string

// The reasons. A name never changes its meaning.
const (
	VolatileFunction   Code = "VOLATILE_FUNCTION"    // two evaluations may give two values
	ClockOutsideFilter Code = "CLOCK_OUTSIDE_FILTER" // now() and its like elsewhere than in a comparison that filters rows
	NoTotalOrder       Code = "NO_TOTAL_ORDER"       // the value is an order of rows, and none is given
	UnboundedState     Code = "UNBOUNDED_STATE"      // a source without end, and nothing that lets state go
	UnstableType       Code = "UNSTABLE_TYPE"        // the type is not kept unchanged
	RecursiveQuery     Code = "RECURSIVE_QUERY"      // WITH RECURSIVE
	Sample             Code = "SAMPLE"               // TABLESAMPLE
	PositionalJoin     Code = "POSITIONAL_JOIN"      // tables have no order
	ComputedLimit      Code = "COMPUTED_LIMIT"       // LIMIT or OFFSET that is not a constant, or a percentage
	RowIdentifier      Code = "ROW_IDENTIFIER"       // rowid and other columns that say where a row lies
	TableFunction      Code = "TABLE_FUNCTION"       // rows that come from no table
	ApproximateResult  Code = "APPROXIMATE_RESULT"   // an aggregate whose value depends on the order of its input
	UnknownOperator    Code = "UNKNOWN_OPERATOR"     // an operator of DuckDB that is not known here
	UnknownExpression  Code = "UNKNOWN_EXPRESSION"   // likewise an expression
	UnknownSource      Code = "UNKNOWN_SOURCE"       // a table that is none of the sources
	PlanUnreadable     Code = "PLAN_UNREADABLE"      // the plan is not what DuckDB makes
)

// Reason is why something in a query cannot be maintained.
type Reason struct {
	Code     Code
	Position int // byte offset in the query's text, or NoPosition
	Message  string
	Hint     string
}

func (r Reason) String() string {
	s := string(r.Code)
	if r.Position != NoPosition {
		s += fmt.Sprintf(" at %d", r.Position)
	}
	s += ": " + r.Message
	if r.Hint != "" {
		s += "; " + r.Hint
	}
	return s
}

// unsupported is a Reason on its way.
type unsupported Reason

func (u *unsupported) Error() string { return Reason(*u).String() }

// Refused is an expression that cannot be evaluated; the plan goes on so that all reasons are found.
type Refused struct {
	Typed
	Reason Reason
}

// With gives the same.
func (e *Refused) With([]Expr) Expr { return e }
