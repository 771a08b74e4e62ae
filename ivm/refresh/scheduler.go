package refresh

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/job"
)

// SchedulerConfig is what a Scheduler needs.
type SchedulerConfig struct {
	Schedules Schedules
	Jobs      Jobs
	// Now is the clock that all servers share: the catalog's.
	Now func(ctx context.Context) (time.Time, error)
	// Changed says for each of the views whether a source has changes that it does not reflect. A view that cannot be asked is true:
	// its job then tells why.
	Changed func(ctx context.Context, views []string) (map[string]bool, error)
	// Alive says whether this server's lease holds; nil: it always does.
	Alive    func(ctx context.Context) bool
	ServerID string
	Glance   time.Duration // rows are read at least so often, since other servers change them too; default 15 s
	Log      *slog.Logger
}

// Jobs is where a Scheduler's jobs run.
type Jobs interface {
	New(kind job.Kind, subject, view, principal, trigger string, spec []byte) job.Job
	Enqueue(j job.Job)
	ByID(ctx context.Context, id string) (job.Job, error)
}

// Scheduler submits the refreshes that are due. Any number of servers may run one: every move is a compare-and-swap of a row, so a due
// run is submitted once, by whichever server is first, and a dead server's schedules need no taking over.
type Scheduler struct {
	c    SchedulerConfig
	wake chan struct{}

	mu    sync.Mutex
	ended []job.Job // ends that the rows do not know yet

	stop  context.CancelFunc
	group sync.WaitGroup
}

// NewScheduler makes a Scheduler; nothing happens before Start.
func NewScheduler(c SchedulerConfig) *Scheduler {
	if c.Glance <= 0 {
		c.Glance = 15 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Scheduler{c: c, wake: make(chan struct{}, 1)}
}

// Start runs the schedules until Close. commits gives a value after commits to the lake; it may be nil.
func (s *Scheduler) Start(commits <-chan int64) {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.group.Add(1)
	go s.loop(ctx, commits)
}

// Close ends it. Jobs that are out go on.
func (s *Scheduler) Close() {
	if s.stop != nil {
		s.stop()
	}
	s.group.Wait()
}

// Kick makes the scheduler look at the rows now.
func (s *Scheduler) Kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Ended tells that a job of this server has ended.
func (s *Scheduler) Ended(j job.Job) {
	s.mu.Lock()
	s.ended = append(s.ended, j)
	s.mu.Unlock()
	s.Kick()
}

func (s *Scheduler) loop(ctx context.Context, commits <-chan int64) {
	defer s.group.Done()
	for {
		wait, onCommit, err := s.pass(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.c.Log.Warn("schedules", "error", err)
			wait = time.Second
		}
		listen := commits
		if !onCommit {
			listen = nil
			drain(commits)
		}
		timer := time.NewTimer(wait)
		select {
		case <-s.wake:
		case _, open := <-listen:
			if !open {
				commits = nil
			}
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// drain forgets commits that nobody waits for.
func drain(c <-chan int64) {
	for c != nil {
		select {
		case _, open := <-c:
			if !open {
				return
			}
		default:
			return
		}
	}
}

// pass makes all moves that are due. It returns how long to wait, and whether commits matter meanwhile.
func (s *Scheduler) pass(ctx context.Context) (wait time.Duration, onCommit bool, err error) {
	s.mu.Lock()
	ended := s.ended
	s.ended = nil
	s.mu.Unlock()

	rows, err := s.c.Schedules.Load(ctx)
	if err != nil || len(rows) == 0 {
		return s.c.Glance, false, err
	}
	now, err := s.c.Now(ctx)
	if err != nil {
		return 0, false, err
	}
	facts, waiting, err := s.facts(ctx, now, rows)
	if err != nil {
		return 0, false, err
	}
	wait, onCommit = s.c.Glance, waiting
	var errs []error
	for _, f := range facts {
		for _, j := range ended {
			if j.Subject == f.ViewID && j.ID != f.JobID {
				if next := Ended(f.Schedule, f.Spec, j); next != f.Schedule {
					f.Schedule = next
					errs = append(errs, s.save(ctx, &f.Schedule))
				}
			}
		}
		again, err := s.move(ctx, now, f)
		errs = append(errs, err)
		if again >= 0 {
			wait = min(wait, again)
		}
	}
	return wait, onCommit, errors.Join(errs...)
}

// facts completes the rows with what their plans depend on.
func (s *Scheduler) facts(ctx context.Context, now time.Time, rows []Schedule) (out []Facts, onCommit bool, err error) {
	var ask []string
	for _, row := range rows {
		f := Facts{Schedule: row}
		if f.Spec, err = row.Spec(); err != nil {
			s.c.Log.Error("unreadable schedule", "view", row.View, "error", err)
			continue
		}
		if row.JobID != "" {
			j, err := s.c.Jobs.ByID(ctx, row.JobID)
			switch {
			case err == nil:
				f.Job = &j
			case !errors.Is(err, fault.JobNotFound.Sentinel()):
				return nil, false, err
			}
		}
		onCommit = onCommit || f.Spec.OnCommit
		if f.Spec.OnCommit && (row.JobID == "" || f.Job == nil || f.Job.State.Ended()) {
			ask = append(ask, row.ViewID)
		}
		out = append(out, f)
	}
	if len(ask) == 0 {
		return out, onCommit, nil
	}
	changed, err := s.c.Changed(ctx, ask)
	if err != nil {
		return nil, false, err
	}
	for i := range out {
		out[i].Changed = changed[out[i].ViewID]
	}
	return out, onCommit, nil
}

// move makes one schedule's moves until it stays, and says when to look again; negative: no time is known.
func (s *Scheduler) move(ctx context.Context, now time.Time, f Facts) (time.Duration, error) {
	for {
		m, next, wake := Plan(now, f)
		switch m {
		case Stay:
			if wake.IsZero() {
				return -1, nil
			}
			return wake.Sub(now), nil
		case Settle:
			if err := s.save(ctx, &next); err != nil {
				return -1, err
			}
			if next.Version == f.Version {
				return 0, nil // somebody else moved it: read again
			}
			f.Schedule, f.Job = next, nil
		case Fire:
			if s.c.Alive != nil && !s.c.Alive(ctx) {
				return -1, nil // another server is first
			}
			j := s.c.Jobs.New(job.Refresh, f.ViewID, f.View, f.Principal, "schedule", Order{}.Encode())
			next.JobID, next.ServerID = j.ID, s.c.ServerID
			ok, err := s.c.Schedules.Fire(ctx, next, j)
			if err != nil || !ok {
				return -1, err
			}
			s.c.Log.Info("scheduled refresh", "view", f.View, "job", j.ID, "due", f.NextAt)
			s.c.Jobs.Enqueue(j)
			return -1, nil
		}
	}
}

// save writes the row and raises its version; a row that somebody else moved stays as it is.
func (s *Scheduler) save(ctx context.Context, row *Schedule) error {
	row.ServerID = s.c.ServerID
	ok, err := s.c.Schedules.Save(ctx, *row)
	if ok {
		row.Version++
	}
	return err
}
