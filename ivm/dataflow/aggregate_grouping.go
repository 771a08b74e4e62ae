package dataflow

import (
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

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
	summed     *projection // the key of a row of the summary

	// of the current step
	keys    zset.Batch // of each row
	touched zset.Batch // of each group, words only
	refs    []state.Ref
	slots   []uint32
	groups  []state.Ref
	index   []uint64 // of each ref: step<<32 | slot
	stamp   uint32
	filled  bool // the multisets that are not watched have taken the rows already
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
		g.windows = &windowEnds{floor: w.Floor, at: g.places[w.Group]}
	}
	if err := b.tables(name, tables); err != nil {
		return nil, err
	}
	if g.windows != nil {
		g.windows.open(g)
	}
	if g.foreign != nil {
		if spec.Evaluator == nil {
			return nil, fault.InternalError.Newf("the aggregation %q has functions that need an evaluator", name)
		}
		return g, g.foreign.tables(name, g, tables)
	}
	return g, nil
}
