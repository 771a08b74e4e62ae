package plan

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
)

func (d *decoder) projection(t *tree) (Node, error) {
	in, err := d.child(t)
	if err != nil {
		return nil, err
	}
	p := &Project{Input: in}
	items := t.get("expressions").list()
	cols := in.Columns()
	for i := range items {
		e := d.expr(&items[i], nil)
		name := items[i].str("alias")
		if r, ok := e.(*ColumnRef); ok && name == "" && r.Index >= 0 && r.Index < len(cols) {
			name = cols[r.Index].Name
		}
		p.Exprs, p.Names = append(p.Exprs, e), append(p.Names, name)
	}
	if err := d.wellFormed(p); err != nil {
		return nil, err
	}
	return sortedLists(p), nil
}

func (d *decoder) filter(t *tree) (Node, error) {
	in, err := d.child(t)
	if err != nil {
		return nil, err
	}
	if p := AndAll(d.exprs(t.get("expressions"), nil)); p != nil {
		in = &Filter{in, p}
	}
	return pick(in, t.get("projection_map").ints())
}

func (d *decoder) aggregate(t *tree) (Node, error) {
	in, err := d.child(t)
	if err != nil {
		return nil, err
	}
	a := &Aggregate{Input: in, Groups: d.exprs(t.get("groups"), nil), Pos: NoPosition}
	groups := t.get("groups").list()
	for i := range groups {
		a.Names = append(a.Names, groups[i].str("alias"))
	}
	sets := t.get("grouping_sets").list()
	for i := range sets {
		set, err := positions(&sets[i], len(a.Groups))
		if err != nil {
			return nil, err
		}
		a.Sets = append(a.Sets, set)
	}
	if len(a.Sets) == 1 && len(a.Sets[0]) == len(a.Groups) {
		a.Sets = nil
	}
	calls := t.get("grouping_functions").list()
	for i := range calls {
		call := calls[i].ints()
		for _, g := range call {
			if g < 0 || g >= len(a.Groups) {
				return nil, fmt.Errorf("grouping(…) of group %d of %d", g, len(a.Groups))
			}
		}
		a.Groupings = append(a.Groupings, call)
	}
	items := t.get("expressions").list()
	for i := range items {
		agg, err := d.agg(&items[i])
		if err != nil {
			return nil, err
		}
		a.Aggs = append(a.Aggs, agg)
	}
	return a, nil
}

// positions are different numbers below n, sorted.
func positions(t *tree, n int) ([]int, error) {
	out := t.ints()
	slices.Sort(out)
	if len(slices.Compact(slices.Clone(out))) != len(out) || len(out) > 0 && (out[0] < 0 || out[len(out)-1] >= n) {
		return nil, fmt.Errorf("positions %v of %d", out, n)
	}
	return out, nil
}

func (d *decoder) agg(t *tree) (Agg, error) {
	a := Agg{Name: t.str("name"), Args: d.exprs(t.get("children"), nil), Distinct: t.str("aggregate_type") == "DISTINCT",
		Filter: d.optional(t.get("filter"), nil), Order: d.order(t.get("order_bys").get("orders")), Pos: position(t), Column: t.str("alias")}
	if t.str("expression_class") != "BOUND_AGGREGATE" || a.Name == "" {
		return a, unknownExpression(t.str("expression_class"), a.Pos)
	}
	if s := t.str("schema_name"); s != "main" {
		a.Schema = s
	}
	var err error
	if a.Type, err = d.typeOf(t.get("return_type")); err != nil {
		return a, err
	}
	a.Params, a.Data = d.params(a.Name, t.get("function_data"))
	a.ArgTypes = d.argTypes(t)
	a.Internal = a.Name == "first" && len(a.Args) == 1 && strings.HasPrefix(a.Column, "__collated_group")
	if a.Column == "" {
		a.Column = a.Name
	}
	return a, nil
}

