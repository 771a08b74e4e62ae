package dataflow

import (
	"fmt"

	"github.com/vegadb/vega-flight/ivm/row"
)

// JoinKind is which rows a join gives.
type JoinKind uint8

// The kinds. Rows without a partner are padded with NULLs by Left (left rows), Right and Full.
const (
	JoinInner JoinKind = iota
	JoinLeft
	JoinRight
	JoinFull
	JoinSemi   // left rows that have a partner
	JoinAnti   // left rows that have none
	JoinMark   // left rows, and behind them a BOOLEAN: has a partner
	JoinSingle // Left; a left row with more than one partner is an error instead
)

// JoinSide is one input of a join.
type JoinSide struct {
	Layout *row.Layout
	Keys   Program // one key row for each row; nil for a join without equalities
}

// JoinSpec is a join by equality of keys, by a predicate, or by both.
type JoinSpec struct {
	Kind        JoinKind
	Left, Right JoinSide
	// NullSafe says of each key field that NULL equals NULL (IS NOT DISTINCT FROM). In the others NULL equals nothing.
	NullSafe []bool
	// Predicate, if there is one, gives one BOOLEAN for each row of [PairLayout]. A pair joins when it is true.
	Predicate Program
	// NullAware is for JoinMark: the mark is that of IN. It is NULL when no partner is true and one is NULL. Without a predicate,
	// the last Compared key fields (0 is 1) are what is compared and the ones before, all null-safe, choose among which rows; with
	// one, all keys choose. A NULL in one of several compared fields makes all of them NULL, as in DuckDB.
	NullAware bool
	Compared  int
	// Closings say when rows of the left and of the right can go; nil is never. They need a predicate.
	Closings [2]*JoinClosing
	// KeyClosing says when keys can go; without a floor it is never. It needs that there is no predicate.
	KeyClosing KeyClosing
	// Sums say of each side that whoever reads the output reads nothing but sums and counts of its fields that are in the output. Those
	// have wider types there, and rows of the side may be replaced by others that have the same sums. It needs Output, and joins of pairs
	// without predicate.
	Sums      [2]bool
	summaries [2]*Summary // what gives the numbers of each key of such sides; nil: not known
	// Output are the fields to give, as positions in the left's fields, the right's (not for Semi, Anti, Mark) and the mark;
	// nil is all.
	Output []int
}

// NewJoin makes the operator that maintains a join. Its inputs are the left and the right one, which may be the same node.
func NewJoin(name string, s JoinSpec, t Tables) (Loader, error) {
	if (s.Left.Keys == nil) != (s.Right.Keys == nil) {
		return nil, fmt.Errorf("dataflow: join %s has keys on one side only", name)
	}
	if k := s.Left.Keys; k != nil {
		if !k.Layout().Alike(s.Right.Keys.Layout()) { // a function has made the texts of one side what the collation of the other says
			return nil, fmt.Errorf("dataflow: join %s has keys %v and %v", name, k.Layout(), s.Right.Keys.Layout())
		}
		if len(k.Layout().Types) != len(s.NullSafe) {
			return nil, fmt.Errorf("dataflow: join %s has %d keys and %d of NullSafe", name, len(k.Layout().Types), len(s.NullSafe))
		}
	}
	if s.NullAware && s.Kind != JoinMark {
		return nil, fmt.Errorf("dataflow: join %s is null-aware and gives no mark", name)
	}
	if s.Sums != [2]bool{} && (s.Output == nil || s.Kind > JoinFull || s.Predicate != nil) {
		return nil, fmt.Errorf("dataflow: join %s gives no sums", name)
	}
	switch {
	case s.Kind == JoinSingle:
		return newSingle(name, s, t)
	case s.NullAware && s.Predicate == nil:
		return newNullAwareMark(name, s, t)
	case s.Predicate != nil:
		return newRowJoin(name, s, t)
	}
	return newKeyJoin(name, s, t)
}

// rule is which rows of a side a join gives by themselves, by verdict.
type rule [3]bool

func (k JoinKind) pairs() bool { return k <= JoinFull || k == JoinSingle }

// rules are the left's and the right's.
func (k JoinKind) rules() (r [2]rule) {
	switch k {
	case JoinLeft, JoinAnti:
		r[0][unmatched] = true
	case JoinRight:
		r[1][unmatched] = true
	case JoinFull:
		r[0][unmatched], r[1][unmatched] = true, true
	case JoinSemi:
		r[0][matched] = true
	case JoinMark:
		r[0] = rule{true, true, true}
	}
	return r
}

// watched says that rows of the side appear or vanish as the other side's come and go.
func (r rule) watched() bool { return r != rule{} }

// assembler is that of the output.
func (s *JoinSpec) assembler() *assembler {
	right := s.Right.Layout
	if !s.Kind.pairs() {
		right = nil
	}
	return newAssembler(s.Left.Layout, right, s.Kind == JoinMark, s.Output)
}
