package dataflow

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// BuildOptions are what a plan does not say.
type BuildOptions struct {
	Tables    Tables         // where state lies; nil is in memory
	Evaluator eval.Evaluator // of expressions that have no path in Go
	TimeZone  string         // of the view; "" is UTC
	// Parallelism is how many shards an operator with keys has; 0 is 1. The tables must be Parted for more.
	Parallelism int
	// Groups evaluates functions over the kept rows of groups or of partitions; nil refuses the functions that need it.
	Groups eval.Groups
	// Late is told of changes that are dropped because they come behind a source's watermark; nil: they are only counted.
	Late func(Lateness)
	// KeepDropped keeps these changes for who takes them with Graph.Dropped.
	KeepDropped bool
}

// Input is a source of a graph: the columns that are read of it, in the table's order. If the source has a watermark, its deltas
// have one more field (UBIGINT): the number of the position that the change is of, such as a snapshot's. Numbers grow.
type Input struct {
	Source   *plan.Source
	Fields   []plan.TableColumn
	Position bool // the last field is there
}

// Layout is that of the source's deltas.
func (in Input) Layout() *row.Layout {
	types := make([]row.Type, len(in.Fields))
	for i, f := range in.Fields {
		types[i] = f.Type
	}
	if in.Position {
		types = append(types, row.Type{Kind: row.Uint64})
	}
	return row.NewLayout(types...)
}

// Time is the field of the watermark column, or -1.
func (in Input) Time() int {
	return slices.IndexFunc(in.Fields, func(f plan.TableColumn) bool { return strings.EqualFold(f.Name, in.Source.Watermark) })
}

// Build makes the graph of an admitted plan. The deltas that its steps take are those of the inputs, in their order.
func Build(ctx context.Context, p *plan.Plan, o BuildOptions) (*Graph, []Input, error) {
	if !p.Admitted() {
		return nil, nil, fault.NotYetSupported.Newf("the plan is not admitted: %s", p.Reasons[0]).WithHint("EXPLAIN STREAMING lists all reasons")
	}
	if o.Tables == nil {
		o.Tables = Memory{}
	}
	graph, err := OpenGraph(o.Tables)
	opened := &openedTables{}
	o.Tables = opened.watch(o.Tables)
	if err != nil {
		return nil, nil, err
	}
	b := &builder{ctx: ctx, graph: graph, o: o, plan: p, done: map[plan.Node]int{}, inputs: map[*plan.Source]int{}, opened: opened, marks: map[*plan.Source]*Watermark{}}
	root := 0
	if err = b.readSources(); err == nil {
		root, err = b.node(p.Root)
	}
	if err == nil && root != b.graph.last {
		// What leaves the graph is what was added last.
		b.add(p.Root, "result", NewUnion(b.layout(root)), root)
	}
	if err != nil {
		b.graph.Close()
		return nil, nil, err
	}
	return b.graph, b.list, nil
}

type builder struct {
	ctx    context.Context // of Build
	graph  *Graph
	o      BuildOptions
	plan   *plan.Plan
	done   map[plan.Node]int // nodes that are built
	inputs map[*plan.Source]int
	marks  map[*plan.Source]*Watermark
	opened *openedTables
	list   []Input
	starts []int // the node of each input, behind its watermark
	tables int
}

// readSources adds a source for each table, with all columns that any scan of it reads, and the watermark's.
func (b *builder) readSources() error {
	read := map[*plan.Source]map[string]bool{}
	for _, i := range b.plan.Nodes {
		if s, ok := i.Node.(*plan.Scan); ok {
			if read[s.Source] == nil {
				read[s.Source] = map[string]bool{}
			}
			for _, f := range s.Fields {
				read[s.Source][f.Name] = true
			}
		}
	}
	for _, s := range b.plan.Sources() {
		in := Input{Source: s}
		for _, c := range s.Columns {
			if read[s][c.Name] || s.Watermark != "" && strings.EqualFold(c.Name, s.Watermark) {
				in.Fields = append(in.Fields, c)
			}
		}
		in.Position = in.Time() >= 0
		b.inputs[s] = len(b.list)
		b.list = append(b.list, in)
		at := b.graph.Source(s.String(), in.Layout())
		b.graph.nodes[at].rows = in.relation()
		b.starts = append(b.starts, at)
	}
	for i, in := range b.list {
		if !in.Position {
			continue
		}
		var err error
		if b.starts[i], err = b.watermark(in, b.starts[i]); err != nil {
			return err
		}
	}
	return nil
}

