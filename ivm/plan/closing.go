package plan

// Closing says when a row of a join's side can meet nothing any more, so that its state can be let go: when its own time is behind the
// watermark, so that it does not change, and Value too is behind what the other side is compared by, which must not be above it.
type Closing struct {
	Own   int     // the side's column that its watermark follows
	Below []Floor // what is known of that
	Value Expr    // over the side's row
	Above []Floor // what is known of the other side's
}

// deriveClosings finds, for each side, a condition that bounds the other side's times from above.
func deriveClosings(i *Info, n *Join, l, r *Info) {
	if n.Kind != Inner && n.Kind != Left && n.Kind != Full && n.Kind != Semi && n.Kind != Anti || l.Watermark < 0 || r.Watermark < 0 {
		return
	}
	for _, c := range n.Conditions {
		if !c.Left.Result().Equal(c.Right.Result()) {
			continue
		}
		if _, ok := Ticks(c.Left.Result(), 0); !ok {
			continue
		}
		if i.Closings[0] == nil && (c.Op == GreaterEqual || c.Op == Greater || c.Op == Equal) && followsWatermark(c.Right, r.Watermark) {
			i.Closings[0] = &Closing{l.Watermark, l.Floors, c.Left, floorsOf(c.Right, r)}
		}
		if i.Closings[1] == nil && (c.Op == LessEqual || c.Op == Less || c.Op == Equal) && followsWatermark(c.Left, l.Watermark) {
			i.Closings[1] = &Closing{r.Watermark, r.Floors, c.Right, floorsOf(c.Left, l)}
		}
	}
}

// floorsOf is what is known of an expression that follows the watermark of the input.
func floorsOf(e Expr, in *Info) []Floor {
	var out []Floor
	for _, f := range in.Floors {
		out = append(out, Floor{f.Source, Rewrite(e, func(x Expr) Expr {
			if _, ok := x.(*ColumnRef); ok {
				return f.Value
			}
			return x
		})})
	}
	return out
}

// KeyClosing says when a key of a join by equality can meet nothing any more: when one of its fields, which follows the watermarks of both
// sides, is behind both.
type KeyClosing struct {
	Condition int     // the field's place among the conditions
	Floors    []Floor // what is known of it, by both sides
}

// deriveKeyClosing finds two equal times that both follow their side's watermark.
func deriveKeyClosing(i *Info, n *Join, l, r *Info) {
	if n.Kind != Inner && n.Kind != Left && n.Kind != Full && n.Kind != Semi && n.Kind != Anti || l.Watermark < 0 || r.Watermark < 0 {
		return
	}
	for k, c := range n.Conditions {
		if c.Op != Equal && c.Op != NotDistinct || !c.Left.Result().Equal(c.Right.Result()) {
			continue
		}
		if _, ok := Ticks(c.Left.Result(), 0); ok && followsWatermark(c.Left, l.Watermark) && followsWatermark(c.Right, r.Watermark) {
			i.KeyClosing = &KeyClosing{k, append(floorsOf(c.Left, l), floorsOf(c.Right, r)...)}
			return
		}
	}
}
