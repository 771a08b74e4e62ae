package eval

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Evaluator runs what has no path in Go.
type Evaluator interface {
	// Open prepares a fragment. Where its expressions do not bind, it says so.
	Open(ctx context.Context, f Fragment) (Runner, error)
}

// Fragment is expressions in DuckDB's SQL over the fields of rows.
type Fragment struct {
	In       *row.Layout
	Fields   []int    // of In, that the expressions read, ascending; field i is the column "c<i>" of [ColumnSQL]
	Clock    bool     // the expressions read the column "clock", a TIMESTAMPTZ
	Exprs    []string // what to compute
	Types    []row.Type
	TimeZone string // of the session; "" is UTC
}

// Runner runs one fragment. It belongs to one goroutine at a time.
type Runner interface {
	// Run computes the fragment for the rows of in and writes its values to the fields of out, whose rows are zero there.
	// bad is told the rows, by their place in the selection, whose evaluation fails. The error is what ended the run.
	Run(ctx context.Context, in Rows, out Rows, clock int64, bad func(i int, err error)) error
	Close() error
}

// Rows are rows that a [Runner] reads or writes: all n of them, or those that Select names.
type Rows struct {
	Layout *row.Layout
	Words  []uint64
	Heap   *row.Heap
	Select []int32
	N      int
	Fields []int // where each expression's value goes; not used of input
}

// At is the first word of the i-th row.
func (r *Rows) At(i int) int {
	if r.Select != nil {
		i = int(r.Select[i])
	}
	return i * r.Layout.Words
}

// Error is why a row cannot be evaluated.
type Error struct {
	Text  string // DuckDB's
	Cause error
}

func (e *Error) Error() string { return e.Text }
func (e *Error) Unwrap() error { return e.Cause }

// Carrier is the type in which a fragment hands over values of t: what rows keep as text is text there too, and the
// fragment casts it.
func Carrier(t row.Type) row.Type {
	switch t.Kind {
	case row.Enum, row.Bit, row.BigNum:
		return row.Type{Kind: row.Varchar}
	case row.Null:
		return row.Type{Kind: row.Int32}
	}
	if len(t.Children) == 0 {
		t.Collation = ""
		return t
	}
	kids := make([]row.Type, len(t.Children))
	for i, c := range t.Children {
		kids[i] = Carrier(c)
	}
	t.Children = kids
	return t
}

// fragment is expressions that the evaluator runs, opened when they are first needed.
type fragment struct {
	Fragment
	fields    []int // of the program's output
	evaluator Evaluator
	runner    Runner
}

// fragment is some of the program's expressions.
func (p *Program) fragment(fields []int) (*fragment, error) {
	f := &fragment{fields: fields, evaluator: p.o.Evaluator}
	var es []plan.Expr
	for _, i := range fields {
		es = append(es, p.exprs[i])
		sql, err := deparseAs(p.exprs[i])
		if err != nil {
			return nil, err
		}
		f.Exprs = append(f.Exprs, sql)
		f.Types = append(f.Types, p.Out.Types[i])
	}
	f.describe(p, es)
	return f, nil
}

// describe finds what the expressions read.
func (f *fragment) describe(p *Program, es []plan.Expr) {
	f.In, f.TimeZone = p.In, p.o.TimeZone
	for _, e := range es {
		plan.Walk(e, func(e plan.Expr) bool {
			switch e := e.(type) {
			case *plan.ColumnRef:
				if e.Type.Kind != row.Null {
					f.Fields = append(f.Fields, e.Index)
				}
			case *plan.Clock:
				f.Clock = true
			}
			return true
		})
	}
	slices.Sort(f.Fields)
	f.Fields = slices.Compact(f.Fields)
}

func (f *fragment) open() (err error) {
	if f.runner != nil {
		return nil
	}
	if f.evaluator == nil {
		return fault.InternalError.Newf("no evaluator is here for %s", f.Exprs)
	}
	f.runner, err = f.evaluator.Open(context.Background(), f.Fragment)
	return err
}

func (f *fragment) close() {
	if f != nil && f.runner != nil {
		f.runner.Close()
		f.runner = nil
	}
}

// run evaluates the rows that from picks (nil: all) into the rows that to picks.
func (f *fragment) run(ctx context.Context, p *Program, in *zset.Batch, dst []uint64, heap *row.Heap, from, to []int32, n int, bad func(int, error)) error {
	if err := f.open(); err != nil {
		return err
	}
	return f.runner.Run(ctx,
		Rows{Layout: p.In, Words: in.Words, Heap: in.Heap, Select: from, N: n},
		Rows{Layout: p.Out, Words: dst, Heap: heap, Select: to, N: n, Fields: f.fields},
		int64(p.m.clock), bad)
}
