package plan

import "github.com/vegadb/vega-flight/ivm/row"

// Expr is a bound expression: every cast is explicit, every overload chosen. Expressions do not change once they are
// made; [Rewrite] makes others.
type Expr interface {
	Result() row.Type // the type of its values
	Position() int    // its byte offset in the planned text, or NoPosition
	Inputs() []Expr
	With(inputs []Expr) Expr // the same expression over others, as many as Inputs gives
}

// NoPosition is the position of what stands nowhere in the text.
const NoPosition = -1

// Typed is what every expression has.
type Typed struct {
	Type row.Type
	Pos  int
}

// Result is the type of the values.
func (t Typed) Result() row.Type { return t.Type }

// Position is the place in the text.
func (t Typed) Position() int { return t.Pos }

// Inputs of an expression that has none.
func (t Typed) Inputs() []Expr { return nil }

// ColumnRef is a column of the node's input; in a join's expressions the right input's columns follow the left's.
type ColumnRef struct {
	Typed
	Index int
	Name  string // for people; two refs with the same index are equal
}

// ParamRef is a parameter of a [Lambda] around it.
type ParamRef struct {
	Typed
	Name string
}

// Clock is the view's logical clock, a TIMESTAMPTZ: what now() is.
type Clock struct{ Typed }

// Constant is a value; see constant.go for what Value holds.
type Constant struct {
	Typed
	Value any
}

// Cast converts; with Try a failure is NULL.
type Cast struct {
	Typed
	Try   bool
	Child Expr
}

// CompareOp is a comparison.
type CompareOp uint8

// The comparisons.
const (
	Equal CompareOp = iota
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
	Distinct
	NotDistinct
)

var compareText = [...]string{"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"}

func (o CompareOp) String() string { return compareText[o] }

// Flip is the comparison with its sides exchanged.
func (o CompareOp) Flip() CompareOp {
	switch o {
	case Less:
		return Greater
	case LessEqual:
		return GreaterEqual
	case Greater:
		return Less
	case GreaterEqual:
		return LessEqual
	}
	return o
}

// Comparison compares two values of one type.
type Comparison struct {
	Typed
	Op          CompareOp
	Left, Right Expr
}

// Conjunction is AND, or OR.
type Conjunction struct {
	Typed
	Or   bool
	Args []Expr
}

// Not is NOT.
type Not struct {
	Typed
	Child Expr
}

// IsNull is IS NULL, or IS NOT NULL.
type IsNull struct {
	Typed
	Not   bool
	Child Expr
}

// Coalesce is the first argument that is not NULL; later ones are not evaluated.
type Coalesce struct {
	Typed
	Args []Expr
}

// In is IN over a list.
type In struct {
	Typed
	Not   bool
	Child Expr
	List  []Expr
}

// Between is BETWEEN, with either end open or not.
type Between struct {
	Typed
	Child, Low, High       Expr
	LowOpen, HighOpen, Not bool
}

// When is one branch of a [Case].
type When struct{ If, Then Expr }

// Case is CASE; branches that are not taken are not evaluated.
type Case struct {
	Typed
	Whens []When
	Else  Expr
}

// Function is a scalar function or operator.
type Function struct {
	Typed
	Name     string // DuckDB's, such as "+", "~~" or "date_trunc"
	Schema   string // where it is found; "" is main
	Operator bool   // it is written between or before its arguments
	Args     []Expr
	ArgTypes []row.Type // as bound; a variadic function's tail may be missing
	ArgNames []string   // of struct_update: the fields that the arguments behind the first set
	Lambda   *Lambda    // of list_transform and its like: the last argument
	Data     string     // what DuckDB bound beside the arguments, as JSON; "" is nothing
	Volatile bool       // two calls may give two values
}

// Lambda is a function's argument that is an expression over parameters. What it captures are ordinary expressions.
type Lambda struct {
	Params []string // in the order in which SQL names them
	Body   Expr
}

// With gives the column over nothing else.
func (e *ColumnRef) With([]Expr) Expr { return e }

// With gives the parameter.
func (e *ParamRef) With([]Expr) Expr { return e }

// With gives the clock.
func (e *Clock) With([]Expr) Expr { return e }

// With gives the constant.
func (e *Constant) With([]Expr) Expr { return e }

// Inputs is what is converted.
func (e *Cast) Inputs() []Expr { return []Expr{e.Child} }

// With converts another value.
func (e *Cast) With(in []Expr) Expr { c := *e; c.Child = in[0]; return &c }

