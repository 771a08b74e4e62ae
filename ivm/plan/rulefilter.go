package plan

import (
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
)

// simplifyFilter brings a predicate into one form, moves its parts down to where their columns come from, and makes a top-k of
// a filtered row number.
func simplifyFilter(n *Filter) Node {
	parts, never := predicate(n.Pred)
	if never {
		return &Values{Cols: n.Columns(), Pos: n.Position()}
	}
	if len(parts) == 0 {
		return n.Input
	}
	if below := pushFilter(n.Input, parts); below != nil {
		return below
	}
	if pred := AndAll(parts); ExprText(pred) != ExprText(n.Pred) {
		return &Filter{n.Input, pred}
	}
	return n
}

// predicate is the sorted parts of a conjunction, without those that are always true; never says that it cannot be true.
func predicate(e Expr) (parts []Expr, never bool) {
	texts := map[string]bool{}
	for _, p := range Conjuncts(Rewrite(e, canonical)) {
		if c, ok := p.(*Constant); ok {
			if c.Value == true {
				continue
			}
			return nil, true
		}
		if text := ExprText(p); !texts[text] {
			texts[text] = true
			parts = append(parts, p)
		}
	}
	slices.SortStableFunc(parts, func(a, b Expr) int {
		if x, y := mayFail(a), mayFail(b); x != y {
			if y {
				return -1
			}
			return 1
		}
		return strings.Compare(ExprText(a), ExprText(b))
	})
	return parts, false
}

// canonical puts the column on the left of a comparison and sorts the parts of OR.
func canonical(e Expr) Expr {
	switch e := e.(type) {
	case *Comparison:
		if later(e.Left, e.Right) {
			return &Comparison{e.Typed, e.Op.Flip(), e.Right, e.Left}
		}
	case *Between:
		if !e.Not && cheap(e.Child) {
			low, high := GreaterEqual, LessEqual
			if e.LowOpen {
				low = Greater
			}
			if e.HighOpen {
				high = Less
			}
			return &Conjunction{e.Typed, false, []Expr{canonical(compare(low, e.Child, e.Low, e.Pos)), canonical(compare(high, e.Child, e.High, e.Pos))}}
		}
	case *Not:
		if c, ok := e.Child.(*Comparison); ok && c.Op == Distinct {
			return &Comparison{c.Typed, NotDistinct, c.Left, c.Right}
		}
	case *Conjunction:
		var args []Expr
		for _, a := range e.Args {
			if c, ok := a.(*Conjunction); ok && c.Or == e.Or {
				args = append(args, c.Args...)
			} else {
				args = append(args, a)
			}
		}
		if in := oneOf(e.Or, args, e.Typed); in != nil {
			return in
		}
		if len(args) != len(e.Args) {
			return &Conjunction{e.Typed, e.Or, args}
		}
	}
	return e
}

// oneOf makes x IN (…) of x = 1 OR x = 2 OR …, which DuckDB makes of short lists.
func oneOf(or bool, args []Expr, at Typed) Expr {
	if !or || len(args) < 2 {
		return nil
	}
	in := &In{Typed: at}
	for _, a := range args {
		c, ok := a.(*Comparison)
		if !ok || c.Op != Equal {
			return nil
		}
		if _, constant := c.Right.(*Constant); !constant {
			return nil
		}
		if in.Child == nil {
			in.Child = c.Left
		} else if !Same(in.Child, c.Left) {
			return nil
		}
		in.List = append(in.List, c.Right)
	}
	return in
}

func later(l, r Expr) bool {
	rank := func(e Expr) int {
		n := 1 << 20 // constants
		Walk(e, func(x Expr) bool {
			if c, ok := x.(*ColumnRef); ok {
				n = min(n, c.Index)
			}
			return true
		})
		return n
	}
	a, b := rank(l), rank(r)
	return a > b || a == b && ExprText(l) > ExprText(r)
}

// mayFail says that an expression may be an error for some row, so that cheaper parts of a conjunction should be asked first.
func mayFail(e Expr) bool {
	return !Walk(e, func(x Expr) bool {
		switch x := x.(type) {
		case *Cast:
			from := x.Child.Result()
			return x.Try || from.Kind < row.Varchar && from.Kind != row.Double && from.Kind != row.Float
		case *Function:
			return !x.Operator || strings.Contains(x.Name, "~~") || x.Name == "||"
		}
		return true
	})
}

