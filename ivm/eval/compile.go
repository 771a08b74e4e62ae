package eval

import (
	"strings"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// compiler makes nodes of expressions.
type compiler struct {
	in      *row.Layout
	columns map[int]*column
	clock   *clock
}

// node is the path of an expression in Go; nil when it, or a part of it, has none.
func (c *compiler) node(e plan.Expr) node {
	switch e := e.(type) {
	case *plan.ColumnRef:
		return c.column(e)
	case *Normal:
		return c.normal(e)
	case *plan.Clock:
		if c.clock == nil {
			c.clock = &clock{vec: *newVec(e.Result())}
		}
		return c.clock
	case *plan.Constant:
		if k, ok := newConstant(e.Type, e.Value); ok {
			return k
		}
	case *plan.Cast:
		return c.cast(e)
	case *plan.Comparison:
		return c.comparison(e)
	case *plan.Conjunction:
		if args := c.nodes(e.Args); args != nil {
			return &logic{or: e.Or, args: args}
		}
	case *plan.Not:
		if a := c.node(e.Child); a != nil {
			return &not{child: a}
		}
	case *plan.IsNull:
		if a := c.node(e.Child); a != nil {
			return &isNull{not: e.Not, child: a}
		}
	case *plan.Coalesce:
		if e.Type.Nested() || !alikeAll(e.Type, e.Args...) {
			return nil // of some nested types DuckDB has none
		}
		if args := c.nodes(e.Args); args != nil {
			return &coalesce{choice{vec: *newVec(e.Type), typ: e.Type}, args}
		}
	case *plan.In:
		return c.inList(e)
	case *plan.Between:
		return c.between(e)
	case *plan.Case:
		return c.choice(e)
	case *plan.Function:
		return c.function(e)
	}
	return nil
}

// alikeAll says that all expressions have values of the type, whose words are then copied.
func alikeAll(t row.Type, es ...plan.Expr) bool {
	for _, e := range es {
		if !plain(e.Result()).Equal(plain(t)) {
			return false
		}
	}
	return true
}

// nodes are the paths of all, or nil.
func (c *compiler) nodes(es []plan.Expr) []node {
	out := make([]node, len(es))
	for i, e := range es {
		if out[i] = c.node(e); out[i] == nil {
			return nil
		}
	}
	return out
}

func (c *compiler) column(e *plan.ColumnRef) node {
	if e.Index < 0 || e.Index >= len(c.in.Types) || e.Type.Kind == row.Null {
		return nil
	}
	k := c.columns[e.Index]
	if k == nil {
		t := c.in.Types[e.Index]
		k = &column{vec: *newVec(t), field: e.Index, kind: t.Kind, off: c.in.Off[e.Index], wide: t.Words() == 2}
		c.columns[e.Index] = k
	}
	return k
}

func (c *compiler) cast(e *plan.Cast) node {
	from := e.Child.Result()
	if k, ok := e.Child.(*plan.Constant); ok && k.Value == nil {
		if null, ok := newConstant(e.Type, nil); ok {
			return null
		}
	}
	f := castOf(from, e.Type)
	if f == nil {
		return nil
	}
	a := c.node(e.Child)
	if a == nil {
		return nil
	}
	return &monadic{vec: *newVec(e.Type), a: a, f: f}
}

// comparable says that values of the types compare by their words or bytes.
func comparable(a, b row.Type) bool {
	return orderOf(a) != noOrder && orderOf(a) == orderOf(b) && a.Kind == b.Kind && a.Scale == b.Scale
}

func (c *compiler) comparison(e *plan.Comparison) node {
	t := e.Left.Result()
	if !comparable(t, e.Right.Result()) {
		return nil
	}
	if t.Kind == row.Enum && (!t.Equal(e.Right.Result()) || e.Op >= plan.Less && e.Op <= plan.GreaterEqual) {
		return nil
	}
	a, b := c.node(e.Left), c.node(e.Right)
	if a == nil || b == nil {
		return nil
	}
	return &comparison{comparer: comparer{typ: t}, op: e.Op, a: a, b: b}
}

func (c *compiler) between(e *plan.Between) node {
	t := e.Child.Result()
	if !comparable(t, e.Low.Result()) || !comparable(t, e.High.Result()) || t.Kind == row.Enum {
		return nil
	}
	kids := c.nodes([]plan.Expr{e.Child, e.Low, e.High})
	if kids == nil {
		return nil
	}
	b := &between{comparer: comparer{typ: t}, child: kids[0], low: kids[1], high: kids[2], above: plan.GreaterEqual, under: plan.LessEqual, not: e.Not}
	if e.LowOpen {
		b.above = plan.Greater
	}
	if e.HighOpen {
		b.under = plan.Less
	}
	return b
}

// mostItems is the longest list of IN that is compared item by item.
const mostItems = 24

func (c *compiler) inList(e *plan.In) node {
	t := e.Child.Result()
	if orderOf(t) == noOrder || len(e.List) > mostItems {
		return nil
	}
	child := c.node(e.Child)
	if child == nil {
		return nil
	}
	x := &inList{comparer: comparer{typ: t}, child: child, not: e.Not}
	for _, i := range e.List {
		k, ok := i.(*plan.Constant)
		if !ok || !comparable(t, k.Type) || t.Kind == row.Enum && !t.Equal(k.Type) {
			return nil
		}
		v, ok := newConstant(k.Type, k.Value)
		if !ok {
			return nil
		}
		if v.isNull {
			x.nulls = true
			continue
		}
		x.items = append(x.items, v)
	}
	return x
}

func (c *compiler) choice(e *plan.Case) node {
	x := &choice{vec: *newVec(e.Type), typ: e.Type}
	if e.Type.Nested() {
		return nil
	}
	for _, w := range e.Whens {
		if !alikeAll(e.Type, w.Then) {
			return nil
		}
		cond, then := c.node(w.If), c.node(w.Then)
		if cond == nil || then == nil {
			return nil
		}
		x.conds, x.thens = append(x.conds, cond), append(x.thens, then)
	}
	if e.Else == nil {
		null, _ := newConstant(e.Type, nil)
		x.thens = append(x.thens, null)
		return x
	}
	if !alikeAll(e.Type, e.Else) {
		return nil
	}
	last := c.node(e.Else)
	if last == nil {
		return nil
	}
	x.thens = append(x.thens, last)
	return x
}

// text is the value of a constant text.
func text(e plan.Expr) (string, bool) {
	k, ok := e.(*plan.Constant)
	if !ok {
		return "", false
	}
	s, ok := k.Value.(string)
	return s, ok && k.Type.Kind == row.Varchar
}

func (c *compiler) function(e *plan.Function) node {
	if e.Lambda != nil || e.Volatile || e.Schema != "" && e.Schema != "main" {
		return nil
	}
	switch len(e.Args) {
	case 1:
		if f := oneArgument(strings.ToLower(e.Name), e.Args[0].Result(), e.Type); f != nil {
			return c.unary(e, 0, f)
		}
	case 2:
		name, t, u := strings.ToLower(e.Name), e.Args[0].Result(), e.Args[1].Result()
		if f, arg := knownArgument(name, e); f != nil {
			return c.unary(e, arg, f)
		}
		if f := twoArguments(name, t, u, e.Type); f != nil {
			if args := c.nodes(e.Args); args != nil {
				return &dyadic{vec: *newVec(e.Type), a: args[0], b: args[1], f: f}
			}
		}
	}
	return nil
}

func (c *compiler) unary(e *plan.Function, arg int, f converter) node {
	a := c.node(e.Args[arg])
	if a == nil {
		return nil
	}
	return &monadic{vec: *newVec(e.Type), a: a, f: f}
}

func isMoment(t row.Type) bool { return t.Kind == row.Date || t.Kind == row.Timestamp }

// oneArgument is the path of a function of one value.
func oneArgument(name string, t, out row.Type) converter {
	switch name {
	case "-":
		if t.Equal(out) {
			return magnitude(t, true)
		}
	case "+":
		if t.Equal(out) && t.Words() == 1 && !t.Nested() && t.Kind != row.Bool {
			return sameWords
		}
	case "abs", "@":
		if t.Equal(out) {
			return magnitude(t, false)
		}
	case "length", "len", "strlen":
		if t.Kind == row.Varchar && out.Kind == row.Int64 {
			return textLength(name == "strlen")
		}
	case "normalized_interval":
		if t.Kind == row.Interval && out.Kind == row.Interval {
			return normalInterval
		}
	case "year", "month", "day", "quarter", "dayofweek", "weekday", "isodow", "dayofyear", "dayofmonth",
		"hour", "minute", "second", "millisecond", "microsecond":
		if isMoment(t) && out.Kind == row.Int64 {
			return datePart(name, t.Kind)
		}
	}
	return nil
}

// knownArgument is the path of a function of one value and a constant.
func knownArgument(name string, e *plan.Function) (converter, int) {
	t, u := e.Args[0].Result(), e.Args[1].Result()
	switch name {
	case "date_part", "datepart":
		if part, ok := text(e.Args[0]); ok && isMoment(u) && e.Type.Kind == row.Int64 {
			return datePart(strings.ToLower(part), u.Kind), 1
		}
	case "date_trunc", "datetrunc":
		if part, ok := text(e.Args[0]); ok && isMoment(u) && isMoment(e.Type) {
			return dateTrunc(strings.ToLower(part), u.Kind, e.Type.Kind), 1
		}
	case "~~", "!~~":
		if pattern, ok := text(e.Args[1]); ok && t.Kind == row.Varchar {
			if parts, ok := likePattern(pattern); ok {
				return textLike(parts, name == "!~~"), 0
			}
		}
	case "time_bucket":
		k, ok := e.Args[0].(*plan.Constant)
		if !ok || !isMoment(u) || u.Kind != e.Type.Kind {
			return nil, 0
		}
		w, ok := k.Value.(plan.Interval)
		if !ok || w.Months != 0 || w.Micros < 0 || w.Days < 0 || w.Days > 10000 || w.Micros > farInstants/2 {
			return nil, 0
		}
		if width := int64(w.Days)*dayMicros + w.Micros; width > 0 && (u.Kind != row.Date || width%dayMicros == 0) {
			return timeBucket(width, u.Kind), 1
		}
	}
	return nil, 0
}

// twoArguments is the path of a function of two values.
func twoArguments(name string, t, u, out row.Type) kernel {
	same := t.Equal(u)
	switch name {
	case "+", "-", "*":
		switch {
		case same && t.Equal(out), t.Kind == row.Decimal && u.Kind == row.Decimal && out.Kind == row.Decimal &&
			t.Words() == out.Words() && u.Words() == out.Words() && (name == "*" && t.Scale+u.Scale == out.Scale || name != "*" && t.Scale == out.Scale && u.Scale == out.Scale):
			return arithmetic(name[0], out)
		case name == "+" && t.Kind == row.Date && u.Kind == row.Int32 && out.Kind == row.Date:
			return dateAndDays(false)
		case name == "-" && t.Kind == row.Date && u.Kind == row.Int32 && out.Kind == row.Date:
			return dateAndDays(true)
		case name == "-" && t.Kind == row.Date && u.Kind == row.Date && out.Kind == row.Int64:
			return daysBetween
		case name == "-" && t.Kind == row.Timestamp && u.Kind == row.Timestamp && out.Kind == row.Interval:
			return timeBetween
		case name != "*" && isMoment(t) && u.Kind == row.Interval && out.Kind == row.Timestamp:
			return momentAndInterval(t.Kind, name == "-")
		}
	case "/":
		if same && t.Equal(out) && t.Kind == row.Double {
			return double('/')
		}
		if same && t.Equal(out) && t.Kind == row.Float {
			return single('/')
		}
	case "//", "%":
		if same && t.Equal(out) {
			return division(t, name == "%")
		}
	case "&", "|", "xor":
		if same && t.Equal(out) && isWhole(t.Kind) {
			return bitwise(name)
		}
	case "starts_with", "^@", "prefix":
		return textsTest(t, u, out, hasPrefix)
	case "suffix", "ends_with":
		return textsTest(t, u, out, hasSuffix)
	case "contains":
		return textsTest(t, u, out, hasPart)
	}
	return nil
}

func textsTest(t, u, out row.Type, f func(a, b []byte) bool) kernel {
	if t.Kind != row.Varchar || u.Kind != row.Varchar || out.Kind != row.Bool || t.Collation != "" || u.Collation != "" {
		return nil
	}
	return textTest(f)
}
