package stream

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Source is the lake's tables as what changes.
type Source interface {
	// Head is the newest lake snapshot.
	Head(ctx context.Context) (int64, error)
	// Watch gives the newest snapshot, now and whenever it grows, until ctx ends; then the channel is closed.
	Watch(ctx context.Context) <-chan int64
	// Commits tells what the snapshots in (from, to] did to tables, oldest first; those that did nothing are left out.
	// fault.HistoryExpired when snapshots between are gone.
	Commits(ctx context.Context, from, to int64) ([]Commit, error)
	// Tables are the tables of these uuids as they are at a snapshot (0: the newest); those that are not there are left out.
	Tables(ctx context.Context, uuids []string, at int64) (map[string]catalog.Table, error)
	// Changes gives the net change of a table over (from, to], in batches that may be reused when take returns.
	// fault.HistoryExpired and fault.HistoryRewritten when it cannot be known any more.
	Changes(ctx context.Context, r Reading, from, to int64, take func(*zset.Batch) error) error
	// Content gives a table's rows at a snapshot, in batches that may be reused when take returns.
	Content(ctx context.Context, r Reading, at int64, take func(*zset.Batch) error) error
}

// Reading says what to read of a table.
type Reading struct {
	TableID int64
	UUID    string
	Name    catalog.Name     // for messages
	Columns []catalog.Column // ids and types, in the layout's order
	Layout  *row.Layout
	// Position is the field that gets the lake snapshot of each change, or of the content; negative: none does, and the changes of a
	// window may be given as their sum.
	Position int
	// After leaves out rows that began in this snapshot or before, and what became of them; 0 leaves out none.
	After int64
}

// Commit is what one lake snapshot did.
type Commit struct {
	Snapshot int64
	Time     time.Time
	Tables   map[int64]Touch // by table id
	Made     bool            // a table or something else was created, or has a new name
}

// Touch is what a snapshot did to one table.
type Touch struct {
	Rows     bool  // rows may have changed
	Schema   bool  // columns may have changed
	Gone     bool  // it was dropped
	Ours     bool  // all of it was published by a server of this lake
	Estimate int64 // rows that changed, about; 0 is not known
}

// Sink is the lake's tables behind streaming views.
type Sink interface {
	// Open finds where the rows of a view's table lie. What is remembered of that lies in tables, as it was at the mark; with the
	// zero mark nothing is remembered.
	Open(ctx context.Context, r ResultSpec, tables dataflow.Tables, at Mark) (Result, error)
	// Publish commits the changes of several views as one lake snapshot: all or none. The errors of a lost race are
	// fault.RefreshConflict and fault.Fenced; fault.ResultChanged says that somebody else wrote to one of the tables.
	Publish(ctx context.Context, c Commitment) ([]Published, error)
	// Prepare makes the same ready to be committed beside what is done with the results and their state. There must be a change.
	Prepare(ctx context.Context, c Commitment) (Bundle, error)
	// Refile rewrites files of the results that are mostly of rows that are gone, in one lake snapshot that changes no content, with all that
	// Publish does. Without such files it does nothing, and gives nothing. ErrMoved says that others moved the rows meanwhile.
	Refile(ctx context.Context, c Commitment) ([]Published, error)
	// Reflect records frontiers that have moved without a change of the content. It makes no snapshot. What it is not the owner of, or of which
	// something else is published by now, is an error as it is of Publish.
	Reflect(ctx context.Context, moved []Change) error
	// Hold keeps what is needed to follow each table (by id) from a snapshot on, in place of what was held for the view before;
	// fault.HistoryExpired when that is gone.
	Hold(ctx context.Context, uuid string, tables map[int64]int64) error
	// Release lets go of all that is held for the view.
	Release(ctx context.Context, uuid string) error
	// Dropped is what was dropped as late of the sources of a view, in the content that began at a lake snapshot.
	Dropped(ctx context.Context, uuid string, since int64) ([]Dropped, error)
}

// Stager is a [Sink] that takes the whole first content of a view as a query.
type Stager interface {
	// Stage evaluates a query with the table's columns, in a session of a time zone, and makes of its rows files that nobody sees yet.
	Stage(ctx context.Context, r ResultSpec, query, timeZone string) (Staged, error)
}

// Staged is a content that was made and is not committed.
type Staged interface {
	Rows() int64
	// Discard removes it, unless it was committed.
	Discard(ctx context.Context) error
}

