package job

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/fault"
)

// Config is what a Runner needs.
type Config struct {
	Store    Store
	ServerID string
	Fence    func() int64 // this server's fencing epoch now
	// Live returns the servers whose lease holds, this one included; nil when no other server can exist.
	Live        func(ctx context.Context) (map[string]bool, error)
	Workers     int           // short jobs that run at once, and long ones beside them; default 4
	Long        time.Duration // how long a run takes that is long; default 5 s
	MaxAttempts int           // runs before an adopted job is INTERRUPTED; default 3
	Keep        int           // ended jobs kept; default 10000
	KeepFor     time.Duration // age at which ended jobs are forgotten; default 30 days
	Tick        time.Duration // how often rows that others may have moved are read; default 500 ms
	Now         func() time.Time
	Ended       func(Job) // called after every end of a job of this server; must not block for long
	Log         *slog.Logger
}

// Runner runs this server's jobs.
type Runner struct {
	c    Config
	work map[Kind]Work

	mu      sync.Mutex
	live    map[string]*entry // this server's jobs that have not ended
	queue   queue
	lanes   lanes
	wake    chan struct{} // 1-buffered: the queue may have something to take
	closing bool

	stop  context.CancelFunc // ends everything
	group sync.WaitGroup
	base  context.Context
}

// entry is one live job. Its fields are guarded by Runner.mu.
type entry struct {
	job     Job
	running bool          // a worker has it
	dirty   bool          // progress that the row does not have yet
	changed chan struct{} // closed and replaced at every change
	ctx     context.Context
	cancel  context.CancelFunc // stops the run
	done    chan struct{}      // closed when nothing of the job runs here any more
}

// NewRunner makes a Runner that does the given work. Nothing runs before Start.
func NewRunner(c Config, work map[Kind]Work) *Runner {
	if c.Workers <= 0 {
		c.Workers = 4
	}
	if c.Long <= 0 {
		c.Long = 5 * time.Second
	}
	if c.MaxAttempts <= 0 {
		c.MaxAttempts = 3
	}
	if c.Keep <= 0 {
		c.Keep = 10000
	}
	if c.KeepFor <= 0 {
		c.KeepFor = 30 * 24 * time.Hour
	}
	if c.Tick <= 0 {
		c.Tick = 500 * time.Millisecond
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Fence == nil {
		c.Fence = func() int64 { return 0 }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	base, stop := context.WithCancel(context.Background())
	return &Runner{
		c: c, work: work, live: map[string]*entry{}, lanes: newLanes(c.Workers, c.Long), wake: make(chan struct{}, 1), base: base, stop: stop,
	}
}

// Start adopts what an earlier process of this server left and begins to run jobs, until Close.
func (r *Runner) Start(ctx context.Context) error {
	if err := r.recall(ctx); err != nil {
		return fmt.Errorf("reading the last jobs: %w", err)
	}
	if err := r.adopt(ctx); err != nil {
		return fmt.Errorf("resuming jobs: %w", err)
	}
	workers := 2 * r.c.Workers // as many as there are places
	r.group.Add(workers + 1)
	for range workers {
		go r.worker()
	}
	go r.watch()
	return nil
}

// Close stops the runs, puts their jobs back for the next server, and returns when nothing runs or ctx has ended.
func (r *Runner) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closing = true
	var busy []chan struct{}
	for _, e := range r.live {
		e.cancel()
		r.changedLocked(e)
		if e.running {
			busy = append(busy, e.done)
		}
	}
	r.mu.Unlock()
	for _, done := range busy {
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	r.stop()
	idle := make(chan struct{})
	go r.drained(idle)
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fault.TimedOut.Wrap(ctx.Err(), "jobs still run")
	}
}

func (r *Runner) drained(idle chan<- struct{}) {
	r.group.Wait()
	close(idle)
}

// New makes a queued job of this server; it exists once it is inserted.
func (r *Runner) New(kind Kind, subject, view, principal, trigger string, spec []byte) Job {
	return Job{
		ID: newID(), Kind: kind, Subject: subject, View: view, Principal: principal, Trigger: trigger,
		State: Queued, Phase: "queued", Progress: Unknown, SubmittedAt: r.c.Now().UTC(), Spec: spec,
		ServerID: r.c.ServerID, Fence: r.c.Fence(), Version: 1,
	}
}

func newID() string {
	id, err := uuid.NewV7()
	if err != nil {
		panic(err) // no entropy: nothing can go on
	}
	return id.String()
}

// Submit inserts the job and queues it.
func (r *Runner) Submit(ctx context.Context, j Job) error {
	if err := r.accepting(); err != nil {
		return err
	}
	if err := r.c.Store.Insert(ctx, j); err != nil {
		return err
	}
	r.Enqueue(j)
	return nil
}

func (r *Runner) accepting() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return fault.Draining.Newf("the server takes no new jobs")
	}
	return nil
}

// Enqueue queues a job of this server that somebody inserted with other rows.
func (r *Runner) Enqueue(j Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enqueueLocked(j)
}

func (r *Runner) enqueueLocked(j Job) {
	if _, dup := r.live[j.ID]; dup || r.closing {
		return
	}
	ctx, cancel := context.WithCancel(r.base)
	r.live[j.ID] = &entry{job: j, changed: make(chan struct{}), ctx: ctx, cancel: cancel, done: make(chan struct{})}
	r.queue.push(j.ID, j.Subject)
	r.wakeLocked()
}

func (r *Runner) wakeLocked() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *Runner) changedLocked(e *entry) {
	close(e.changed)
	e.changed = make(chan struct{})
}

// ByID returns the job as it is now.
func (r *Runner) ByID(ctx context.Context, id string) (Job, error) {
	r.mu.Lock()
	if e := r.live[id]; e != nil {
		j := e.job
		r.mu.Unlock()
		return j, nil
	}
	r.mu.Unlock()
	return r.c.Store.ByID(ctx, id)
}

// List returns jobs, the newest first, with the progress of those that run here.
func (r *Runner) List(ctx context.Context, q Query) ([]Job, error) {
	jobs, err := r.c.Store.List(ctx, q)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range jobs {
		// Also when the row is a step ahead: who asks twice must not see a job go backwards.
		if e := r.live[jobs[i].ID]; e != nil {
			jobs[i] = e.job
		}
	}
	return jobs, nil
}

// Counts is how many jobs of this server are in each state that is not an end.
func (r *Runner) Counts() map[State]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := map[State]int{Queued: 0, Running: 0, Cancelling: 0}
	for _, e := range r.live {
		n[e.job.State]++
	}
	return n
}