// params are the arguments that DuckDB took out of an aggregate's call and keeps beside it; rest is what is not known of those.
func (d *decoder) params(name string, data *tree) (params []*Constant, rest string) {
	if data.kind != jsonObject || len(data.keys) == 0 {
		return nil, ""
	}
	if s := data.get("separator"); s.kind == jsonString {
		return []*Constant{{Typed{row.Type{Kind: row.Varchar}, NoPosition}, s.text}}, ""
	}
	if low := data.get("min"); name == "bitstring_agg" && low.kind == jsonObject {
		for _, end := range []*tree{low, data.get("max")} {
			c, err := d.constant(end, 0)
			if err != nil || c.Value == nil {
				return nil, data.compact()
			}
			params = append(params, c)
		}
		return params, ""
	}
	quantiles := data.get("quantiles").list()
	if len(quantiles) == 0 {
		return nil, data.compact()
	}
	var list Elements
	for i := range quantiles {
		c, err := d.constant(&quantiles[i], 0)
		if err != nil {
			return nil, data.compact()
		}
		if data.bool("desc") { // what DuckDB makes of WITHIN GROUP (ORDER BY … DESC)
			if c = negated(c); c == nil {
				return nil, data.compact()
			}
		}
		list = append(list, c)
	}
	switch {
	case name == "median" || name == "mad":
		return nil, ""
	case len(list) == 1:
		return list, ""
	}
	t := row.Type{Kind: row.List, Children: []row.Type{list[0].Type}}
	return []*Constant{{Typed{t, NoPosition}, list}}, ""
}

// negated is minus a number, nil for other constants.
func negated(c *Constant) *Constant {
	switch v := c.Value.(type) {
	case float64:
		return &Constant{c.Typed, -v}
	case *big.Int:
		return &Constant{c.Typed, new(big.Int).Neg(v)}
	}
	return nil
}

func (d *decoder) argTypes(t *tree) []row.Type {
	var out []row.Type
	types := t.get("arguments").list()
	for i := range types {
		a, err := d.typeOf(&types[i])
		if err != nil {
			a = row.Type{}
		}
		out = append(out, a)
	}
	return out
}

func (d *decoder) distinct(t *tree) (Node, error) {
	in, err := d.child(t)
	if err != nil {
		return nil, err
	}
	cols := in.Columns()
	targets := d.exprs(t.get("distinct_targets"), nil)
	if t.str("distinct_type") != "DISTINCT_ON" {
		all := len(targets) == len(cols)
		for i, e := range targets {
			r, ok := e.(*ColumnRef)
			all = all && ok && r.Index == i
		}
		if all || len(targets) == 0 {
			return &DistinctRows{in, NoPosition}, nil
		}
	}
	// One row of each group of rows whose targets are equal: under a collation the targets are not the columns.
	return &TopK{Input: in, Partition: targets, Order: d.order(t.get("order_by").get("orders")), Limit: 1, Pos: NoPosition}, nil
}

func (d *decoder) setOp(t *tree) (Node, error) {
	in := d.children(t)
	if len(in) == 1 && t.str("type") == "LOGICAL_UNION" { // DuckDB takes inputs out that it knows to be empty
		return in[0], nil
	}
	if len(in) < 2 {
		return nil, fmt.Errorf("%s has %d inputs", t.str("type"), len(in))
	}
	n := &SetOp{In: in, Pos: NoPosition}
	all := t.bool("setop_all")
	switch t.str("type") {
	case "LOGICAL_EXCEPT":
		if n.Kind = Except; all {
			n.Kind = ExceptAll
		}
	case "LOGICAL_INTERSECT":
		if n.Kind = Intersect; all {
			n.Kind = IntersectAll
		}
	}
	if n.Kind != UnionAll && len(in) != 2 {
		return nil, fmt.Errorf("%s has %d inputs", t.str("type"), len(in))
	}
	// DuckDB matches these rows by what the collation of the first input's texts makes of them, and does not say so in the plan.
	if n.Kind != UnionAll && slices.ContainsFunc(in[0].Columns(), func(c Column) bool { return c.Type.Collation != "" }) {
		return d.refuse(t, in, UnknownOperator, "EXCEPT and INTERSECT match texts by their collation", "make the texts of both sides equal by a function, as in: lower(x)"), nil
	}
	return n, nil
}

func (d *decoder) unnest(t *tree) (Node, error) {
	in, err := d.child(t)
	if err != nil {
		return nil, err
	}
	u := &Unnest{Input: in, Pos: NoPosition}
	items := t.get("expressions").list()
	for i := range items {
		if items[i].str("expression_class") != "BOUND_UNNEST" {
			return nil, unknownExpression(items[i].str("expression_class"), position(&items[i]))
		}
		list := d.expr(items[i].get("child"), nil)
		switch list.Result().Kind {
		case row.Array: // its elements are a list's
			list = &Cast{Typed{row.Type{Kind: row.List, Children: list.Result().Children}, NoPosition}, false, list}
		case row.List, row.Map, row.Null:
		default:
			return nil, unknownExpression("unnest of "+list.Result().String(), position(&items[i]))
		}
		name := items[i].str("alias")
		if name == "" {
			name = "unnest"
		}
		u.Lists, u.Names = append(u.Lists, list), append(u.Names, name)
	}
	return u, nil
}

