package dataflow

import (
	"context"
	"fmt"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
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
}

// Windows says which groups are windows that a watermark closes. The rows of a closed window do not change, so its state is
// let go; its row stays in the output.
type Windows struct {
	Of    *Watermark // of the same graph
	Group int        // place in Groups; sets without it keep their state
	End   int        // field of one word, in the watermark's unit: the first time that is not the group's; NULL is never closed
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

// grouping is the aggregation by one set of keys.
type grouping struct {
	spec   *AggregateSpec
	set    []int
	out    *row.Layout
	global bool
	key    *projection
	places []int // for each of spec.Groups: its place in the key, or -1
	table  *state.Table
	size   int // payload words: the row count, then the accumulators'

	rows       countRows
	selections []*selection
	adders     []adder
	floats     []*sumFloats
	multisets  []*multiset
	values     []value
	shown      *multiset
	shownAt    []int // for each of spec.Groups: its place in shown, or -1
	foreign    *foreign
	windows    *windowEnds

	// of the current step
	keys    zset.Batch // of each row
	touched zset.Batch // of each group, words only
	refs    []state.Ref
	slots   []uint32
	groups  []state.Ref
	index   []uint64 // of each ref: step<<32 | slot
	stamp   uint32
	acc     []uint64
	before  *zset.Batch
	was     []int32 // of each group: its row in before, or one of these
	failed  map[int]error
	shownOf group

	// of a step with more than most groups: its rows, those of a block of groups together
	most        int
	sorted      zset.Batch
	sortedSlots []uint32
	ends        []int32
	delta       changes
}

const (
	wasAbsent = -1
	wasBad    = -2
)

// adder is an accumulator and the rows it counts.
type adder struct {
	accumulator
	of *selection // nil: all
}

// selection is weights of which those of rows that do not count are 0: rows that a filter does not pass and, for DISTINCT,
// all but the first copy that comes and the last that goes.
type selection struct {
	filters  []cell
	distinct *multiset
	weights  []int64
}

func (s *selection) run(c *changes, plain []int64) []int64 {
	s.weights = append(s.weights[:0], plain...)
	if s.distinct != nil {
		copy(s.weights, s.distinct.turns)
		return s.weights
	}
	for i := range s.weights {
		r := c.words[i*c.stride:]
		for _, f := range s.filters {
			if r[f.null]>>f.bit&1 != 0 || r[f.src] == 0 {
				s.weights[i] = 0
			}
		}
	}
	return s.weights
}

func newGrouping(spec *AggregateSpec, name string, set []int, out *row.Layout, tables Tables) (*grouping, error) {
	g := &grouping{spec: spec, set: set, out: out, global: len(set) == 0, before: zset.New(out), failed: map[int]error{}, shownOf: group{layout: out}, most: blockGroups}
	g.places, g.shownAt = make([]int, len(spec.Groups)), make([]int, len(spec.Groups))
	var keys, shown, plain []int
	for i := range spec.Groups {
		g.places[i], g.shownAt[i] = -1, -1
	}
	for _, i := range set {
		g.places[i] = len(keys)
		keys = append(keys, spec.Groups[i].Key)
		if spec.Groups[i].Shown != spec.Groups[i].Key {
			g.shownAt[i] = len(shown)
			shown = append(shown, spec.Groups[i].Shown)
		}
	}
	g.key = project(spec.Input, keys...)
	if g.global { // one key of one word, which is 0
		g.key = &projection{layout: row.ParseLayout("BIGINT"), from: spec.Input}
	}
	b := &aggregateBuilder{g: g, input: spec.Input, shared: map[string]accumulator{}}
	if len(shown) > 0 {
		plain = append(plain, shown...)
		g.shown = b.multiset(project(spec.Input, plain...), nil, nil)
	}
	for i := range spec.Functions {
		v, err := b.function(&spec.Functions[i])
		if err != nil {
			return nil, err
		}
		g.values = append(g.values, v)
	}
	if w := spec.Windows; w != nil && g.places[w.Group] >= 0 {
		g.windows = &windowEnds{cell: cellOf(spec.Input, w.End), of: w.Of}
		g.adders = append(g.adders, adder{g.windows, nil})
	}
	if err := b.tables(name, tables); err != nil {
		return nil, err
	}
	if g.windows != nil {
		if err := g.windows.tables(name, g, tables); err != nil {
			return nil, err
		}
	}
	if g.foreign != nil {
		if spec.Evaluator == nil {
			return nil, fault.InternalError.Newf("the aggregation %q has functions that need an evaluator", name)
		}
		return g, g.foreign.tables(name, g, tables)
	}
	return g, nil
}
