package plan

import (
	"github.com/vegadb/vega-flight/ivm/row"
)

func hasClock(e Expr) bool {
	return !Walk(e, func(x Expr) bool { _, ok := x.(*Clock); return !ok })
}

func hasColumn(e Expr) bool {
	return !Walk(e, func(x Expr) bool { _, ok := x.(*ColumnRef); return !ok })
}

// clockFilters makes bounds of those parts of a filter that compare the clock with a row. Other uses of the clock stay and are
// refused.
func clockFilters(n Node) Node {
	f, ok := n.(*Filter)
	if !ok || !hasClock(f.Pred) {
		return n
	}
	var rest []Expr
	t := &Temporal{Pos: f.Position()}
	for _, p := range Conjuncts(f.Pred) {
		if bounds := clockBounds(p); bounds != nil {
			t.Bounds = append(t.Bounds, bounds...)
		} else {
			rest = append(rest, p)
		}
	}
	if len(t.Bounds) == 0 {
		return n
	}
	t.Input = f.Input
	if e := AndAll(rest); e != nil {
		t.Input = &Filter{f.Input, e}
	}
	return t
}

// clockBounds is a comparison of the clock with a row as bounds of the row, nil when it is none.
func clockBounds(e Expr) []ClockBound {
	switch e := e.(type) {
	case *Between:
		if e.Not {
			return nil
		}
		lowOp, highOp := GreaterEqual, LessEqual
		if e.LowOpen {
			lowOp = Greater
		}
		if e.HighOpen {
			highOp = Less
		}
		low := clockBounds(compare(lowOp, e.Child, e.Low, e.Pos))
		high := clockBounds(compare(highOp, e.Child, e.High, e.Pos))
		if low == nil || high == nil {
			return nil
		}
		return append(low, high...)
	case *Comparison:
		l, r, op := e.Left, e.Right, e.Op
		if hasClock(l) && !hasColumn(l) && !hasClock(r) || age(l) != nil && !hasClock(r) && !hasColumn(r) {
			l, r, op = r, l, op.Flip()
		}
		// row - clock op constant: the row is moved by the constant instead.
		if a := age(r); a != nil && !hasColumn(l) {
			return ageBounds(l, op, a)
		}
		if hasClock(l) || !hasColumn(l) || !hasClock(r) || hasColumn(r) || isVolatile(l) {
			return nil
		}
		b := ClockBound{Row: l, Op: op, At: r, Monotone: monotone(r)}
		switch op {
		case Less, LessEqual, Greater, GreaterEqual:
			return []ClockBound{b}
		case Equal:
			other := b
			b.Op, other.Op = GreaterEqual, LessEqual
			return []ClockBound{b, other}
		}
	}
	return nil
}

// age is clock - row or row - clock.
func age(e Expr) *Function {
	f, ok := e.(*Function)
	if ok && f.Name == "normalized_interval" && len(f.Args) == 1 {
		f, ok = f.Args[0].(*Function)
	}
	if !ok || f.Name != "-" || len(f.Args) != 2 || f.Type.Kind != row.Interval {
		return nil
	}
	_, first := f.Args[0].(*Clock)
	_, second := f.Args[1].(*Clock)
	if first == second || hasClock(f.Args[0]) == hasClock(f.Args[1]) {
		return nil
	}
	return f
}

// ageBounds is `limit op clock - row` (or row - clock) with a constant limit. The difference of two instants is a number of microseconds,
// and intervals are compared by theirs, with months of 30 days; so row op' clock ± limit, in microseconds.
func ageBounds(limit Expr, op CompareOp, a *Function) []ClockBound {
	c, ok := limit.(*Constant)
	if !ok {
		return nil
	}
	iv, ok := c.Value.(Interval)
	if !ok {
		return nil
	}
	const day = 86400_000_000
	days := int64(iv.Months)*30 + int64(iv.Days)
	if days > 1<<23 || days < -1<<23 || iv.Micros > 1<<60 || iv.Micros < -1<<60 {
		return nil
	}
	exact := &Constant{c.Typed, Interval{Micros: days*day + iv.Micros}}
	clock, at, sign := a.Args[0], a.Args[1], "-"
	if _, first := clock.(*Clock); !first {
		clock, at, sign = at, clock, "+"
	}
	if clock.Result().Kind != at.Result().Kind || clock.Result().Kind != row.TimestampTZ {
		return nil
	}
	moved := &Function{Typed: Typed{clock.Result(), a.Pos}, Name: sign, Operator: true, Args: []Expr{clock, exact}, ArgTypes: []row.Type{clock.Result(), c.Type}}
	if sign == "-" {
		// limit op clock - row, so row op clock - limit
		return clockBounds(compare(op, at, moved, a.Pos))
	}
	// limit op row - clock, so clock + limit op row
	return clockBounds(compare(op.Flip(), at, moved, a.Pos))
}

// monotone says that the value never falls while the clock advances. A conversion to local time does when clocks go back, so it is none;
// DuckDB's session zone is not known here.
func monotone(e Expr) bool {
	switch e := e.(type) {
	case *Clock:
		return true
	case *Function:
		if len(e.Args) != 2 || e.Name != "+" && e.Name != "-" {
			return false
		}
		c, ok := e.Args[1].(*Constant)
		if !ok {
			return false
		}
		iv, ok := c.Value.(Interval)
		return ok && iv.Months == 0 && iv.Days == 0 && monotone(e.Args[0])
	}
	return false
}
