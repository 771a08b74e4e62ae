package eval

import (
	"context"
	"math/bits"
	"slices"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

var boolean = row.Type{Kind: row.Bool}

// condition is a filter.
type condition struct {
	node  node // nil when it has no path
	sql   *fragment
	out   *row.Layout
	flags []uint64
	keep  []uint64 // bits of the rows that pass
	pick  []int32
	left  []int32 // rows that the path leaves alone
	pass  mask
}

func (p *Program) condition(c *compiler) (*condition, error) {
	x := &condition{out: row.NewLayout(boolean)}
	sql, err := deparse(p.filter)
	if err != nil {
		return nil, err
	}
	// A condition of CASE skips, as WHERE does, what no longer matters for a row.
	x.sql = &fragment{evaluator: p.o.Evaluator, fields: []int{0}}
	x.sql.Exprs, x.sql.Types = []string{"CASE WHEN " + sql + " THEN true ELSE false END"}, []row.Type{boolean}
	x.sql.describe(p, []plan.Expr{p.filter})
	if !p.o.OnlyDuck {
		x.node = c.node(p.filter)
	}
	if x.node == nil {
		return x, x.sql.open()
	}
	return x, nil
}

// rows are the rows that pass, ascending.
func (x *condition) rows(ctx context.Context, p *Program, in *zset.Batch, bad func(int, error)) ([]int32, error) {
	n := in.Len()
	x.keep = slices.Grow(x.keep[:0], words(n))[:words(n)]
	clear(x.keep)
	x.left = x.left[:0]
	if x.node == nil {
		if err := x.ask(ctx, p, in, nil, n, bad); err != nil {
			return nil, err
		}
	} else {
		x.compute(p, n)
		if len(x.left) > 0 {
			if err := x.ask(ctx, p, in, x.left, len(x.left), bad); err != nil {
				return nil, err
			}
		}
	}
	x.pick = x.pick[:0]
	for w, set := range x.keep {
		for ; set != 0; set &= set - 1 {
			x.pick = append(x.pick, int32(w<<6+bits.TrailingZeros64(set)))
		}
	}
	return x.pick, nil
}

func (x *condition) compute(p *Program, n int) {
	m, pass := &p.m, &x.pass
	for base := 0; base < n; base += chunk {
		m.begin(base, min(chunk, n-base), nil)
		p.act.first(m.n)
		pickTrue(x.node, m, &p.act, pass)
		for w := range m.w {
			x.keep[base>>6+w] = pass[w] &^ m.escape[w]
			for set := m.escape[w]; set != 0; set &= set - 1 {
				x.left = append(x.left, int32(base+w<<6+bits.TrailingZeros64(set)))
			}
		}
	}
}

// ask has the evaluator decide.
func (x *condition) ask(ctx context.Context, p *Program, in *zset.Batch, from []int32, n int, bad func(int, error)) error {
	if err := x.sql.open(); err != nil {
		if x.node == nil || x.sql.evaluator != nil {
			return err
		}
		for _, i := range from {
			bad(int(i), err)
		}
		return nil
	}
	x.flags = slices.Grow(x.flags[:0], 2*n)[:2*n]
	clear(x.flags)
	err := x.sql.runner.Run(ctx,
		Rows{Layout: p.In, Words: in.Words, Heap: in.Heap, Select: from, N: n},
		Rows{Layout: x.out, Words: x.flags, N: n, Fields: []int{0}},
		int64(p.m.clock), func(i int, err error) {
			x.flags[2*i+1] = 0
			if from != nil {
				i = int(from[i])
			}
			bad(i, err)
		})
	if err != nil {
		return err
	}
	for i := range n {
		at := i
		if from != nil {
			at = int(from[i])
		}
		x.keep[at>>6] |= x.flags[2*i+1] << (uint(at) & 63)
	}
	return nil
}
