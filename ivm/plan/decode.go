package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
)

// decoder makes nodes of DuckDB's plan. It never fails as a whole: what it does not know becomes [Unsupported] or
// [Refused], so that every reason is found.
type decoder struct {
	in    *Input
	types map[string]row.Type
	ctes  map[int]*Shared
	delim []*delimited // the correlated subqueries around, innermost last

	read    map[*tree]Node
	checked map[Node]bool // see wellFormed
	depth   int
}

// delimited is the outer side of a correlated subquery, and its columns that the inner side is asked for.
type delimited struct {
	outer   *Shared
	columns []Expr
	used    bool
}

func newDecoder(in *Input) *decoder {
	return &decoder{in: in, types: map[string]row.Type{}, ctes: map[int]*Shared{}, checked: map[Node]bool{}, read: map[*tree]Node{}}
}

// maxNodes bounds the depth of plans, as a protection of the stack.
const maxNodes = 500

// node reads an operator, once: who does not know what to do with its inputs reads them again.
func (d *decoder) node(t *tree) Node {
	if n, ok := d.read[t]; ok {
		return n
	}
	n := d.decode(t)
	d.read[t] = n
	return n
}

func (d *decoder) decode(t *tree) Node {
	d.depth++
	defer func() { d.depth-- }()
	name := t.str("type")
	if d.depth > maxNodes {
		return d.refuse(t, nil, PlanUnreadable, "the plan is nested too deeply", "")
	}
	read, known := decoders[name]
	if !known {
		in := d.children(t)
		var cols []Column
		for _, c := range in {
			cols = append(cols, c.Columns()...)
		}
		n := d.refuse(t, in, UnknownOperator, "the operator "+operatorName(name)+" is not known", "")
		n.Cols = cols
		return n
	}
	n, err := read(d, t)
	if err == nil {
		err = d.wellFormed(n)
	}
	if err != nil {
		in := d.children(t)
		u := d.refuse(t, in, PlanUnreadable, err.Error(), "")
		if e := new(unsupported); errors.As(err, &e) {
			u.Reasons = []Reason{Reason(*e)}
		}
		for _, c := range in {
			u.Cols = append(u.Cols, c.Columns()...)
			if inner, ok := c.(*Unsupported); ok && u.Reasons[0].Code == PlanUnreadable {
				return inner // what does not fit is its doing
			}
		}
		return u
	}
	return n
}

// decoders read each operator. They are told apart by DuckDB's names.
var decoders map[string]func(*decoder, *tree) (Node, error)

func init() {
	decoders = map[string]func(*decoder, *tree) (Node, error){
		"LOGICAL_GET": (*decoder).get, "LOGICAL_PROJECTION": (*decoder).projection, "LOGICAL_FILTER": (*decoder).filter,
		"LOGICAL_AGGREGATE_AND_GROUP_BY": (*decoder).aggregate, "LOGICAL_COMPARISON_JOIN": (*decoder).join,
		"LOGICAL_ANY_JOIN": (*decoder).join, "LOGICAL_ASOF_JOIN": (*decoder).join, "LOGICAL_DELIM_JOIN": (*decoder).delimJoin,
		"LOGICAL_DELIM_GET": (*decoder).delimGet, "LOGICAL_CROSS_PRODUCT": (*decoder).cross, "LOGICAL_DISTINCT": (*decoder).distinct,
		"LOGICAL_UNION": (*decoder).setOp, "LOGICAL_EXCEPT": (*decoder).setOp, "LOGICAL_INTERSECT": (*decoder).setOp,
		"LOGICAL_WINDOW": (*decoder).window, "LOGICAL_ORDER_BY": (*decoder).orderBy, "LOGICAL_LIMIT": (*decoder).limit,
		"LOGICAL_TOP_N": (*decoder).topN, "LOGICAL_UNNEST": (*decoder).unnest, "LOGICAL_MATERIALIZED_CTE": (*decoder).cte,
		"LOGICAL_CTE_REF": (*decoder).cteRef, "LOGICAL_EMPTY_RESULT": (*decoder).empty, "LOGICAL_DUMMY_SCAN": (*decoder).dummy,
		"LOGICAL_EXPRESSION_GET": (*decoder).values, "LOGICAL_SAMPLE": (*decoder).sample,
		"LOGICAL_POSITIONAL_JOIN": (*decoder).positional, "LOGICAL_RECURSIVE_CTE": (*decoder).recursive,
	}
}

func operatorName(name string) string {
	if name == "" {
		return "without a name"
	}
	return strings.ToLower(strings.TrimPrefix(name, "LOGICAL_"))
}