// orderBy is left out: a relation has no order. A LIMIT looks below itself for it.
func (d *decoder) orderBy(t *tree) (Node, error) {
	in, err := d.child(t)
	if err != nil {
		return nil, err
	}
	return pick(in, t.get("projections").ints())
}

func (d *decoder) limit(t *tree) (Node, error) {
	kids := t.get("children").list()
	if len(kids) != 1 {
		return nil, fmt.Errorf("LIMIT has %d inputs", len(kids))
	}
	limit, ok1 := limitValue(t.get("limit_val"), -1)
	offset, ok2 := limitValue(t.get("offset_val"), 0)
	if !ok1 || !ok2 {
		return nil, &unsupported{ComputedLimit, NoPosition, "the number of rows is not a constant", "write LIMIT and OFFSET as numbers"}
	}
	below, which := &kids[0], []int(nil)
	var items []OrderItem
	if below.str("type") == "LOGICAL_ORDER_BY" {
		items, which = d.order(below.get("orders")), below.get("projections").ints()
		inner := below.get("children").list()
		if len(inner) != 1 {
			return nil, fmt.Errorf("ORDER BY has %d inputs", len(inner))
		}
		below = &inner[0]
	}
	in := d.node(below)
	if limit < 0 && offset == 0 {
		return pick(in, which)
	}
	n := &TopK{Input: in, Order: items, Limit: limit, Offset: offset, Pos: NoPosition}
	if err := d.wellFormed(n); err != nil {
		return nil, err
	}
	return pick(n, which)
}

func limitValue(t *tree, unset int64) (int64, bool) {
	switch t.str("type") {
	case "CONSTANT_VALUE":
		n, ok := t.get("constant_integer").uint()
		return int64(n), ok && n <= 1<<62
	case "UNSET", "":
		return unset, true
	}
	return 0, false
}

func (d *decoder) topN(t *tree) (Node, error) {
	in, err := d.child(t)
	if err != nil {
		return nil, err
	}
	limit, ok1 := t.get("limit").uint()
	offset, ok2 := t.get("offset").uint()
	if !ok1 || !ok2 || limit > 1<<62 || offset > 1<<62 {
		return nil, fmt.Errorf("a TOP_N without numbers")
	}
	return &TopK{Input: in, Order: d.order(t.get("orders")), Limit: int64(limit), Offset: int64(offset), Pos: NoPosition}, nil
}

func (d *decoder) sample(t *tree) (Node, error) {
	in, err := d.child(t)
	if err != nil {
		return nil, err
	}
	n := d.refuse(t, []Node{in}, Sample, "a sample is another one each time", "filter by a hash of a key instead")
	n.Cols = in.Columns()
	return n, nil
}

func (d *decoder) positional(t *tree) (Node, error) {
	l, r, err := d.two(t)
	if err != nil {
		return nil, err
	}
	n := d.refuse(t, []Node{l, r}, PositionalJoin, "the rows of a table have no places", "join on a key")
	n.Cols = append(l.Columns(), r.Columns()...)
	return n, nil
}

// cte reads a subplan and what uses it.
func (d *decoder) cte(t *tree) (Node, error) {
	kids := t.get("children").list()
	if len(kids) != 2 {
		return nil, fmt.Errorf("a CTE has %d inputs", len(kids))
	}
	s := newShared(t.str("ctename"), d.node(&kids[0]))
	index := t.get("table_index").int()
	before, had := d.ctes[index]
	d.ctes[index] = s
	n := d.node(&kids[1])
	if delete(d.ctes, index); had {
		d.ctes[index] = before
	}
	return n, nil
}

func (d *decoder) cteRef(t *tree) (Node, error) {
	s := d.ctes[t.get("cte_index").int()]
	if s == nil {
		return nil, fmt.Errorf("a CTE that is not there")
	}
	return s, nil
}

func (d *decoder) recursive(t *tree) (Node, error) {
	kids := t.get("children").list()
	if len(kids) != 2 {
		return nil, fmt.Errorf("a recursive CTE has %d inputs", len(kids))
	}
	base := d.node(&kids[0])
	index := t.get("table_index").int()
	d.ctes[index] = newShared(t.str("ctename"), base)
	step := d.node(&kids[1]) // for its own reasons
	delete(d.ctes, index)
	n := d.refuse(t, []Node{base, step}, RecursiveQuery, "the recursive query "+quoteName(t.str("ctename"))+" is not maintained", "unroll it to a fixed depth")
	n.Cols = base.Columns()
	return n, nil
}
