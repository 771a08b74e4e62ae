package job

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// watch keeps rows and memory together: progress goes out, other servers' cancels come in, dead servers' jobs are adopted, old ones forgotten.
func (r *Runner) watch() {
	defer r.group.Done()
	tick := time.NewTicker(r.c.Tick)
	defer tick.Stop()
	for n := 0; ; n++ {
		if n%1200 == 0 {
			r.warn("forgetting old jobs", r.Forget(r.base))
			r.warn("reading the last jobs", r.recall(r.base))
		}
		if n%10 == 9 {
			r.warn("adopting jobs", r.adopt(r.base))
		}
		select {
		case <-tick.C:
		case <-r.base.Done():
			return
		}
		r.settle()
		if n%4 == 3 {
			r.warn("writing progress", r.flush(r.base))
		}
		if r.c.Live != nil {
			r.warn("reading jobs", r.look(r.base))
		}
	}
}

func (r *Runner) warn(what string, err error) {
	if err != nil && r.base.Err() == nil {
		r.c.Log.Warn(what, "error", err)
	}
}

// settle lets runs that turned out long give their places up.
func (r *Runner) settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) > 0 && r.lanes.settle(r.c.Now()) {
		r.wakeLocked()
	}
}

// recalled is how many of the last jobs are read to know how long which runs take.
const recalled = 1000

// recall learns from the rows how long runs take, those of earlier processes too, and forgets the subjects that are gone.
func (r *Runner) recall(ctx context.Context) error {
	rows, err := r.c.Store.List(ctx, Query{Limit: recalled})
	if err != nil {
		return err
	}
	known := map[string][]time.Duration{}
	for _, j := range slices.Backward(rows) {
		if j.State.Ended() && !j.StartedAt.IsZero() {
			known[j.Subject] = append(known[j.Subject], j.FinishedAt.Sub(j.StartedAt))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lanes.recall(known)
	return nil
}

// Forget applies the retention of ended jobs.
func (r *Runner) Forget(ctx context.Context) error {
	n, err := r.c.Store.Prune(ctx, r.c.Keep, r.c.Now().Add(-r.c.KeepFor))
	if n > 0 {
		r.c.Log.Info("ended jobs forgotten", "count", n)
	}
	return err
}

// flush writes the progress that rows do not have yet.
func (r *Runner) flush(ctx context.Context) error {
	var dirty []Job
	r.mu.Lock()
	for _, e := range r.live {
		if e.dirty && e.job.State == Running {
			dirty = append(dirty, e.job)
			e.dirty = false
		}
	}
	r.mu.Unlock()
	var errs []error
	for _, j := range dirty {
		ok, err := r.c.Store.Update(ctx, j)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if ok {
			j.Version++
			r.observe(j)
			continue
		}
		errs = append(errs, r.reload(ctx, j.ID))
	}
	return errors.Join(errs...)
}

// look reads the rows of this server's live jobs, which other servers may have cancelled or adopted.
func (r *Runner) look(ctx context.Context) error {
	r.mu.Lock()
	ids := make([]string, 0, len(r.live))
	for id := range r.live {
		ids = append(ids, id)
	}
	r.mu.Unlock()
	var errs []error
	for _, id := range ids {
		errs = append(errs, r.reload(ctx, id))
	}
	return errors.Join(errs...)
}

func (r *Runner) reload(ctx context.Context, id string) error {
	row, err := r.c.Store.ByID(ctx, id)
	if errors.Is(err, fault.JobNotFound.Sentinel()) {
		return nil
	}
	if err != nil {
		return err
	}
	r.observe(row)
	return nil
}

// adopt takes the jobs that nobody runs: this server's own that are not live here, and those of servers without a lease.
func (r *Runner) adopt(ctx context.Context) error {
	var live map[string]bool
	if r.c.Live != nil {
		var err error
		if live, err = r.c.Live(ctx); err != nil {
			return err
		}
		if !live[r.c.ServerID] {
			return nil // whoever lost its own lease takes nothing from others
		}
	}
	rows, err := r.c.Store.List(ctx, Query{Unfinished: true})
	if err != nil {
		return err
	}
	var errs []error
	for i := len(rows) - 1; i >= 0; i-- { // the oldest first
		row := rows[i]
		if row.ServerID != r.c.ServerID && live[row.ServerID] {
			continue
		}
		r.mu.Lock()
		_, here := r.live[row.ID]
		closing := r.closing
		r.mu.Unlock()
		if here || closing {
			continue
		}
		errs = append(errs, r.adoptOne(ctx, row))
	}
	return errors.Join(errs...)
}

// adoptOne makes the row ours first, so that its old owner can publish nothing more, then removes what that left, then decides.
func (r *Runner) adoptOne(ctx context.Context, row Job) error {
	if mine := row.ServerID == r.c.ServerID && row.Fence == r.c.Fence(); !mine || row.State != Queued {
		from := row.ServerID
		row.ServerID, row.Fence, row.Phase = r.c.ServerID, r.c.Fence(), "being taken over"
		// Also for a row of ours: that it did not move since it was listed proves that no run of it ended meanwhile.
		ok, err := r.c.Store.Update(ctx, row)
		if err != nil || !ok {
			return err
		}
		row.Version++
		r.c.Log.Info("job adopted", "job", row.ID, "kind", row.Kind, "view", row.View, "state", row.State, "from", from)
	}
	if row.State != Queued {
		if w := r.work[row.Kind]; w != nil {
			if err := w.Discard(ctx, row); err != nil {
				return err
			}
		}
		next, ok, err := r.move(ctx, row.ID, Adopt, Facts{MaxAttempts: r.c.MaxAttempts})
		if err != nil || !ok {
			return err
		}
		row = next
		if row.State.Ended() && r.c.Ended != nil {
			r.c.Ended(row)
		}
	}
	if row.State == Queued {
		r.Enqueue(row)
	}
	return nil
}
