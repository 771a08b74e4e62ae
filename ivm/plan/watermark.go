package plan

import (
	"math"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
)

// Floor is what a source's watermark says of an output column: no change of the output has less in it than Value, an expression whose
// column 0 is the watermark. A column may have several; the least of them counts.
type Floor struct {
	Source *Source
	Value  Expr
}

// Ticks is a span of so many microseconds in the unit of a type of times, rounded down; ok is false for other types.
func Ticks(t row.Type, micros int64) (n int64, ok bool) {
	switch t.Kind {
	case row.Timestamp, row.TimestampTZ:
		return micros, true
	case row.TimestampMS:
		return micros / 1e3, true
	case row.TimestampS:
		return micros / 1e6, true
	case row.TimestampNS:
		return min(micros, math.MaxInt64/1000) * 1e3, true
	case row.Date:
		return micros / 86400e6, true
	}
	return 0, false
}

// noWatermark says that changes may come anywhere.
func (i *Info) noWatermark() { i.Watermark, i.Floors = -1, nil }

// follow makes c the column of the watermark if e, over the input, follows that of the input and none does yet.
func (i *Info) follow(c int, e Expr, in *Info) {
	if in.Watermark < 0 || i.Watermark >= 0 || !followsWatermark(e, in.Watermark) {
		return
	}
	i.Watermark, i.Floors = c, floorsOf(e, in)
}

// withinPartitions keeps the watermark only if partitions are of one time: a change of another time changes other rows as well.
func (i *Info) withinPartitions(by []Expr) {
	if !slices.ContainsFunc(by, func(e Expr) bool { r, ok := e.(*ColumnRef); return ok && r.Index == i.Watermark }) {
		i.noWatermark()
	}
}

// deriveJoinWatermark: a row of one side meets rows of any time on the other, unless their times are equal.
func deriveJoinWatermark(i *Info, n *Join, l, r *Info) {
	if n.Kind != Inner && n.Kind != Semi {
		return
	}
	for _, c := range n.Conditions {
		a, left := c.Left.(*ColumnRef)
		b, right := c.Right.(*ColumnRef)
		if c.Op == Equal && left && right && a.Index == l.Watermark && b.Index == r.Watermark && a.Type.Kind == b.Type.Kind {
			i.Watermark, i.Floors = a.Index, append(slices.Clone(l.Floors), r.Floors...)
			return
		}
	}
}

// delays are how far behind the watermark is.
func (i *Info) delays() string {
	var out []string
	for _, f := range i.Floors {
		if d := f.Source.Delay; d != "" && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return strings.Join(out, " or ")
}

// followsWatermark says that the expression never falls while the column does not: the column itself, or its bucket.
// date_trunc of an instant is none of those: when clocks go back it does. Nor is an instant some days later.
func followsWatermark(e Expr, column int) bool {
	switch e := e.(type) {
	case *ColumnRef:
		return e.Index == column
	case *Cast:
		from, to := e.Child.Result().Kind, e.Type.Kind
		return !e.Try && (from == row.Timestamp && to == row.Date || from == row.Date && to == row.Timestamp) && followsWatermark(e.Child, column)
	case *Function:
		constants := 0
		for _, a := range e.Args {
			if _, ok := a.(*Constant); ok {
				constants++
			}
		}
		if constants != len(e.Args)-1 || constants == 0 {
			return false
		}
		switch e.Name {
		case "time_bucket":
			return followsWatermark(e.Args[1], column)
		case "date_trunc":
			return len(e.Args) == 2 && e.Args[1].Result().Kind != row.TimestampTZ && followsWatermark(e.Args[1], column)
		case "+", "-":
			c, ok := e.Args[1].(*Constant)
			if !ok {
				return false
			}
			iv, ok := c.Value.(Interval)
			return ok && iv.Months == 0 && (iv.Days == 0 || e.Args[0].Result().Kind != row.TimestampTZ) && followsWatermark(e.Args[0], column)
		}
	}
	return false
}
