package ivm

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/changelog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/job"
	"github.com/vegadb/vega-flight/ivm/refresh"
)

// Config is what an Engine works with. All fields but the last ones are needed.
type Config struct {
	LakeName  string
	ServerID  string
	Views     catalog.Store
	History   catalog.History
	Jobs      job.Store
	Schedules refresh.Schedules
	Binder    Binder
	Tables    Tables
	Upkeep    Upkeep
	Sources   Sources
	Lake      refresh.Lake
	Text      refresh.Text
	Clock     Clock

	// Streaming views: without Control there are none, without Streams nobody here runs them.
	Control Control
	Streams Streams

	Changes *changelog.Changelog // what subscribers read; nil: nobody can subscribe

	Fence   func() int64                                       // this server's fencing epoch
	Live    func(ctx context.Context) (map[string]bool, error) // servers with a lease; nil when there can be no other
	Commits func(ctx context.Context) <-chan int64             // newest snapshots of the lake, until ctx ends; may be nil
	Workers int                                                // refreshes that run at once, and as many long ones beside them; default 4
	Keep    int                                                // ended jobs that are kept
	KeepFor time.Duration                                      // age at which ended jobs are forgotten
	Ended   func(job.Job)                                      // sees every ended job; may be nil
	Barred  func(user string) string                           // says why nobody of that name may use the server, "" when somebody may; may be nil
	Log     *slog.Logger                                       // default: none
}

// Engine is the materialized views of one lake. It is safe for concurrent use.
type Engine struct {
	c         Config
	log       *slog.Logger
	jobs      *job.Runner
	scheduler *refresh.Scheduler

	mu     sync.Mutex
	cached *catalog.Set

	admission admission

	ddl   chan struct{}     // one change of definitions at a time in this process
	tidy  chan struct{}     // asks for upkeep now
	said  map[string]string // what was logged of views that others changed; upkeep's
	stop  context.CancelFunc
	group sync.WaitGroup
}

// New makes an Engine. Statements may be executed before Start; jobs wait for it.
func New(c Config) (*Engine, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Fence == nil {
		c.Fence = func() int64 { return 0 }
	}
	e := &Engine{c: c, log: c.Log, ddl: make(chan struct{}, 1), tidy: make(chan struct{}, 1), stop: func() {}}
	work := &refresh.Refresher{Lake: c.Lake, Views: c.Views, Text: c.Text, LakeName: c.LakeName, Now: time.Now, Log: c.Log}
	e.jobs = job.NewRunner(job.Config{
		Store: c.Jobs, ServerID: c.ServerID, Fence: c.Fence, Live: c.Live, Workers: c.Workers, Keep: c.Keep, KeepFor: c.KeepFor,
		Ended: e.ended, Log: c.Log,
	}, map[job.Kind]job.Work{job.Create: work, job.Refresh: work})
	e.scheduler = refresh.NewScheduler(refresh.SchedulerConfig{
		Schedules: c.Schedules, Jobs: e.jobs, Now: c.Clock.Now, Changed: e.changed, Alive: e.alive, ServerID: c.ServerID, Log: c.Log,
	})
	return e, nil
}

// Execute runs one statement and returns its rows; it waits for the job behind it unless the statement says wait = false.
// When ctx ends while it waits, the job is cancelled, unless the caller detaches.
func (e *Engine) Execute(ctx context.Context, c Caller, stmt ddl.Statement) (Result, error) {
	r, wait, err := e.begin(ctx, c, stmt)
	if err != nil || !wait {
		return conform(stmt, r), err
	}
	j, err := e.await(ctx, c, *r.Job)
	if err != nil {
		return Result{}, err
	}
	if j.Kind == job.Create {
		e.syncSchedules(ctx) // its options are the view's now
	}
	return e.Rows(ctx, j)
}

// Submit is Execute for callers that poll: when a job stands behind the statement and the statement is to wait for it, it returns as soon as
// the job is durable, with Result.Job set and Records nil; Rows gives them when the job has ended. Other statements run at once.
func (e *Engine) Submit(ctx context.Context, c Caller, stmt ddl.Statement) (Result, error) {
	r, _, err := e.begin(ctx, c, stmt)
	return conform(stmt, r), err
}

