package dataflow

import (
	"context"
	"fmt"
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Aggregation. With g(A) the rows of group g, and its row f(g(A)) if the group is there:
//
//	d(γ A) = Σ over groups g that dA touches:  + f(g(A + dA)) if it has rows then,  − f(g(A)) if it had rows
//
// g(A) itself is not kept, but what its functions need: sums that changes are added to (accumulator.go), ordered multisets
// of a function's arguments (accumulator_multiset.go), and, for functions that only DuckDB knows, the rows, which are evaluated
// anew when the group is touched (aggregate_foreign.go). A group is there as long as it has rows, whatever its sums are; the
// one group of an aggregation without GROUP BY is always there. A group whose value cannot be told (a sum out of range) gives
// no row but an error, which goes when the value can be told again.
//
// GROUPING SETS are as many aggregations of one input, whose rows are added up (groupingsets.go).

// Group is one item of GROUP BY.
type Group struct {
	Key   int // field of the prepared row, normalised: equality of words is equality of groups
	Shown int // field that the output shows, if it is another: the least of those of the group's rows
}

// Function is one aggregate of an aggregation. Fields are those of the prepared row.
type Function struct {
	Name          string // DuckDB's, in lower case; "grouping" tells the set, Args being places in Groups
	Args          []int
	Distinct      bool
	Filters       []int // BOOLEAN fields that all must be true
	Order         []int // order-row fields, whose words are in the wanted order
	Sort          []int // fields whose words order the value that min, max, arg_min, arg_max, median, quantile_disc and mode compare, where its own do not
	Identity      []int // fields whose words are equal where the arguments are, where their own are not; for DISTINCT
	Separator     string
	SeparatorNull bool
	Quantile      Quantile
	Result        row.Type
	Of            row.Type // of the values that are added up, where the rows may have sums of them; its zero value is the argument's
}

// Quantile is the constant of quantile functions; a DECIMAL one is Integral / Scaling.
type Quantile struct {
	Value             float64
	Integral, Scaling int64
}

// AggregateSpec is an aggregation.
type AggregateSpec struct {
	Name      string
	Input     *row.Layout // of prepared rows
	Prepare   Program     // makes them; nil: the input has them
	Groups    []Group
	Sets      [][]int // GROUPING SETS, as places in Groups; nil: one of all of them
	Functions []Function
	Evaluator GroupEvaluator // of the functions that are not native, in their order
	Kept      []int          // fields of the rows that it is given
	Windows   *Windows       // of groups that are windows of event time; nil: there are none

	from *fromSource // nil: not known
}

// GroupEvaluator computes functions of whole groups or partitions from their rows (ivm/eval does it in DuckDB).
type GroupEvaluator interface {
	Layout() *row.Layout
	// Evaluate is given the rows of n groups, in order of groups; groups[i] is row i's. For an aggregation a row's weight is
	// how many copies there are, and out gets one row for each group. For a window every weight is 1, and out gets one row
	// for each row. A group that bad is told of has no value; its rows in out do not count but must be there.
	Evaluate(ctx context.Context, rows *zset.Batch, groups []int32, n int, out *zset.Batch, bad func(group int, err error)) error
}

type aggregate struct {
	spec AggregateSpec
	out  *row.Layout
	prep preparation
	sets []*grouping

	summed *Summary // what it can be loaded from
}

// NewAggregate makes an aggregation.
func NewAggregate(spec AggregateSpec, tables Tables) (Operator, error) {
	types := make([]row.Type, 0, len(spec.Groups)+len(spec.Functions))
	all := make([]int, len(spec.Groups))
	for i, g := range spec.Groups {
		all[i] = i
		types = append(types, spec.Input.Types[g.Shown])
	}
	for _, f := range spec.Functions {
		types = append(types, f.Result)
	}
	a := &aggregate{spec: spec, out: row.NewLayout(types...), prep: newPreparation(spec.Prepare, spec.Input)}
	sets := spec.Sets
	if sets == nil {
		sets = [][]int{all}
	}
	for i, set := range sets {
		name := spec.Name
		if spec.Sets != nil {
			name = fmt.Sprintf("%s/set%d", name, i)
		}
		g, err := newGrouping(&a.spec, name, set, a.out, tables)
		if err != nil {
			return nil, err
		}
		a.sets = append(a.sets, g)
	}
	return a, nil
}

// own are the fields of prepared rows that are the input's, as they are there.
func (s *AggregateSpec) own() []int {
	var out []int
	add := func(fields ...int) {
		for _, f := range fields {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	for _, g := range s.Groups {
		add(g.Shown)
	}
	for _, f := range s.Functions {
		if f.Name != "grouping" { // its arguments are groups
			add(f.Args...)
			add(f.Filters...)
		}
	}
	add(s.Kept...)
	return out
}

func (a *aggregate) Layout() *row.Layout { return a.out }

// Cancels is false: a group gives at most its old and its new row, and they differ.
func (a *aggregate) Cancels() bool { return false }

func (a *aggregate) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	b, err := a.prep.run(ctx, e, in[0])
	if err != nil {
		return err
	}
	for _, g := range a.sets {
		if err := g.step(ctx, e, b, out); err != nil {
			return err
		}
	}
	return nil
}

func (a *aggregate) Load(ctx context.Context, e *Epoch, _ int, rows *zset.Batch) error {
	b, err := a.prep.run(ctx, e, rows)
	if err != nil {
		return err
	}
	for _, g := range a.sets {
		g.take(b)
	}
	return nil
}

func (a *aggregate) Emit(ctx context.Context, e *Epoch, out *zset.Batch) error {
	for _, g := range a.sets {
		if err := g.emit(ctx, e, out); err != nil {
			return err
		}
	}
	return nil
}

// preparation runs the program in front of an operator, if there is one.
type preparation struct {
	program Program
	rows    *zset.Batch
}

func newPreparation(p Program, l *row.Layout) preparation {
	if p == nil {
		return preparation{}
	}
	return preparation{p, zset.New(l)}
}

func (p *preparation) run(ctx context.Context, e *Epoch, in *zset.Batch) (*zset.Batch, error) {
	if p.program == nil {
		return in, nil
	}
	p.rows.Reset()
	err := p.program.Run(ctx, in, p.rows, func(i int, err error) { e.Fail(in, i, err) })
	return p.rows, err
}