// Inputs are the sides.
func (e *Comparison) Inputs() []Expr { return []Expr{e.Left, e.Right} }

// With compares others.
func (e *Comparison) With(in []Expr) Expr { c := *e; c.Left, c.Right = in[0], in[1]; return &c }

// Inputs are the conjuncts.
func (e *Conjunction) Inputs() []Expr { return e.Args }

// With takes others.
func (e *Conjunction) With(in []Expr) Expr { c := *e; c.Args = in; return &c }

// Inputs is what is negated.
func (e *Not) Inputs() []Expr { return []Expr{e.Child} }

// With negates another.
func (e *Not) With(in []Expr) Expr { c := *e; c.Child = in[0]; return &c }

// Inputs is what is asked about.
func (e *IsNull) Inputs() []Expr { return []Expr{e.Child} }

// With asks about another.
func (e *IsNull) With(in []Expr) Expr { c := *e; c.Child = in[0]; return &c }

// Inputs are the candidates.
func (e *Coalesce) Inputs() []Expr { return e.Args }

// With takes others.
func (e *Coalesce) With(in []Expr) Expr { c := *e; c.Args = in; return &c }

// Inputs are the value and then the list.
func (e *In) Inputs() []Expr { return append([]Expr{e.Child}, e.List...) }

// With takes others.
func (e *In) With(in []Expr) Expr { c := *e; c.Child, c.List = in[0], in[1:]; return &c }

// Inputs are the value and the ends.
func (e *Between) Inputs() []Expr { return []Expr{e.Child, e.Low, e.High} }

// With takes others.
func (e *Between) With(in []Expr) Expr {
	c := *e
	c.Child, c.Low, c.High = in[0], in[1], in[2]
	return &c
}

// Inputs are condition and value of each branch, then ELSE.
func (e *Case) Inputs() []Expr {
	var in []Expr
	for _, w := range e.Whens {
		in = append(in, w.If, w.Then)
	}
	return append(in, e.Else)
}

// With takes others.
func (e *Case) With(in []Expr) Expr {
	c := *e
	c.Whens = make([]When, len(e.Whens))
	for i := range c.Whens {
		c.Whens[i] = When{in[2*i], in[2*i+1]}
	}
	c.Else = in[len(in)-1]
	return &c
}

// Inputs are the arguments, then the lambda's body.
func (e *Function) Inputs() []Expr {
	if e.Lambda == nil {
		return e.Args
	}
	return append(append([]Expr{}, e.Args...), e.Lambda.Body)
}

// With takes others.
func (e *Function) With(in []Expr) Expr {
	c := *e
	if e.Lambda != nil {
		c.Lambda = &Lambda{Params: e.Lambda.Params, Body: in[len(in)-1]}
		in = in[:len(in)-1]
	}
	c.Args = in
	return &c
}

// Rewrite makes the expression that f makes of each part, inner ones first.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	if e == nil {
		return nil
	}
	in := e.Inputs()
	if len(in) == 0 {
		return f(e)
	}
	out, changed := make([]Expr, len(in)), false
	for i, c := range in {
		out[i] = Rewrite(c, f)
		changed = changed || out[i] != c
	}
	if changed {
		e = e.With(out)
	}
	return f(e)
}

// Walk shows every part of the expression to f, outer ones first, until f gives false.
func Walk(e Expr, f func(Expr) bool) bool {
	if e == nil {
		return true
	}
	if !f(e) {
		return false
	}
	for _, c := range e.Inputs() {
		if !Walk(c, f) {
			return false
		}
	}
	return true
}

// AndAll is the conjunction of all, nil for none.
func AndAll(es []Expr) Expr {
	switch len(es) {
	case 0:
		return nil
	case 1:
		return es[0]
	}
	return &Conjunction{Typed: Typed{boolean, es[0].Position()}, Args: es}
}

// Conjuncts takes a predicate apart at its outer ANDs.
func Conjuncts(e Expr) []Expr {
	if e == nil {
		return nil
	}
	c, ok := e.(*Conjunction)
	if !ok || c.Or {
		return []Expr{e}
	}
	var out []Expr
	for _, a := range c.Args {
		out = append(out, Conjuncts(a)...)
	}
	return out
}

var (
	boolean     = row.Type{Kind: row.Bool}
	bigint      = row.Type{Kind: row.Int64}
	timestampTZ = row.Type{Kind: row.TimestampTZ}
)