// pushFilter puts the parts of a filter below the node, as far as they go; nil when none does.
func pushFilter(in Node, parts []Expr) Node {
	switch in := in.(type) {
	case *Filter:
		return &Filter{in.Input, AndAll(append(Conjuncts(in.Pred), parts...))}
	case *Project:
		es, ok := compose(parts, in.Exprs)
		if !ok {
			return nil
		}
		for _, e := range in.Exprs {
			if isVolatile(e) {
				return nil
			}
		}
		return &Project{simplify(&Filter{in.Input, AndAll(es)}), in.Exprs, in.Names}
	case *Join:
		return pushIntoJoin(in, parts)
	case *Aggregate:
		if in.Sets != nil || len(in.Groups) == 0 {
			return nil
		}
		return pushWhere(in, parts, func(i int) Expr {
			if i < len(in.Groups) {
				return in.Groups[i]
			}
			return nil
		})
	case *DistinctRows:
		return &DistinctRows{simplify(&Filter{in.Input, AndAll(parts)}), in.Pos}
	case *SetOp:
		out := make([]Node, len(in.In))
		for i, c := range in.In {
			out[i] = simplify(&Filter{c, AndAll(parts)})
		}
		return simplify(&SetOp{in.Kind, out, in.Pos})
	case *Window:
		if top := topOf(in, parts); top != nil {
			return top
		}
		return pushWhere(in, parts, partitionColumn(in.Partition, in.Input))
	case *TopK:
		if len(in.Partition) == 0 {
			return nil
		}
		return pushWhere(in, parts, partitionColumn(in.Partition, in.Input))
	case *Unnest:
		width := len(in.Input.Columns())
		cols := in.Input.Columns()
		return pushWhere(in, parts, func(i int) Expr {
			if i < width {
				return ref(cols, i)
			}
			return nil
		})
	case *Values:
		if len(in.Rows) == 0 {
			return in
		}
	}
	return nil
}

func isVolatile(e Expr) bool {
	return !Walk(e, func(x Expr) bool { f, ok := x.(*Function); return !ok || !f.Volatile })
}

// partitionColumn gives a partition's column for one of the output.
func partitionColumn(partition []Expr, in Node) func(int) Expr {
	cols := in.Columns()
	return func(i int) Expr {
		for _, p := range partition {
			if r, ok := p.(*ColumnRef); ok && r.Index == i {
				return ref(cols, i)
			}
		}
		return nil
	}
}

// pushWhere puts those parts of a filter below n, which has one input, whose columns all have an expression over the input.
func pushWhere(n Node, parts []Expr, below func(int) Expr) Node {
	var down, stay []Expr
	for _, p := range parts {
		ok := !hasClock(p)
		moved := Rewrite(p, func(x Expr) Expr {
			r, is := x.(*ColumnRef)
			if !is {
				return x
			}
			if e := below(r.Index); e != nil {
				return e
			}
			ok = false
			return x
		})
		if ok {
			down = append(down, moved)
		} else {
			stay = append(stay, p)
		}
	}
	if len(down) == 0 {
		return nil
	}
	out := n.with([]Node{simplify(&Filter{n.Inputs()[0], AndAll(down)})})
	if len(stay) > 0 {
		return &Filter{out, AndAll(stay)}
	}
	return out
}

// topOf makes a top-k of a filter on the only function of a window, a row number or rank.
func topOf(w *Window, parts []Expr) Node {
	if len(w.Funcs) != 1 || w.Funcs[0].Name != "row_number" && w.Funcs[0].Name != "rank" || len(w.Funcs[0].ArgOrder) > 0 || len(w.Order) == 0 {
		return nil
	}
	ties := w.Funcs[0].Name == "rank"
	place := len(w.Input.Columns())
	low, high := int64(1), int64(-1)
	var rest []Expr
	for _, p := range parts {
		c, ok := p.(*Comparison)
		if !ok {
			rest = append(rest, p)
			continue
		}
		r, isRef := c.Left.(*ColumnRef)
		k, isConst := c.Right.(*Constant)
		if !isRef || !isConst || r.Index != place {
			rest = append(rest, p)
			continue
		}
		n, isInt := k.Value.(int64)
		switch {
		case !isInt || n > 1<<40 || n < -1<<40:
			rest = append(rest, p)
			continue
		case c.Op == LessEqual, c.Op == Less:
			if c.Op == Less {
				n--
			}
			if n = max(n, 0); high < 0 || n < high {
				high = n
			}
		case c.Op == Equal && !ties || c.Op == Equal && n == 1:
			if n < 1 {
				return &Values{Cols: w.Columns(), Pos: w.Pos}
			}
			low = max(low, n)
			if high < 0 || n < high {
				high = n
			}
		case (c.Op == GreaterEqual || c.Op == Greater) && !ties:
			if c.Op == Greater {
				n++
			}
			low = max(low, n)
		default:
			rest = append(rest, p)
		}
	}
	if high < 0 {
		return nil
	}
	var out Node = &Values{Cols: w.Columns(), Pos: w.Pos}
	if high >= low {
		out = simplify(&TopK{Input: w.Input, Partition: w.Partition, Order: w.Order, Limit: high - low + 1, Offset: low - 1, WithTies: ties, Number: true, Pos: w.Pos})
	}
	if len(rest) > 0 {
		return &Filter{out, AndAll(rest)}
	}
	return out
}