// Bundle is a commitment that is ready. Until it is finished, its results are not to be published of again, nor reloaded.
type Bundle interface {
	// Commit makes the commit, in any goroutine.
	Commit(ctx context.Context) ([]Published, error)
	// Finish notes in the results what Commit gave, in the goroutine that has them. What Commit could not do alone is done now: what
	// counts is what Finish says.
	Finish(ctx context.Context, done []Published) ([]Published, error)
}

// ResultSpec is a view's table. Layout has its columns, in their order.
type ResultSpec struct {
	UUID   string
	Table  catalog.Table
	Layout *row.Layout
}

// Result is a view's table as its generation writes it. One goroutine uses it at a time.
type Result interface {
	// Difference is what makes the given content of what the table has now, what somebody else wrote with it; it is valid until the next call.
	// The content may have a row several times.
	Difference(ctx context.Context, content *zset.Batch) (*zset.Batch, error)
	// Summing begins a sum of a content that nobody keeps, and Has says whether the table has these rows now.
	Summing() Sum
	Has(ctx context.Context, s Sum) (bool, error)
	// Reload brings what is remembered up to the newest snapshot, what somebody else wrote with it.
	Reload(ctx context.Context) error
	// Mark is where what is remembered stands: after the last publication, or the last Reload.
	Mark() Mark
	// Rows is how many rows the table has.
	Rows() int64
	Close() error
}

// Sum is of the rows that a content has.
type Sum interface {
	// Add adds rows as often as they are there.
	Add(b *zset.Batch)
}

// ErrMoved is why files were not rewritten now: a flush or merge was faster.
var ErrMoved = errors.New("the rows have been moved meanwhile")

// ViewError is why a commitment fails that is one view's own: the others can be committed without it.
type ViewError struct {
	UUID string
	Err  error
}

func (e *ViewError) Error() string { return e.Err.Error() }

// Unwrap gives the error.
func (e *ViewError) Unwrap() error { return e.Err }

// Mark is a state of a table in the lake.
type Mark struct {
	Snapshot  int64 `json:"snapshot"`
	NextRowID int64 `json:"next_row_id"`
}

// Commitment is one commit of several views.
type Commitment struct {
	ID      string // of the commit, for ever
	Members []Change
}

// Change is a view's step from one published state to the next.
type Change struct {
	View   catalog.Name
	UUID   string
	Result Result
	Delta  *zset.Batch // consolidated, unless it is the first; nil: the content stays
	Staged Staged      // not nil: this is all of the content, and there is no delta

	Generation, Epoch int64 // that must be published now
	NextGeneration    int64
	Frontier          catalog.Frontier

	Dropped iter.Seq[Dropped] // since the frontier that must be recorded now; recorded with the new one. It is made as it is asked for; nil: nothing
	Anew    bool              // what was dropped of another content than the frontier's counts no more
}

// Published is what became of a change.
type Published struct {
	Snapshot, Epoch, Generation int64
	At                          time.Time
	// Exact says that the lake's history shows the change as it was given: nothing of somebody else's was taken away with it, and the lake
	// keeps all values as they are.
	Exact bool
}

// Views is what is known about all views.
type Views interface {
	// Views are the views as they are now, and their control rows by uuid.
	Views(ctx context.Context) (*catalog.Set, map[string]Record, error)
	// Save writes what the owner has to say of a view: the observed part of its row, if the row still has the owner's fence.
	// It is no error if the row is gone.
	Save(ctx context.Context, r Record) error
	// Claim makes this server the owner of views that belong together and have none, or one that does not live; it gives those that it owns
	// now. If several servers that live have some of them, one of these is to have all: the others' are handed over by their claims.
	Claim(ctx context.Context, uuids []string) (owned []string, err error)
	// Rebind writes the view's sources after a table was made again under its name.
	Rebind(ctx context.Context, uuid string, sources []catalog.Source) error
}

// Planner makes plans of stored definitions.
type Planner interface {
	// Plan plans a view's query, with columns of exactly the types of the view's table, over its sources as they were bound.
	Plan(ctx context.Context, v *catalog.View) (*plan.Plan, error)
}

// Querier is a [Planner] that also gives a view's query as DuckDB runs it.
type Querier interface {
	// Text is the query over the view's sources as they were at a snapshot; tables, by uuid, are what they were called then.
	Text(ctx context.Context, v *catalog.View, tables map[string]catalog.Table, at int64) (string, error)
}