// begin runs all of a statement but the waiting. With wait, the result has a job and no rows yet.
func (e *Engine) begin(ctx context.Context, c Caller, stmt ddl.Statement) (r Result, wait bool, err error) {
	switch s := stmt.(type) {
	case *ddl.CreateView:
		if s.Streaming {
			r, err = e.createStreaming(ctx, c, s)
			return r, false, err
		}
		return e.create(ctx, c, s)
	case *ddl.Refresh:
		return e.refresh(ctx, c, s)
	case *ddl.AlterSet:
		err = e.alterOptions(ctx, c, target{s.Name, s.NameOffset, s.Streaming}, func(o catalog.Options) (catalog.Options, error) {
			return o.Set(s.Options)
		}, optionNames(s.Options)...)
	case *ddl.AlterReset:
		err = e.alterOptions(ctx, c, target{s.Name, s.NameOffset, s.Streaming}, func(o catalog.Options) (catalog.Options, error) {
			return o.Reset(s.Names), nil
		}, s.Names...)
	case *ddl.AlterRename:
		err = e.rename(ctx, c, s)
	case *ddl.AlterOwner:
		err = e.alterOwner(ctx, c, s)
	case *ddl.AlterRun:
		err = e.run(ctx, c, s)
	case *ddl.Rebuild:
		err = e.rebuild(ctx, c, s)
	case *ddl.DropView:
		err = e.drop(ctx, c, s)
	case *ddl.CancelJob:
		r, err = e.cancelJob(ctx, c, s)
		return r, false, err
	case *ddl.Subscribe:
		return Result{}, false, fault.InvalidParameter.Newf("SUBSCRIBE gives rows without end, and must be the last statement of a query").
			WithHint("run it alone, as a query")
	default:
		r, err = e.show(ctx, c, stmt)
		return r, false, err
	}
	if err != nil {
		return Result{}, false, err
	}
	return status(stmt.Verb()), false, nil
}

// Rows is the result of a job that has succeeded, as Execute would have given it; for another end it is the job's error.
func (e *Engine) Rows(_ context.Context, j job.Job) (Result, error) {
	if err := j.Err(); err != nil {
		return Result{}, err
	}
	if !j.State.Ended() {
		return Result{}, fault.InternalError.Newf("job %s has not ended", j.ID)
	}
	var r Result
	if j.Kind == job.Create {
		r = status("CREATE MATERIALIZED VIEW")
	} else {
		done, err := refresh.DecodeResult(j.Result)
		if err != nil {
			return Result{}, err
		}
		r = refreshed(done)
	}
	r.Job = &j
	return r, nil
}

// views is all views as they are now.
func (e *Engine) views(ctx context.Context) (*catalog.Set, error) {
	rev, err := e.c.Views.Revision(ctx)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	set := e.cached
	e.mu.Unlock()
	if set != nil && set.Revision == rev {
		return set, nil
	}
	facts, err := e.c.Views.Load(ctx)
	if err != nil {
		return nil, err
	}
	set = catalog.Resolve(facts)
	e.mu.Lock()
	e.cached = set
	e.mu.Unlock()
	return set, nil
}

// find finds the view that a statement names.
func (e *Engine) find(ctx context.Context, c Caller, n ddl.Name) (*catalog.View, *catalog.Set, error) {
	at, err := e.c.Binder.Place(c.Session, n)
	if err != nil {
		return nil, nil, err
	}
	set, err := e.views(ctx)
	if err != nil {
		return nil, nil, err
	}
	v, err := set.Lookup(at)
	return v, set, err
}

// optionNames are those of the options that a statement gives.
func optionNames(o ddl.Options) []string {
	names := make([]string, len(o))
	for i := range o {
		names[i] = o[i].Name
	}
	return names
}

// target is a view as a statement names it.
type target struct {
	name      ddl.Name
	offset    int
	streaming bool
}

// findKind finds the view that a statement about one kind of view names.
func (e *Engine) findKind(ctx context.Context, c Caller, t target) (*catalog.View, *catalog.Set, error) {
	v, set, err := e.find(ctx, c, t.name)
	if err == nil {
		err = ofKind(v, t.streaming)
	}
	return v, set, place(err, t.offset)
}

// mayChange refuses callers who do not own the view.
func mayChange(c Caller, v *catalog.View) error {
	if c.Admin || c.Principal == v.Owner {
		return nil
	}
	return fault.PermissionDenied.Newf("view %s belongs to %s", v.Name(), v.Owner)
}

// exclusive takes turns among this process's changes of definitions.
func (e *Engine) exclusive(ctx context.Context) (release func(), err error) {
	select {
	case e.ddl <- struct{}{}:
		return func() { <-e.ddl }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
