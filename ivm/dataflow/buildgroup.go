package dataflow

import (
	"math/big"
	"slices"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// aggregate prepares rows of group keys, shown values, arguments, filters and orders.
func (b *builder) aggregate(n *plan.Aggregate) (int, error) {
	in, over, of, err := b.aggregateInput(n)
	if err != nil {
		return 0, err
	}
	keys := over.Groups
	if n.Sets != nil { // a row is in several groups
		keys = nil
	}
	return b.sharded(n, "aggregate", []int{in}, [][]plan.Expr{keys}, func(name string, t Tables) (Operator, error) {
		spec, err := b.aggregateSpec(over, in)
		if err != nil {
			return nil, err
		}
		spec.Windows, err = b.windows(n)
		if err != nil {
			return nil, err
		}
		spec.Name = name
		for i := range of {
			spec.Functions[i].Of = of[i]
		}
		return NewAggregate(spec, t)
	})
}

// aggregateInput builds the input, and gives the aggregation over its columns: of a join only those that are read, which keeps the join's
// state small. of are the types of the values that functions add up, where there may be sums of them instead.
func (b *builder) aggregateInput(n *plan.Aggregate) (in int, over *plan.Aggregate, of []row.Type, err error) {
	if in, over, of, err = b.joinOfSums(n); over != nil || err != nil {
		return in, over, of, err
	}
	in, move, err := b.columnsRead(n.Input, readBy(n))
	if err != nil || move == nil {
		return in, n, nil, err
	}
	return in, overColumns(n, move), nil, nil
}

// readBy is all that an aggregation reads of its input.
func readBy(n *plan.Aggregate) (read []plan.Expr) {
	read = append(read, n.Groups...)
	for _, a := range n.Aggs {
		read = append(append(read, a.Args...), a.Filter)
		for _, o := range a.Order {
			read = append(read, o.Expr)
		}
	}
	return read
}

// overColumns is the aggregation with its expressions moved.
func overColumns(n *plan.Aggregate, move func(plan.Expr) plan.Expr) *plan.Aggregate {
	c := *n
	c.Groups, c.Aggs = rewritten(n.Groups, move), slices.Clone(n.Aggs)
	for i := range c.Aggs {
		a := &c.Aggs[i]
		a.Args, a.Order = rewritten(a.Args, move), slices.Clone(a.Order)
		if a.Filter != nil {
			a.Filter = move(a.Filter)
		}
		for k := range a.Order {
			a.Order[k].Expr = move(a.Order[k].Expr)
		}
	}
	return &c
}

func rewritten(es []plan.Expr, f func(plan.Expr) plan.Expr) []plan.Expr {
	out := make([]plan.Expr, len(es))
	for i, e := range es {
		out[i] = f(e)
	}
	return out
}

func (b *builder) aggregateSpec(n *plan.Aggregate, in int) (spec AggregateSpec, err error) {
	p := b.prepare(in)
	spec.Sets = n.Sets
	for _, g := range n.Groups {
		spec.Groups = append(spec.Groups, Group{Key: p.key(g), Shown: p.show(g)})
	}
	for _, a := range n.Aggs {
		spec.Functions = append(spec.Functions, p.function(a))
	}
	for _, g := range n.Groupings {
		spec.Functions = append(spec.Functions, Function{Name: "grouping", Args: g, Result: row.Type{Kind: row.Int64}})
	}
	var foreign []plan.Agg
	for i, f := range spec.Functions[:len(n.Aggs)] {
		if !NativeFunction(f, p.layout()) {
			foreign = append(foreign, n.Aggs[i])
		}
	}
	if len(foreign) > 0 {
		k := kept{p: p}
		for i, a := range foreign {
			foreign[i] = k.agg(a)
		}
		spec.Kept = k.fields
		if spec.Evaluator, err = b.aggregates(&k, foreign); err != nil {
			return spec, err
		}
	}
	spec.from = b.fromSource(n.Input, p)
	spec.Input, spec.Prepare, err = p.program()
	return spec, err
}

func (b *builder) aggregates(k *kept, aggs []plan.Agg) (GroupEvaluator, error) {
	if b.o.Groups == nil {
		return nil, fault.NotYetSupported.Newf("the aggregate function %s needs an evaluator", aggs[0].Name).WithHint("build the graph with one")
	}
	g, err := b.o.Groups.Aggregates(b.ctx, k.layout(), aggs, b.o.TimeZone)
	if err == nil {
		b.graph.keep(g)
	}
	return g, err
}

// function gives the fields of an aggregate function.
func (p *prepared) function(a plan.Agg) Function {
	f := Function{Name: a.Name, Args: p.showAll(a.Args), Distinct: a.Distinct, Result: a.Type}
	if a.Filter != nil {
		f.Filters = []int{p.show(a.Filter)}
	}
	f.Order = p.order(a.Order)
	if n := len(a.Args); n > 0 {
		decides := a.Args[0]
		if n > 1 && (len(a.Name) > 4 && a.Name[:4] == "arg_" || a.Name == "min_by" || a.Name == "max_by") {
			decides = a.Args[1]
		}
		f.Sort = p.sort(decides)
	}
	for i, e := range a.Args {
		if k := p.key(e); k != f.Args[i] && f.Identity == nil {
			f.Identity = append(f.Identity, f.Args[:i]...)
			f.Identity = append(f.Identity, k)
		} else if f.Identity != nil {
			f.Identity = append(f.Identity, k)
		}
	}
	if a.Internal {
		f.Name = "min" // any spelling of the group would do, and this one is the same each time
	}
	for _, p := range a.Params {
		f.parameter(p)
	}
	return f
}

// parameter takes a constant argument: a separator or a quantile.
func (f *Function) parameter(c *plan.Constant) {
	switch v := c.Value.(type) {
	case string:
		f.Separator = v
	case float64:
		f.Quantile = Quantile{Value: v}
	case int64:
		f.Quantile = Quantile{Value: float64(v)}
	case *big.Int:
		scaling := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.Type.Scale)), nil)
		value, _ := new(big.Rat).SetFrac(v, scaling).Float64()
		f.Quantile = Quantile{Value: value, Integral: v.Int64(), Scaling: scaling.Int64()}
	case nil:
		f.SeparatorNull = true
	}
}

