package plan

import "fmt"

// Code is the stable name of a reason why a query cannot be maintained.
type Code string

// The reasons. A name never changes its meaning.
const (
	VolatileFunction   Code = "VOLATILE_FUNCTION"
	ClockOutsideFilter Code = "CLOCK_OUTSIDE_FILTER"
	NoTotalOrder       Code = "NO_TOTAL_ORDER"
	UnboundedState     Code = "UNBOUNDED_STATE"
	UnstableType       Code = "UNSTABLE_TYPE"
	RecursiveQuery     Code = "RECURSIVE_QUERY"
	Sample             Code = "SAMPLE"
	PositionalJoin     Code = "POSITIONAL_JOIN"
	ComputedLimit      Code = "COMPUTED_LIMIT"
	RowIdentifier      Code = "ROW_IDENTIFIER"
	TableFunction      Code = "TABLE_FUNCTION"
	ApproximateResult  Code = "APPROXIMATE_RESULT"
	UnknownOperator    Code = "UNKNOWN_OPERATOR"
	UnknownExpression  Code = "UNKNOWN_EXPRESSION"
	UnknownSource      Code = "UNKNOWN_SOURCE"
	PlanUnreadable     Code = "PLAN_UNREADABLE"
)

// CodeDoc is a reason's name with a sentence for the documentation.
type CodeDoc struct {
	Code Code
	Doc  string
}

// Codes are all reasons, in the order of the documentation.
func Codes() []CodeDoc {
	return []CodeDoc{
		{VolatileFunction, "Two evaluations may give two values: random(), uuid(), the session's user or schema."},
		{ClockOutsideFilter, "now() or its like is used otherwise than in a comparison with a column that filters rows."},
		{NoTotalOrder, "The value is an order of rows (list, string_agg, first, row_number, lag), and no ORDER BY gives one."},
		{ApproximateResult, "The aggregate gives another value when the same rows come in another order."},
		{UnboundedState, "A source has no end, and neither a window of its watermark nor the clock lets state go."},
		{UnstableType, "The lake does not keep values of the type unchanged."},
		{RecursiveQuery, "The query is WITH RECURSIVE."},
		{Sample, "A sample is another one each time."},
		{PositionalJoin, "Rows of a table have no places."},
		{ComputedLimit, "LIMIT or OFFSET is not a constant, or is a percentage."},
		{RowIdentifier, "rowid and its like say where a row lies, not what it is."},
		{TableFunction, "Rows come from a function and not from a table."},
		{UnknownOperator, "DuckDB plans the query with an operator that is not known."},
		{UnknownExpression, "Likewise with an expression."},
		{UnknownSource, "The query reads a table that is none of its sources."},
		{PlanUnreadable, "DuckDB's plan is not of the form that is known."},
	}
}

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
