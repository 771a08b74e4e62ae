package stream

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// member is one generation of a view. One goroutine has it at a time: the one that makes it, then its group's.
type member struct {
	c       *Config
	view    *catalog.View
	options Options
	plan    *plan.Plan
	dir     string // of the state

	lock os.FileInfo // of the folder's file that says that it is in use; nil: there is none

	store  *state.Store
	graph  *dataflow.Graph
	inputs []*input
	unread []int64 // tables of the query that the plan leaves out, as LIMIT 0 and WHERE false do
	result Result

	generation int64 // of the state
	frontier   int64
	clock      int64 // µs since 1970 UTC
	published  int64 // lake snapshot in which everything that this one reads shows its content at the frontier
	after      int64 // rows that began later count; 0: all
	begun      int64 // lake snapshot whose rows the content began with; later ones may be late

	served  point       // what is published of the view: generation, epoch, frontier and clock
	fresh   bool        // pending is the whole content, not a change of what is published
	delta   *zset.Batch // of the last step; the graph's
	pending *zset.Batch
	sent    *zset.Batch // what was pending and is being committed
	// consolidated is how many rows pending had when it was last summed up, and since when it has any.
	consolidated int
	since        time.Time
	errors       []dataflow.RowError
	marks        []dataflow.Mark // of the sources' watermarks
	dropped      []drops         // behind them, and not recorded yet
	// mending: it goes on with rows that have no value, since it was restarted; nothing is published until there are none.
	mending bool
	// broken: a step failed in the middle, and the state is of no use.
	broken bool
	// settled: of the group that it comes from, nothing was unpublished.
	settled bool

	audit       audit
	announce    bool // nobody was told yet that it runs
	reflectedAt time.Time
	touched     bool  // a window has changed rows of a source since the newest checkpoint
	unsaid      bool  // likewise, or it was begun, since the frontier was last recorded
	recorded    int64 // frontier that the catalog knows
	saved       point // what the newest checkpoint says
	savedAt     time.Time
	flight      *state.Checkpoint
	flying      point
	committed   chan error
	figures     Figures
}

// input is a table that the graph reads.
type input struct {
	reading Reading
	stream  bool  // the table is a streaming view's
	pick    []int // fields of that view's result that are read
	mark    int   // field of the watermark column; negative: there is none
	delta   *zset.Batch
}

// Name is the view's.
func (m *member) name() string { return m.view.Name().String() }

// point is where the member is.
func (m *member) point() point {
	return point{
		Generation: m.generation, Frontier: m.frontier, Clock: m.clock, Published: m.published, Shown: m.served.Published, Epoch: m.served.Epoch, After: m.after, Result: m.result.Mark(),
	}
}

// holder names what is held for the member in the lake.
func (m *member) holder() string { return holder(m.view.UUID, m.generation) }

func holder(uuid string, generation int64) string {
	return fmt.Sprintf("%s.%d", uuid, generation)
}

// trim keeps the state in memory within its budget.
func (m *member) trim() {
	if budget := m.budget(); budget > 0 && m.flight == nil {
		m.store.Trim(int(budget))
	}
}

// budget is how many bytes of state may be in memory; 0 is any.
func (m *member) budget() int64 {
	if m.options.Budget > 0 {
		return m.options.Budget
	}
	return m.c.MemoryBudget
}

// time is what now() is in the member's result; 0: it has none. A clock at which nothing would be otherwise is as good as one that was stepped to.
func (m *member) time() int64 {
	if !m.graph.Timed() {
		return 0
	}
	if now := m.c.Now().UnixMicro(); !m.graph.Due(now) {
		return max(now, m.clock)
	}
	return m.clock
}

// waiting says that the result differs from what is published.
func (m *member) waiting() bool {
	return m.sent != nil || m.news()
}

// news says that there is something to publish that is not being committed.
func (m *member) news() bool { return m.fresh || m.pending != nil && m.pending.Len() > 0 }

// pendingBytes is what of the result waits to be committed.
func (m *member) pendingBytes() int64 { return bytesOf(m.pending) }

func bytesOf(b *zset.Batch) int64 {
	if b == nil {
		return 0
	}
	return int64(8*(len(b.Words)+len(b.Weights)) + b.Heap.Size())
}

// erring says that rows of the result have no value, so that it cannot be published.
func (m *member) erring() bool { return len(m.errors) > 0 }

// close lets go of memory and files. The state stays on disk.
func (m *member) close() error {
	var errs []error
	if m.committed != nil {
		<-m.committed
		m.committed = nil
	}
	if m.result != nil {
		errs = append(errs, m.result.Close())
	}
	if m.graph != nil {
		errs = append(errs, m.graph.Close())
	}
	if m.store != nil {
		errs = append(errs, m.store.Close())
	}
	m.result, m.graph, m.store = nil, nil, nil
	return errors.Join(errs...)
}