// kept are the fields of prepared rows that are kept for an evaluator, and expressions over them.
type kept struct {
	p      *prepared
	fields []int
}

func (k *kept) layout() *row.Layout {
	all := k.p.layout()
	types := make([]row.Type, len(k.fields))
	for i, f := range k.fields {
		types[i] = all.Types[f]
	}
	return row.NewLayout(types...)
}

// expr is the same expression over the kept fields.
func (k *kept) expr(e plan.Expr) plan.Expr {
	if e == nil {
		return nil
	}
	return replaced(e, func(c plan.Expr) int {
		field := k.p.show(c)
		for i, f := range k.fields {
			if f == field {
				return i
			}
		}
		k.fields = append(k.fields, field)
		return len(k.fields) - 1
	})
}

func (k *kept) exprs(es []plan.Expr) []plan.Expr {
	out := make([]plan.Expr, len(es))
	for i, e := range es {
		out[i] = k.expr(e)
	}
	return out
}

func (k *kept) items(items []plan.OrderItem) []plan.OrderItem {
	out := make([]plan.OrderItem, len(items))
	for i, o := range items {
		o.Expr = k.expr(o.Expr)
		out[i] = o
	}
	return out
}

func (k *kept) agg(a plan.Agg) plan.Agg {
	a.Args, a.Filter, a.Order = k.exprs(a.Args), k.expr(a.Filter), k.items(a.Order)
	return a
}

// topK orders partitions and keeps their first rows.
func (b *builder) topK(n *plan.TopK) (int, error) {
	in, err := b.node(n.Input)
	if err != nil {
		return 0, err
	}
	return b.sharded(n, "topk", []int{in}, [][]plan.Expr{n.Partition}, func(name string, t Tables) (_ Operator, err error) {
		p := b.prepare(in)
		spec := TopKSpec{Name: name, Partition: p.keys(n.Partition), Order: p.order(n.Order), Row: p.showAll(columnsOf(n.Input)),
			Limit: n.Limit, Offset: n.Offset, Ties: n.WithTies, Number: n.Number, Repeats: repeats(n.Input)}
		if spec.Input, spec.Prepare, err = p.program(); err != nil {
			return nil, err
		}
		return NewTopK(spec, t)
	})
}

// repeats says that a node's rows are made of other rows that are in many of them.
func repeats(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Project:
		return repeats(n.Input)
	case *plan.Filter:
		return repeats(n.Input)
	case *plan.Join:
		return n.Kind != plan.Semi && n.Kind != plan.Anti && n.Kind != plan.Mark && n.Kind != plan.Single
	case *plan.Unnest:
		return true
	}
	return false
}

