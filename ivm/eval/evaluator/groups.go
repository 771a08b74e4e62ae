package evaluator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

var _ eval.Groups = (*Instance)(nil)

// The columns beside the kept fields: a row's group and its place among the rows.
const (
	groupSQL = "vega_group"
	placeSQL = "vega_place"
)

// Aggregates prepares aggregate functions.
func (e *Instance) Aggregates(ctx context.Context, rows *row.Layout, aggs []plan.Agg, zone string) (eval.GroupRunner, error) {
	exprs, types := make([]string, len(aggs)), make([]row.Type, len(aggs))
	for i, a := range aggs {
		var err error
		if exprs[i], err = eval.AggregateSQL(a); err != nil {
			return nil, err
		}
		types[i] = a.Type
	}
	list := strings.Join(exprs, ",\n       ")
	return e.openGroups(ctx, rows, types, zone, []string{
		"SELECT " + list + ", " + groupSQL + "\nFROM rows GROUP BY " + groupSQL,
		"SELECT " + list + ", 0::INTEGER\nFROM rows",
	})
}

// Windows prepares window functions.
func (e *Instance) Windows(ctx context.Context, rows *row.Layout, w *plan.Window, zone string) (eval.GroupRunner, error) {
	exprs, types := make([]string, len(w.Funcs)), make([]row.Type, len(w.Funcs))
	for i, f := range w.Funcs {
		var err error
		if exprs[i], err = eval.WindowSQL(w, f, groupSQL, placeSQL); err != nil {
			return nil, err
		}
		types[i] = f.Type
	}
	return e.openGroups(ctx, rows, types, zone, []string{"SELECT " + strings.Join(exprs, ",\n       ") + ", " + placeSQL + "\nFROM rows"})
}

// groups is functions over groups of rows.
type groups struct {
	conn    *duck.Conn
	slot    *duck.Slot
	stmts   []*duck.Stmt // the second, of aggregates: over no rows at all
	in, out *row.Layout
	writers []writer
	readers []reader

	rows     eval.Rows
	weights  []int64
	of       []int32
	pos, end int
	left     int64 // copies of row pos that are still to be given
	starts   []int
	number   []int32
}

func (e *Instance) openGroups(ctx context.Context, in *row.Layout, types []row.Type, zone string, texts []string) (_ *groups, err error) {
	g := &groups{in: in, out: row.NewLayout(types...), starts: make([]int, duck.SheetRows), number: make([]int32, duck.SheetRows)}
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	var columns []duck.Column
	for i, t := range in.Types {
		c := eval.Carrier(t)
		w, err := newWriter(c)
		if err != nil {
			return nil, err
		}
		columns = append(columns, duck.Column{Name: eval.ColumnSQL(i), Type: c.String()})
		g.writers = append(g.writers, w)
	}
	columns = append(columns, duck.Column{Name: groupSQL, Type: "INTEGER"}, duck.Column{Name: placeSQL, Type: "INTEGER"})
	for _, t := range types {
		r, err := newReader(eval.Carrier(t))
		if err != nil {
			return nil, err
		}
		g.readers = append(g.readers, r)
	}
	if g.conn, err = e.connect(ctx); err != nil {
		return nil, err
	}
	if zone == "" {
		zone = "UTC"
	}
	if _, err = g.conn.Exec(ctx, "SET TimeZone = '"+strings.ReplaceAll(zone, "'", "''")+"'"); err != nil {
		return nil, err
	}
	if g.slot, err = g.conn.RegisterSlot(ctx, "rows", columns, g.fill); err != nil {
		return nil, err
	}
	for _, text := range texts {
		s, err := g.conn.Prepare(ctx, text)
		if err != nil {
			return nil, fmt.Errorf("evaluator: %s: %w", text, err)
		}
		g.stmts = append(g.stmts, s)
		for i, c := range s.Columns()[:min(len(types), len(s.Columns()))] {
			if want := eval.Carrier(types[i]); !eval.Means(c.Type, want) { // its vectors would be read as what they are not
				return nil, fault.InternalError.Newf("%s is %s, not %s", text, c.Type, want)
			}
		}
	}
	return g, nil
}

// Layout has a field for each function.
func (g *groups) Layout() *row.Layout { return g.out }

// Close ends the statements.
func (g *groups) Close() error {
	for _, s := range g.stmts {
		s.Close()
	}
	if g.slot != nil {
		g.slot.Close()
	}
	var err error
	if g.conn != nil {
		err = g.conn.Close()
	}
	g.stmts, g.slot, g.conn = nil, nil, nil
	return err
}