// sharded adds an operator that is made for each shard. keys are, for each input, the expressions whose values decide
// which rows meet; without any, all rows may meet and there is one shard.
func (b *builder) sharded(n plan.Node, what string, in []int, keys [][]plan.Expr, make func(name string, t Tables) (Operator, error)) (int, error) {
	name := b.name(what)
	count := b.o.Parallelism
	var by []*row.Layout
	for i, k := range keys {
		if len(k) == 0 { // all its rows meet, and its tables are whole
			op, err := make(name, b.o.Tables)
			if err != nil {
				return 0, err
			}
			return b.add(n, what, op, in...), nil
		}
		by = append(by, b.keyLayout(b.layout(in[i]), k))
	}
	parted, ok := b.o.Tables.(Parted)
	if count <= 1 || !ok { // it may go on in several
		op, err := make(name, routed{b.o.Tables, by})
		if err != nil {
			return 0, err
		}
		return b.add(n, what, op, in...), nil
	}
	var parts []Operator
	for i := range count {
		op, err := make(name, routed{parted.Part(i, count), by})
		if err != nil {
			return 0, err
		}
		parts = append(parts, op)
	}
	var routers []Program
	var layouts []*row.Layout
	for i, k := range keys {
		layouts = append(layouts, b.layout(in[i]))
		p, err := b.keyProgram(layouts[i], k)
		if err != nil {
			return 0, err
		}
		routers = append(routers, p)
	}
	return b.add(n, what, newSharded(parts, routers, layouts), in...), nil
}

func (b *builder) options() eval.Options {
	return eval.Options{Evaluator: b.o.Evaluator, TimeZone: b.o.TimeZone}
}

func (b *builder) layout(node int) *row.Layout { return b.graph.nodes[node].out.Layout }

func (b *builder) add(n plan.Node, what string, op Operator, in ...int) int {
	id := -1
	if i := b.plan.Info(n); i != nil {
		id = i.ID
		what = fmt.Sprintf("%s %d", i.Operator, i.ID)
	}
	at := b.graph.Add(what, op, in...)
	b.graph.nodes[at].plan, b.graph.nodes[at].tables = id, b.opened.take()
	return at
}

// name is a table's: its operator's place in the plan, which is the same each time that the plan is built.
func (b *builder) name(what string) string {
	b.tables++
	return fmt.Sprintf("%d-%s", b.tables, what)
}

// node builds a node once and gives its number in the graph.
func (b *builder) node(n plan.Node) (int, error) {
	if id, ok := b.done[n]; ok {
		return id, nil
	}
	id, err := b.build(n)
	if err == nil {
		b.done[n] = id
	}
	return id, err
}

func (b *builder) build(n plan.Node) (int, error) {
	switch n := n.(type) {
	case *plan.Scan:
		return b.scan(n)
	case *plan.Shared:
		return b.node(n.Input)
	case *plan.Values:
		return b.values(n)
	case *plan.Filter:
		return b.mapping(n, n.Input, columnsOf(n.Input), n.Pred)
	case *plan.Project:
		if f, ok := n.Input.(*plan.Filter); ok {
			if _, done := b.done[f]; !done {
				return b.mapping(n, f.Input, n.Exprs, f.Pred)
			}
		}
		return b.mapping(n, n.Input, n.Exprs, nil)
	case *plan.Temporal:
		return b.temporal(n)
	case *plan.Join:
		return b.join(n, nil, [2]bool{})
	case *plan.Aggregate:
		return b.aggregate(n)
	case *plan.DistinctRows:
		return b.distinct(n)
	case *plan.SetOp:
		return b.setOp(n)
	case *plan.TopK:
		return b.topK(n)
	case *plan.Window:
		return b.window(n)
	case *plan.Unnest:
		return b.unnest(n)
	}
	return 0, fault.NotYetSupported.Newf("the engine has no operator for %T", n).WithHint("make a traditional view of the query")
}