// window prepares rows of partition keys, orders, arguments and what is shown.
func (b *builder) window(n *plan.Window) (int, error) {
	in, err := b.node(n.Input)
	if err != nil {
		return 0, err
	}
	return b.sharded(n, "window", []int{in}, [][]plan.Expr{n.Partition}, func(name string, t Tables) (Operator, error) {
		spec, err := b.windowSpec(n, in)
		if err != nil {
			return nil, err
		}
		spec.Name = name
		return NewWindow(spec, t)
	})
}

func (b *builder) windowSpec(n *plan.Window, in int) (spec WindowSpec, err error) {
	p := b.prepare(in)
	spec = WindowSpec{Partition: p.keys(n.Partition), Order: p.order(n.Order), Row: p.showAll(columnsOf(n.Input)), Repeats: repeats(n.Input)}
	foreign := *n
	foreign.Funcs = nil
	for _, f := range n.Funcs {
		w, native := p.windowFunction(f)
		w.Evaluated = !native
		if !native {
			foreign.Funcs = append(foreign.Funcs, f)
		}
		spec.Functions = append(spec.Functions, w)
	}
	if len(foreign.Funcs) > 0 {
		k := kept{p: p}
		foreign.Partition, foreign.Order = k.exprs(n.Partition), k.items(n.Order)
		for i, f := range foreign.Funcs {
			f.Args, f.Filter, f.ArgOrder, f.Offset, f.Default = k.exprs(f.Args), k.expr(f.Filter), k.items(f.ArgOrder), k.expr(f.Offset), k.expr(f.Default)
			f.Frame.Start.Expr, f.Frame.End.Expr = k.expr(f.Frame.Start.Expr), k.expr(f.Frame.End.Expr)
			foreign.Funcs[i] = f
		}
		if b.o.Groups == nil {
			return spec, fault.NotYetSupported.Newf("the window function %s needs an evaluator", foreign.Funcs[0].Name).WithHint("build the graph with one")
		}
		spec.Kept = k.fields
		if spec.Evaluator, err = b.o.Groups.Windows(b.ctx, k.layout(), &foreign, b.o.TimeZone); err != nil {
			return spec, err
		}
		b.graph.keep(spec.Evaluator)
	}
	spec.Input, spec.Prepare, err = p.program()
	return spec, err
}

// windowFunction gives the fields of a function that the operator computes itself.
func (p *prepared) windowFunction(f plan.WindowFunc) (WindowFunction, bool) {
	w := WindowFunction{Name: f.Name, Result: f.Type, Offset: 1}
	if f.Aggregate || f.Distinct || f.IgnoreNulls || f.Filter != nil || len(f.ArgOrder) > 0 {
		return w, false
	}
	switch f.Name {
	case "row_number", "rank", "dense_rank":
		return w, true
	case "lag", "lead":
		if f.Offset != nil {
			c, ok := f.Offset.(*plan.Constant)
			if !ok {
				return w, false
			}
			if w.Offset, ok = c.Value.(int64); !ok {
				return w, false
			}
		}
		w.Args = p.showAll(f.Args)
		if f.Default != nil {
			w.Default = 1 + p.show(f.Default)
		}
		return w, true
	}
	return w, false
}

func (b *builder) unnest(n *plan.Unnest) (int, error) {
	in, err := b.node(n.Input)
	if err != nil {
		return 0, err
	}
	p := b.prepare(in)
	spec := UnnestSpec{Row: p.showAll(columnsOf(n.Input)), Lists: make([]int, len(n.Lists)), Elements: make([][]int, len(n.Lists))}
	for i, l := range n.Lists {
		if items := writtenOut(l); items != nil {
			spec.Elements[i] = p.showAll(items)
		} else {
			spec.Lists[i] = p.show(l)
		}
	}
	if spec.Input, spec.Prepare, err = p.program(); err != nil {
		return 0, err
	}
	op, err := NewUnnest(spec)
	if err != nil {
		return 0, err
	}
	return b.add(n, "unnest", op, in), nil
}

// writtenOut are the elements of a list that is written [a, b, c], or nil.
func writtenOut(l plan.Expr) []plan.Expr {
	f, ok := l.(*plan.Function)
	if !ok || f.Name != "list_value" && f.Name != "array_value" || len(f.Args) == 0 || len(l.Result().Children) == 0 {
		return nil
	}
	for _, a := range f.Args {
		if !a.Result().Equal(l.Result().Children[0]) {
			return nil
		}
	}
	return f.Args
}