// Evaluate computes the functions for n groups.
func (g *groups) Evaluate(ctx context.Context, rows *zset.Batch, of []int32, n int, out *zset.Batch, bad func(group int, err error)) error {
	aggregates := len(g.stmts) == 2
	give := rows.Len()
	if aggregates {
		give = n
	}
	base := out.Len()
	for range give {
		out.AppendRow(1)
	}
	g.rows = eval.Rows{Layout: rows.Layout, Words: rows.Words, Heap: rows.Heap, N: rows.Len()}
	g.weights, g.of = rows.Weights, of
	defer func() { g.rows, g.weights, g.of = eval.Rows{}, nil, nil }()
	if err := g.span(ctx, 0, rows.Len(), out, base, bad); err != nil {
		return err
	}
	if !aggregates {
		return nil
	}
	at := 0
	for group := range n { // groups without rows
		has := false
		for at < len(of) && int(of[at]) == group {
			at, has = at+1, true
		}
		if has {
			continue
		}
		if err := g.run(ctx, g.stmts[1], 0, 0, out, base+group); err != nil {
			if !ofRow(err) {
				return err
			}
			bad(group, rowError(err))
		}
	}
	return nil
}

// span evaluates the rows [from, to), which are whole groups. When a group fails, it is found by halving.
func (g *groups) span(ctx context.Context, from, to int, out *zset.Batch, base int, bad func(group int, err error)) error {
	if from == to {
		return nil
	}
	err := g.run(ctx, g.stmts[0], from, to, out, base)
	if err == nil {
		return nil
	}
	if !ofRow(err) {
		return err
	}
	first, last := g.of[from], g.of[to-1]
	if first == last {
		bad(int(first), rowError(err))
		return nil
	}
	middle := first + (last-first)/2
	cut := from
	for g.of[cut] <= middle {
		cut++
	}
	if err := g.span(ctx, from, cut, out, base, bad); err != nil {
		return err
	}
	return g.span(ctx, cut, to, out, base, bad)
}

// run executes a statement over rows. The last column of the result says which row of out a row of it is.
func (g *groups) run(ctx context.Context, s *duck.Stmt, from, to int, out *zset.Batch, base int) error {
	g.pos, g.end, g.left = from, to, 0
	g.slot.Forget()
	stream, err := s.Chunks(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	dst := eval.Rows{Layout: out.Layout, Words: out.Words, Heap: out.Heap}
	width := out.Layout.Words
	for {
		more, err := stream.Next(ctx)
		if err != nil || !more {
			return err
		}
		n := stream.Rows
		number := cells[int32](stream.Column(len(g.readers)).Data(), n)
		if len(g.starts) < n {
			g.starts = make([]int, n)
		}
		starts := g.starts[:n]
		for i, k := range number {
			starts[i] = (base + int(k)) * width
			clear(out.Words[starts[i] : starts[i]+width])
		}
		for k, rd := range g.readers {
			c := stream.Column(k)
			rd.read(c, &dst, starts, k)
			if x, ok := rd.(*nested); ok && len(x.wrong) > 0 {
				x.wrong = x.wrong[:0]
				return errNullKey
			}
			if c.Validity() == nil {
				continue
			}
			word, bit := k>>6, uint64(1)<<(uint(k)&63)
			valid := cells[uint64](c.Validity(), (n+63)/64)
			for j, at := range starts {
				if valid[j>>6]>>(uint(j)&63)&1 == 0 {
					out.Words[at+word] |= bit
				}
			}
		}
	}
}

// fill gives DuckDB the next rows, each as often as it is there.
func (g *groups) fill(sheet *duck.Sheet) error {
	n := 0
	group := cells[int32](sheet.Column(len(g.writers)).Data(), duck.SheetRows)
	place := cells[int32](sheet.Column(len(g.writers)+1).Data(), duck.SheetRows)
	for n < duck.SheetRows && g.pos < g.end {
		if g.left == 0 {
			g.left = g.weights[g.pos]
		}
		if g.left < 0 {
			return errors.New("evaluator: a group has a row a negative number of times")
		}
		for ; g.left > 0 && n < duck.SheetRows; n++ {
			g.starts[n] = g.pos * g.in.Words
			group[n], place[n] = g.of[g.pos], int32(g.pos)
			g.left--
		}
		if g.left == 0 {
			g.pos++
		}
	}
	starts := g.starts[:n]
	for k, w := range g.writers {
		c := sheet.Column(k)
		if err := w.write(c, &g.rows, starts, g.in.Off[k]); err != nil {
			return err
		}
		word, bit := k>>6, uint(k)&63
		for j, at := range starts {
			if g.rows.Words[at+word]>>bit&1 != 0 {
				c.SetNull(j)
			}
		}
	}
	sheet.Rows = n
	return nil
}
