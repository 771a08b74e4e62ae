package plan

import "strings"

// asOfKind makes a join that takes the nearest partners only. outer says that right rows which are nobody's nearest are given as well.
func (j *Join) asOfKind(name string) (outer bool, _ error) {
	switch {
	case name == "RIGHT":
		j.Kind, outer = AsOf, true
	case j.Kind == Full:
		j.Kind, outer = AsOfLeft, true
	case j.Kind == Inner:
		j.Kind = AsOf
	case j.Kind == Left:
		j.Kind = AsOfLeft
	case j.Kind == Semi, j.Kind == Anti: // there is a nearest partner when there is any
	default:
		return false, &unsupported{UnknownOperator, NoPosition, "the ASOF join " + strings.ToLower(name) + " is not maintained", ""}
	}
	return outer, nil
}

// nobodys adds to an ASOF join the right rows that are nobody's nearest, padded: all right rows without one of each that was found. What was
// found is marked, since a row of a left join may be padded.
func nobodys(j *Join) (Node, error) {
	if j.Residual != nil {
		return nil, &unsupported{
			UnknownOperator, NoPosition, "a right or full ASOF join with a condition beside its equalities and its inequality is not maintained",
			"DuckDB does not run it either; filter the sides before",
		}
	}
	left, right := j.Left.Columns(), j.Right.Columns()
	n, marked := len(left), &Project{Input: j.Right, Exprs: allRefs(right)}
	for _, c := range right {
		marked.Names = append(marked.Names, c.Name)
	}
	marked.Exprs, marked.Names = append(marked.Exprs, Bool(true)), append(marked.Names, "there")
	all := newShared("right", marked)
	nearest := *j
	nearest.Right = all
	var found Node = newShared("nearest", &nearest)
	cols := found.Columns()

	out := &Project{Input: found}
	rest := &Project{}
	for i, c := range cols[:n+len(right)] {
		out.Exprs, out.Names = append(out.Exprs, ref(cols, i)), append(out.Names, c.Name)
	}
	if j.Kind == AsOfLeft {
		found = &Filter{found, &IsNull{Typed: Typed{boolean, NoPosition}, Not: true, Child: ref(cols, len(cols)-1)}}
	}
	ofRight := &Project{Input: found}
	for i := n; i < len(cols); i++ {
		ofRight.Exprs, ofRight.Names = append(ofRight.Exprs, ref(cols, i)), append(ofRight.Names, cols[i].Name)
	}
	rest.Input = &SetOp{ExceptAll, []Node{all, &DistinctRows{ofRight, j.Pos}}, j.Pos}
	for i, c := range left {
		rest.Exprs, rest.Names = append(rest.Exprs, &Constant{Typed: Typed{left[i].Type, NoPosition}}), append(rest.Names, c.Name)
	}
	of := rest.Input.Columns()
	for i, c := range right {
		rest.Exprs, rest.Names = append(rest.Exprs, ref(of, i)), append(rest.Names, c.Name)
	}
	return &SetOp{UnionAll, []Node{out, rest}, j.Pos}, nil
}
