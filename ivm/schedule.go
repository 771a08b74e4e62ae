package ivm

import (
	"context"
	"errors"
	"time"

	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/job"
	"github.com/vegadb/vega-flight/ivm/refresh"
)

// specOf is when a view with these options refreshes by itself.
func specOf(o catalog.Options) (refresh.Spec, error) {
	if o.RefreshInterval != nil {
		return refresh.NewSpec(*o.RefreshInterval, true, o.RefreshCron, o.RefreshTimezone)
	}
	return refresh.NewSpec(0, false, o.RefreshCron, o.RefreshTimezone)
}

// syncSchedules makes the schedules' rows say what the views' options say, and the scheduler look at them. What fails is done by the next
// upkeep: the options are the truth.
func (e *Engine) syncSchedules(ctx context.Context) {
	if err := e.trySyncSchedules(context.WithoutCancel(ctx)); err != nil {
		e.log.Warn("schedules are not up to date yet", "error", err)
	}
	e.scheduler.Kick()
}

func (e *Engine) trySyncSchedules(ctx context.Context) error {
	set, err := e.views(ctx)
	if err != nil {
		return err
	}
	rows, err := e.c.Schedules.Load(ctx)
	if err != nil {
		return err
	}
	now, err := e.c.Clock.Now(ctx)
	if err != nil {
		return err
	}
	var errs []error
	have := make(map[string]refresh.Schedule, len(rows))
	for _, r := range rows {
		have[r.ViewID] = r
	}
	for _, v := range set.Views {
		row, there := have[v.UUID]
		delete(have, v.UUID)
		if v.Problem != nil {
			continue
		}
		next, change := scheduled(v, row, there, now)
		switch {
		case !change:
		case next == nil:
			errs = append(errs, e.c.Schedules.Remove(ctx, v.UUID))
		default:
			// Losing against another server's move is no harm: the next upkeep looks again.
			_, err := e.c.Schedules.Save(ctx, *next)
			errs = append(errs, err)
		}
	}
	for uuid := range have {
		errs = append(errs, e.c.Schedules.Remove(ctx, uuid))
	}
	return errors.Join(errs...)
}

// scheduled decides what the row of a view's schedule is to be; nil: there is to be none.
func scheduled(v *catalog.View, row refresh.Schedule, there bool, now time.Time) (next *refresh.Schedule, change bool) {
	o := v.Def.Options
	spec, err := specOf(o)
	if err != nil || spec.IsZero() {
		return nil, there
	}
	want := row
	want.ViewID, want.View, want.Principal = v.UUID, v.Name().String(), v.Owner
	want.Interval, want.Cron, want.TimeZone = o.RefreshInterval, o.RefreshCron, o.RefreshTimezone
	same := there && equal(row.Interval, want.Interval) && row.Cron == want.Cron && row.TimeZone == want.TimeZone
	if same && row.View == want.View && row.Principal == want.Principal {
		return nil, false
	}
	if !same {
		from := now
		switch {
		case spec.Cron != nil:
		case !row.LastEnd.IsZero():
			from = row.LastEnd
		case !v.Published.At.IsZero():
			from = v.Published.At
		}
		want.NextAt, want.Failures, want.LastError = spec.Next(from, 0), 0, ""
	}
	return &want, true
}

func equal(a, b *time.Duration) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// changed answers the scheduler.
func (e *Engine) changed(ctx context.Context, uuids []string) (map[string]bool, error) {
	set, err := e.views(ctx)
	if err != nil {
		return nil, err
	}
	var views []*catalog.View
	for _, uuid := range uuids {
		if v := set.ByUUID(uuid); v != nil {
			views = append(views, v)
		}
	}
	return e.c.Sources.Changed(ctx, views)
}

// alive says whether this server's lease holds.
func (e *Engine) alive(ctx context.Context) bool {
	if e.c.Live == nil {
		return true
	}
	live, err := e.c.Live(ctx)
	return err == nil && live[e.c.ServerID]
}

// ended hears of every job of this server that has ended.
func (e *Engine) ended(j job.Job) {
	e.scheduler.Ended(j)
	if j.Kind == job.Create && j.State == job.Succeeded {
		e.askForUpkeep() // a replacement may have brought other options
	}
	if e.c.Ended != nil {
		e.c.Ended(j)
	}
}
