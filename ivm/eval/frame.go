package eval

import (
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

var frameUnits = map[plan.FrameUnit]string{plan.Rows: "ROWS", plan.Range: "RANGE", plan.Groups: "GROUPS"}

func (d *deparser) frame(order []plan.OrderItem, f plan.Frame) error {
	d.put(" ", frameUnits[f.Unit], " BETWEEN ")
	if err := d.bound(order, f.Unit, f.Start); err != nil {
		return err
	}
	d.put(" AND ")
	if err := d.bound(order, f.Unit, f.End); err != nil {
		return err
	}
	if f.Exclude != "" {
		d.put(" EXCLUDE ", f.Exclude)
	}
	return nil
}

// Of RANGE BETWEEN x PRECEDING AND y FOLLOWING over a key DuckDB has made the values at both ends, key - x and key + y, and where those have
// two types it has cast all three to the larger one. What was written is what gives the same again, so that is taken out of them.

// rangeOrder is the order as it was before DuckDB cast its key to the type of an end.
func rangeOrder(order []plan.OrderItem, f plan.Frame) []plan.OrderItem {
	if len(order) != 1 {
		return order
	}
	for _, b := range []plan.FrameBound{f.Start, f.End} {
		end, cast := rangeEnd(b.Expr)
		if end == nil || !cast {
			continue
		}
		item := order[0]
		item.Expr = end.Args[0]
		return []plan.OrderItem{item}
	}
	return order
}

// rangeEnd is the sum or difference that gives an end, and whether it is cast.
func rangeEnd(e plan.Expr) (end *plan.Function, cast bool) {
	for {
		c, ok := e.(*plan.Cast)
		if !ok {
			break
		}
		e, cast = c.Child, true
	}
	f, ok := e.(*plan.Function)
	if !ok || len(f.Args) != 2 || f.Name != "-" && f.Name != "+" {
		return nil, false
	}
	return f, cast
}

func (d *deparser) bound(order []plan.OrderItem, unit plan.FrameUnit, b plan.FrameBound) error {
	switch b.Kind {
	case plan.UnboundedPreceding:
		d.put("UNBOUNDED PRECEDING")
		return nil
	case plan.UnboundedFollowing:
		d.put("UNBOUNDED FOLLOWING")
		return nil
	case plan.CurrentRow:
		d.put("CURRENT ROW")
		return nil
	}
	e := b.Expr
	if unit == plan.Range {
		end, _ := rangeEnd(e)
		null, constant := e.(*plan.Constant)
		switch {
		case len(order) != 1:
			return unknownRange()
		case plan.Same(bare(e), bare(order[0].Expr)): // the distance was zero
			d.put("CURRENT ROW")
			return nil
		case end != nil:
			e = end.Args[1]
		case constant && null.Value == nil:
			t := e.Result()
			if !number(t) {
				t = row.Type{Kind: row.Interval}
			}
			d.put("CAST(NULL AS ", t.String(), ")")
			e = nil
		default:
			return unknownRange()
		}
	}
	if e != nil {
		d.expr(e)
	}
	if b.Kind == plan.Preceding {
		d.put(" PRECEDING")
	} else {
		d.put(" FOLLOWING")
	}
	return nil
}

func unknownRange() error {
	return fault.NotYetSupported.Newf("the engine cannot evaluate a RANGE frame of this form").WithHint("order by one number or time, and give the distance as a constant")
}

// bare is the expression without casts around it.
func bare(e plan.Expr) plan.Expr {
	for {
		c, ok := e.(*plan.Cast)
		if !ok || c.Try {
			return e
		}
		e = c.Child
	}
}

func number(t row.Type) bool {
	return t.Kind >= row.Int8 && t.Kind <= row.Uint64 || t.Kind == row.Int128 || t.Kind == row.Uint128 || t.Kind == row.Decimal || t.Kind == row.Float || t.Kind == row.Double
}
