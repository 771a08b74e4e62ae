package dataflow

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// prepared collects the fields of the rows that an operator wants to be given: shown values, keys, order fields and
// filters, each once. Normal forms are those of columns, so what is computed for one becomes a column first.
type prepared struct {
	b       *builder
	in      *row.Layout
	columns []plan.Expr // of the rows in between: the input's, then what is computed
	exprs   []plan.Expr // over those
}

func (b *builder) prepare(in int) *prepared { return b.prepareLayout(b.layout(in)) }

func (b *builder) prepareLayout(in *row.Layout) *prepared {
	p := &prepared{b: b, in: in}
	for i, t := range in.Types {
		p.columns = append(p.columns, columnRef(i, t))
	}
	return p
}

// column makes e a column of the rows in between.
func (p *prepared) column(e plan.Expr) *plan.ColumnRef {
	if c, ok := e.(*plan.ColumnRef); ok {
		return c
	}
	for i, x := range p.columns {
		if i >= len(p.in.Types) && plan.Same(x, e) {
			return columnRef(i, e.Result())
		}
	}
	p.columns = append(p.columns, e)
	return columnRef(len(p.columns)-1, e.Result())
}

func (p *prepared) field(e plan.Expr) int {
	for i, x := range p.exprs {
		if sameField(x, e) {
			return i
		}
	}
	p.exprs = append(p.exprs, e)
	return len(p.exprs) - 1
}

func sameField(a, b plan.Expr) bool {
	m, ok := a.(*eval.Normal)
	n, ok2 := b.(*eval.Normal)
	if ok || ok2 {
		return ok && ok2 && m.Same(n)
	}
	return plan.Same(a, b)
}

// show is the field of a value as it is.
func (p *prepared) show(e plan.Expr) int { return p.field(p.column(e)) }

func (p *prepared) showAll(es []plan.Expr) []int { return each(es, p.show) }

// key is the field of a value's normal form: equal words where DuckDB says equal.
func (p *prepared) key(e plan.Expr) int { return p.field(eval.KeyExpr(p.column(e))) }

func (p *prepared) keys(es []plan.Expr) []int { return each(es, p.key) }

// order are the fields whose word order is that of the items.
func (p *prepared) order(items []plan.OrderItem) []int {
	var out []int
	for _, item := range items {
		for _, e := range eval.OrderExprs(p.column(item.Expr), item.Desc, item.NullsFirst) {
			out = append(out, p.field(e))
		}
	}
	return out
}

// ascending are the fields whose word order is a value's, NULL for NULL.
func (p *prepared) ascending(e plan.Expr) []int {
	return each(eval.AscendingExprs(p.column(e)), p.field)
}

// sort are the same where the value's own words do not compare so.
func (p *prepared) sort(e plan.Expr) []int { return each(eval.SortExprs(p.column(e)), p.field) }

// layout is that of the rows that have been asked for so far.
func (p *prepared) layout() *row.Layout {
	types := make([]row.Type, len(p.exprs))
	for i, e := range p.exprs {
		types[i] = e.Result()
	}
	return row.NewLayout(types...)
}

// program makes the rows; nil when they are the input's.
func (p *prepared) program() (*row.Layout, Program, error) {
	if isIdentity(p.exprs, p.in) {
		return p.in, nil, nil
	}
	program, err := p.compile()
	if err != nil {
		return nil, nil, err
	}
	return program.Layout(), program, nil
}

func (p *prepared) compile() (Program, error) {
	exprs := p.exprs
	if len(p.columns) > len(p.in.Types) {
		if p.plain() { // computed values are only shown: one program does it
			exprs = make([]plan.Expr, len(p.exprs))
			for i, e := range p.exprs {
				exprs[i] = p.columns[e.(*plan.ColumnRef).Index]
			}
			return p.b.compile(p.in, exprs, nil)
		}
		first, err := p.b.compile(p.in, p.columns, nil)
		if err != nil {
			return nil, err
		}
		second, err := p.b.compile(first.Layout(), exprs, nil)
		if err != nil {
			return nil, err
		}
		return newChain(first, second), nil
	}
	return p.b.compile(p.in, exprs, nil)
}

// plain says that all fields are columns.
func (p *prepared) plain() bool {
	for _, e := range p.exprs {
		if _, ok := e.(*plan.ColumnRef); !ok {
			return false
		}
	}
	return true
}

func each(es []plan.Expr, f func(plan.Expr) int) []int {
	if len(es) == 0 {
		return nil
	}
	out := make([]int, len(es))
	for i, e := range es {
		out[i] = f(e)
	}
	return out
}

// moved is an expression whose columns stand n places further right.
func moved(e plan.Expr, n int) plan.Expr {
	return plan.Rewrite(e, func(e plan.Expr) plan.Expr {
		if c, ok := e.(*plan.ColumnRef); ok {
			d := *c
			d.Index += n
			return &d
		}
		return e
	})
}

// replaced is an expression in which the columns are the fields that show says.
func replaced(e plan.Expr, show func(plan.Expr) int) plan.Expr {
	return plan.Rewrite(e, func(e plan.Expr) plan.Expr {
		if c, ok := e.(*plan.ColumnRef); ok {
			d := *c
			d.Index = show(c)
			return &d
		}
		return e
	})
}

// chain is one program after another.
type chain struct {
	first, second Program
	between       *zset.Batch
	rows          []int // the input's row of each row in between, when some have failed
}

func newChain(first, second Program) Program {
	return &chain{first: first, second: second, between: zset.New(first.Layout())}
}

func (c *chain) Layout() *row.Layout { return c.second.Layout() }

func (c *chain) Run(ctx context.Context, in, out *zset.Batch, bad func(i int, err error)) error {
	c.between.Reset()
	c.rows = c.rows[:0]
	var failed []int
	err := c.first.Run(ctx, in, c.between, func(i int, err error) {
		failed = append(failed, i)
		bad(i, err)
	})
	if err != nil {
		return err
	}
	if len(failed) == 0 {
		return c.second.Run(ctx, c.between, out, bad)
	}
	slices.Sort(failed)
	for i := range in.Len() {
		if _, is := slices.BinarySearch(failed, i); !is {
			c.rows = append(c.rows, i)
		}
	}
	return c.second.Run(ctx, c.between, out, func(i int, err error) { bad(c.rows[i], err) })
}
