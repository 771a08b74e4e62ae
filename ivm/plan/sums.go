package plan

import (
	"fmt"
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
)

// JoinSums says of which sides of the join that an aggregation reads it asks for nothing but exact sums and counts: of such a side there
// need be no more, for each key, than its number of rows and its columns' sums. over is the aggregation, in which keys that are equal on
// both sides are the other side's.
func (n *Aggregate) JoinSums() (over *Aggregate, sums [2]bool) {
	j, ok := n.Input.(*Join)
	if !ok || j.Kind != Inner && j.Kind != Left && j.Kind != Full || j.Residual != nil || hasInequality(j) {
		return n, sums
	}
	width := len(j.Left.Columns())
	for side := range sums {
		c := n
		if j.Kind == Inner {
			c = n.withKeysOf(j, 1-side)
		}
		summed, read := c.summedColumns()
		mine := func(col int) bool { return (col >= width) == (side == 1) }
		if slices.ContainsFunc(summed, mine) && !slices.ContainsFunc(read, mine) {
			sums[side] = true
			return c, sums // the other side's columns are the groups
		}
	}
	return n, sums
}

// summedColumns are the input's columns of which sums and counts are asked for, and those that are read otherwise.
func (n *Aggregate) summedColumns() (summed, read []int) {
	note := func(e Expr) {
		if e == nil {
			return
		}
		Walk(e, func(x Expr) bool {
			if c, ok := x.(*ColumnRef); ok {
				read = append(read, c.Index)
			}
			return true
		})
	}
	for _, e := range n.Groups {
		note(e)
	}
	for i := range n.Aggs {
		a := &n.Aggs[i]
		note(a.Filter)
		if c := a.Summed(); c != nil {
			summed = append(summed, c.Index)
			continue
		}
		for _, e := range a.Args {
			note(e)
		}
		for _, o := range a.Order {
			note(o.Expr)
		}
	}
	return summed, read
}

// Summed is the column that a function is an exact sum, average or count of; nil if it is none of these.
func (a *Agg) Summed() *ColumnRef {
	if a.Name != "sum" && a.Name != "avg" && a.Name != "count" || a.Distinct || len(a.Args) != 1 || len(a.Order)+len(a.Params) > 0 {
		return nil
	}
	c, ok := a.Args[0].(*ColumnRef)
	if !ok {
		return nil
	}
	switch t := c.Type; {
	case t.Kind >= row.Int8 && t.Kind <= row.Uint64, t.Kind == row.Decimal && t.Words() == 1:
		return c
	}
	return nil
}

// withKeysOf is the aggregation with the keys of a side of its inner join in place of the other side's, where their values are the same.
func (n *Aggregate) withKeysOf(j *Join, side int) *Aggregate {
	width := len(j.Left.Columns())
	to := map[int]*ColumnRef{}
	for _, k := range j.Conditions {
		l, left := k.Left.(*ColumnRef)
		r, right := k.Right.(*ColumnRef)
		if !left || !right || !l.Type.Equal(r.Type) || !sameWhereEqual(l.Type) {
			continue
		}
		moved := *r
		moved.Index += width
		if side == 0 {
			to[moved.Index] = l
		} else {
			to[l.Index] = &moved
		}
	}
	if len(to) == 0 {
		return n
	}
	rewrite := func(e Expr) Expr {
		if e == nil {
			return nil
		}
		return Rewrite(e, func(x Expr) Expr {
			if c, ok := x.(*ColumnRef); ok && to[c.Index] != nil {
				d := *to[c.Index]
				d.Pos = c.Pos
				return &d
			}
			return x
		})
	}
	c := *n
	c.Groups, c.Aggs = slices.Clone(n.Groups), slices.Clone(n.Aggs)
	for i, e := range c.Groups {
		c.Groups[i] = rewrite(e)
	}
	for i := range c.Aggs {
		a := &c.Aggs[i]
		a.Filter = rewrite(a.Filter)
		if a.Summed() != nil {
			continue
		}
		a.Args, a.Order = slices.Clone(a.Args), slices.Clone(a.Order)
		for k, e := range a.Args {
			a.Args[k] = rewrite(e)
		}
		for k := range a.Order {
			a.Order[k].Expr = rewrite(a.Order[k].Expr)
		}
	}
	return &c
}

// sameWhereEqual says that values of the type which are equal are the same.
func sameWhereEqual(t row.Type) bool {
	switch t.Kind {
	case row.Float, row.Double, row.Interval, row.TimeTZ, row.BigNum, row.Geometry, row.Bit, row.JSON:
		return false
	}
	return !t.Nested() && t.Collation == ""
}

// boundOfSums says of the join that an aggregation reads how little it keeps of a side of which only sums are asked for.
func (p *Plan) boundOfSums(n Node) {
	a, ok := n.(*Aggregate)
	if !ok {
		return
	}
	_, sums := a.JoinSums()
	if sums == [2]bool{} {
		return
	}
	j := a.Input.(*Join)
	what := [2]string{"rows", "rows"}
	for side, only := range sums {
		if only {
			what[side] = "keys"
		}
	}
	p.infos[j].StateBound = fmt.Sprintf("%s(#%d) + %s(#%d)", what[0], p.infos[j.Left].ID, what[1], p.infos[j.Right].ID)
}
