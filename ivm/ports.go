package ivm

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/refresh"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// Binder is DuckDB as the front end of view definitions.
type Binder interface {
	// Place completes a name from the session's search path. A name outside the lake is fault.ViewNotFound.
	Place(session any, n ddl.Name) (catalog.Name, error)
	// Bind makes a query independent of the session.
	Bind(ctx context.Context, session any, query string) (refresh.Bound, error)
	// Stream plans a query as a streaming view with these options would run it, and binds it as Bind does. Why it cannot be one is in the plan,
	// and then nothing may be bound; an error says that it is no query, or that the options do not fit it.
	Stream(ctx context.Context, session any, query string, o ddl.Options) (*plan.Plan, refresh.Bound, error)
	// Plan plans a view's stored definition.
	Plan(ctx context.Context, v *catalog.View) (*plan.Plan, error)
	// Close lets go of what planning needs; what is asked later opens it again.
	Close() error
}

// Tables makes and changes the lake's tables behind views. What takes several steps is finished or undone when it is interrupted.
type Tables interface {
	// Create makes the table, with its comment, and the rows of the view and of the job (nil: none) under its uuid. Until all is there, the
	// name is free for readers and for other programs; when it is taken meanwhile, fault.ObjectExists.
	Create(ctx context.Context, m refresh.Making) (catalog.Table, error)
	// Replace puts a view without content, with another definition and perhaps other columns, into the place of old.
	Replace(ctx context.Context, old *catalog.View, m refresh.Making) (catalog.Table, error)
	// Drop drops the tables in this order, with the rows that belong to them.
	Drop(ctx context.Context, views []*catalog.View) error
	// Rename gives a view's table another name in its schema.
	Rename(ctx context.Context, v *catalog.View, to string) error
}

// Upkeep keeps the tables behind views in order.
type Upkeep interface {
	// Prepare makes a table that exists already ready to be published into.
	Prepare(ctx context.Context, v *catalog.View) error
	// Comment writes the definition into the table's comment.
	Comment(ctx context.Context, v *catalog.View) error
	// Settle finishes or undoes what this server, or servers that are dead, left half done.
	Settle(ctx context.Context) error
}

// Streams runs the streaming views that this server owns.
type Streams interface {
	Start(ctx context.Context) error
	Close()
	// Changed says that what is wanted of views may have changed.
	Changed()
	// Status is where a view stands, if this server runs it.
	Status(uuid string) (stream.Status, bool)
	// Await waits until done says so of a view's status; it is asked again whenever something has changed.
	Await(ctx context.Context, uuid string, done func(st stream.Status, here bool) bool) error
	// Analyze tells what the operators of a view that this server runs have done.
	Analyze(ctx context.Context, uuid string) (stream.Analysis, error)
}

// Control is what statements ask of streaming views, and what all servers know of them.
type Control interface {
	Records(ctx context.Context) (map[string]stream.Record, error)
	Pause(ctx context.Context, uuid string, paused bool) error
	Restart(ctx context.Context, uuid string) error
	// Rebuild asks for a new generation, which begins as mode says; "" is as the one before it.
	Rebuild(ctx context.Context, uuid, mode string) error
}

// Sources tells what became of views' sources.
type Sources interface {
	// Changed says for each view whether a source has changes that its content does not reflect; for a view without content, changes since it
	// was made. What cannot be known is true.
	Changed(ctx context.Context, views []*catalog.View) (map[string]bool, error)
}

// Clock is the catalog's clock, which all servers share.
type Clock interface {
	Now(ctx context.Context) (time.Time, error)
}
