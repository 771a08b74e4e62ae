package eval

import (
	"context"

	"github.com/vegadb/vega-flight/ivm/row"
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