// refuse makes a node that says why it is not another.
func (d *decoder) refuse(t *tree, in []Node, code Code, message, hint string) *Unsupported {
	return &Unsupported{Type: operatorName(t.str("type")), In: in, Reasons: []Reason{{code, NoPosition, message, hint}}, Pos: NoPosition}
}

func (d *decoder) children(t *tree) []Node {
	var out []Node
	kids := t.get("children").list()
	for i := range kids {
		out = append(out, d.node(&kids[i]))
	}
	return out
}

// child is the only child.
func (d *decoder) child(t *tree) (Node, error) {
	kids := t.get("children").list()
	if len(kids) != 1 {
		return nil, fmt.Errorf("%s has %d inputs", t.str("type"), len(kids))
	}
	return d.node(&kids[0]), nil
}

// two are both children.
func (d *decoder) two(t *tree) (Node, Node, error) {
	kids := t.get("children").list()
	if len(kids) != 2 {
		return nil, nil, fmt.Errorf("%s has %d inputs", t.str("type"), len(kids))
	}
	return d.node(&kids[0]), d.node(&kids[1]), nil
}

// wellFormed checks that expressions mean columns that are there, so that nothing behind has to. Nodes that were checked before are not
// checked again.
func (d *decoder) wellFormed(n Node) error {
	if d.checked[n] {
		return nil
	}
	for _, in := range n.Inputs() {
		if err := d.wellFormed(in); err != nil {
			return err
		}
	}
	d.checked[n] = true
	switch n := n.(type) {
	case *Join:
		left, right := n.Left.Columns(), n.Right.Columns()
		for _, c := range n.Conditions {
			if err := refsWithin(c.Left, left); err != nil {
				return err
			}
			if err := refsWithin(c.Right, right); err != nil {
				return err
			}
		}
		return refsWithin(n.Residual, append(left[:len(left):len(left)], right...))
	case *Project, *Filter, *Aggregate, *TopK, *Window, *Unnest:
		cols := n.Inputs()[0].Columns()
		for _, e := range n.exprs() {
			if err := refsWithin(e, cols); err != nil {
				return err
			}
		}
	case *Values:
		for _, r := range n.Rows {
			if len(r) != len(n.Cols) {
				return fmt.Errorf("a row of %d values among rows of %d", len(r), len(n.Cols))
			}
			for _, e := range r {
				if err := refsWithin(e, nil); err != nil {
					return err
				}
			}
		}
	case *SetOp:
		want := n.In[0].Columns()
		for _, in := range n.In {
			cols := in.Columns()
			if len(cols) != len(want) {
				return fmt.Errorf("a set operation over %d and %d columns", len(want), len(cols))
			}
			for i := range cols {
				if !plainCollation(cols[i].Type).Equal(plainCollation(want[i].Type)) {
					return fmt.Errorf("a set operation over %s and %s", want[i].Type, cols[i].Type)
				}
			}
		}
	}
	return nil
}

func refsWithin(e Expr, cols []Column) (err error) {
	Walk(e, func(e Expr) bool {
		r, ok := e.(*ColumnRef)
		if !ok {
			return true
		}
		switch {
		case r.Index < 0 || r.Index >= len(cols):
			err = fmt.Errorf("an expression means column %d of %d", r.Index, len(cols))
		case !plainCollation(r.Type).Equal(plainCollation(cols[r.Index].Type)) && cols[r.Index].Type.Kind != row.Null:
			err = fmt.Errorf("an expression reads column %d, %s, as %s", r.Index, cols[r.Index].Type, r.Type)
		}
		return err == nil
	})
	return err
}

// pick is the input with only the named columns, in that order; an empty list means all.
func pick(n Node, which []int) (Node, error) {
	if len(which) == 0 {
		return n, nil
	}
	cols := n.Columns()
	p := &Project{Input: n}
	for _, i := range which {
		if i < 0 || i >= len(cols) {
			return nil, fmt.Errorf("column %d of %d", i, len(cols))
		}
		p.Exprs, p.Names = append(p.Exprs, ref(cols, i)), append(p.Names, cols[i].Name)
	}
	return p, nil
}

func ref(cols []Column, i int) *ColumnRef {
	return &ColumnRef{Typed{cols[i].Type, NoPosition}, i, cols[i].Name}
}

// allRefs are all columns.
func allRefs(cols []Column) []Expr {
	out := make([]Expr, len(cols))
	for i := range cols {
		out[i] = ref(cols, i)
	}
	return out
}

func names(cols []Column) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = c.Name
	}
	return out
}