// scan reads a source, or some of its columns.
func (b *builder) scan(n *plan.Scan) (int, error) {
	at := b.inputs[n.Source]
	from := b.list[at].Fields
	exprs := make([]plan.Expr, len(n.Fields))
	same := len(from) == len(n.Fields)
	for i, f := range n.Fields {
		for j, c := range from {
			if c.Name == f.Name {
				exprs[i] = columnRef(j, c.Type)
				same = same && i == j
			}
		}
	}
	source := b.starts[at]
	if same {
		return source, nil
	}
	return b.program(n, source, exprs, nil)
}

// mapping computes exprs of the rows of input that pred is true for.
func (b *builder) mapping(n, input plan.Node, exprs []plan.Expr, pred plan.Expr) (int, error) {
	if j, ok := input.(*plan.Join); ok {
		if _, done := b.done[j]; !done {
			return b.ofJoin(n, j, exprs, pred)
		}
	}
	in, err := b.node(input)
	if err != nil {
		return 0, err
	}
	if pred == nil && isIdentity(exprs, b.layout(in)) {
		return in, nil
	}
	return b.program(n, in, exprs, pred)
}

func (b *builder) program(n plan.Node, in int, exprs []plan.Expr, pred plan.Expr) (int, error) {
	p, err := b.compile(b.layout(in), exprs, pred)
	if err != nil {
		return 0, err
	}
	at := b.add(n, "mapping", NewMapping(p), in)
	b.graph.nodes[at].rows = b.relation(n)
	return at, nil
}

// compile makes a program that ends with the graph.
func (b *builder) compile(in *row.Layout, exprs []plan.Expr, pred plan.Expr) (Program, error) {
	p, err := eval.Compile(in, exprs, pred, b.options())
	if err != nil {
		return nil, err
	}
	b.graph.programs = append(b.graph.programs, p)
	return program{p}, nil
}

// program is an eval.Program as operators see it.
type program struct{ *eval.Program }

func (p program) Layout() *row.Layout { return p.Out }

func columnRef(i int, t row.Type) *plan.ColumnRef {
	return &plan.ColumnRef{Typed: plan.Typed{Type: t, Pos: plan.NoPosition}, Index: i}
}

// columnsOf are all columns of a node as expressions.
func columnsOf(n plan.Node) []plan.Expr {
	cols := n.Columns()
	out := make([]plan.Expr, len(cols))
	for i, c := range cols {
		out[i] = columnRef(i, c.Type)
	}
	return out
}

// isIdentity says that the expressions are the input's columns in their order.
func isIdentity(exprs []plan.Expr, in *row.Layout) bool {
	if len(exprs) != len(in.Types) {
		return false
	}
	for i, e := range exprs {
		if c, ok := e.(*plan.ColumnRef); !ok || c.Index != i || !c.Type.Equal(in.Types[i]) {
			return false
		}
	}
	return true
}

func (b *builder) values(n *plan.Values) (int, error) {
	types := make([]row.Type, len(n.Cols))
	for i, c := range n.Cols {
		types[i] = c.Type
	}
	none := row.NewLayout()
	programs := make([]Program, len(n.Rows))
	for i, exprs := range n.Rows {
		var err error
		if programs[i], err = b.compile(none, exprs, nil); err != nil {
			return 0, err
		}
	}
	return b.add(n, "values", NewValues(row.NewLayout(types...), programs)), nil
}
