package ivm

import (
	"context"
	"errors"
	"time"

	"github.com/vegadb/vega-flight/ivm/catalog"
)

// upkeepEvery is how often the engine looks for what was left half done, by itself or by servers that are dead.
const upkeepEvery = 30 * time.Second

// Start finishes what an earlier process left, adopts its jobs, and begins to run jobs, schedules and streaming views until Close.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.upkeep(ctx); err != nil {
		// One view that cannot be put in order must not keep the others from being served; it is tried again.
		e.log.Error("upkeep of the views at the start", "error", err)
	}
	run, stop := context.WithCancel(context.Background())
	e.stop = stop
	var commits <-chan int64
	if e.c.Commits != nil {
		commits = e.c.Commits(run)
	}
	if err := e.jobs.Start(ctx); err != nil {
		stop()
		return err
	}
	e.scheduler.Start(commits)
	e.group.Add(1)
	go e.keepUp(run)
	if e.c.Streams != nil {
		return e.c.Streams.Start(ctx)
	}
	return nil
}

// Close ends the streaming views, with checkpoints, the schedules, and the jobs' runs; jobs that are not finished are resumed by the next server. It returns when nothing runs,
// or with an error when ctx ends first.
func (e *Engine) Close(ctx context.Context) error {
	if e.c.Streams != nil {
		e.c.Streams.Close()
	}
	e.scheduler.Close()
	err := e.jobs.Close(ctx)
	e.stop()
	e.group.Wait()
	return errors.Join(err, e.c.Binder.Close())
}

// keepUp repeats upkeep, and does it when it is asked for, until ctx ends.
func (e *Engine) keepUp(ctx context.Context) {
	defer e.group.Done()
	tick := time.NewTicker(upkeepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-e.tidy:
		case <-ctx.Done():
			return
		}
		if err := e.upkeep(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("upkeep of the views", "error", err)
		}
	}
}

// askForUpkeep has upkeep done soon.
func (e *Engine) askForUpkeep() {
	select {
	case e.tidy <- struct{}{}:
	default:
	}
}

// upkeep finishes or undoes interrupted operations, restores lost comments, forgets rows whose table is gone, and brings the schedules up to
// date with the options.
func (e *Engine) upkeep(ctx context.Context) error {
	release, err := e.exclusive(ctx)
	if err != nil {
		return err
	}
	defer release()
	errs := []error{e.c.Upkeep.Settle(ctx)}
	set, err := e.views(ctx)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, v := range set.Repairs.Restore {
		e.log.Info("restoring the comment of a view", "view", v.Name().String())
		errs = append(errs, e.c.Upkeep.Comment(ctx, v))
	}
	if gone := set.Repairs.Forget; len(gone) > 0 {
		e.log.Warn("forgetting views whose tables another program replaced", "uuids", gone)
		errs = append(errs, e.c.Views.Delete(ctx, gone...))
	}
	e.complain(set)
	errs = append(errs, e.trySyncSchedules(ctx))
	return errors.Join(errs...)
}

// complain says, once, what other programs did to views' tables.
func (e *Engine) complain(set *catalog.Set) {
	said := map[string]string{}
	say := func(v *catalog.View, what string) {
		said[v.UUID] = what
		if e.said[v.UUID] != what {
			e.log.Warn(what, "view", v.Name().String(), "uuid", v.UUID, "state", v.State())
		}
	}
	for _, v := range set.Gone {
		say(v, "another program dropped the table of a view")
	}
	for _, v := range set.Views {
		if err := v.Altered(); err != nil {
			say(v, err.Error())
		}
	}
	e.said = said
}
