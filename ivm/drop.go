package ivm

import (
	"context"
	"errors"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/job"
)

func (e *Engine) drop(ctx context.Context, c Caller, s *ddl.DropView) error {
	release, err := e.exclusive(ctx)
	if err != nil {
		return err
	}
	defer release()
	v, set, err := e.findKind(ctx, c, target{s.Name, s.NameOffset, s.Streaming})
	if err != nil {
		if s.IfExists && errors.Is(err, fault.ViewNotFound.Sentinel()) {
			return nil
		}
		if errors.Is(err, fault.ViewTableGone.Sentinel()) {
			return e.dropGone(ctx, c, set, s.Name)
		}
		return err
	}
	return e.dropViews(ctx, c, set, v, s.Cascade)
}

// dropGone forgets a view whose table is gone already.
func (e *Engine) dropGone(ctx context.Context, c Caller, set *catalog.Set, n ddl.Name) error {
	at, err := e.c.Binder.Place(c.Session, n)
	if err != nil {
		return err
	}
	v := set.FindGone(at)
	if err := mayChange(c, v); err != nil {
		return err
	}
	if err := e.stopJobs(ctx, v.UUID); err != nil {
		return err
	}
	defer e.streamsChanged()
	return e.c.Views.Delete(ctx, v.UUID)
}

func (e *Engine) dropViews(ctx context.Context, c Caller, set *catalog.Set, v *catalog.View, cascade bool) error {
	all, err := set.CheckDrop(v, cascade)
	if err != nil {
		return err
	}
	for _, d := range all {
		if err := mayChange(c, d); err != nil {
			return err
		}
	}
	for _, d := range all {
		if err := e.stopJobs(ctx, d.UUID); err != nil {
			return err
		}
	}
	if err := e.c.Tables.Drop(ctx, all); err != nil {
		return err
	}
	for _, d := range all {
		// What was submitted since the jobs were stopped would only fail.
		if err := e.stopJobs(ctx, d.UUID); err != nil {
			e.log.Warn("jobs of a dropped view", "view", d.Name().String(), "error", err)
		}
	}
	e.log.Info("views dropped", "views", catalog.Names(all), "by", c.Principal)
	e.scheduler.Kick()
	e.streamsChanged()
	return nil
}

// stopJobs cancels a view's jobs and waits until nothing of them runs.
func (e *Engine) stopJobs(ctx context.Context, uuid string) error {
	jobs, err := e.jobs.List(ctx, job.Query{Subject: uuid, Unfinished: true})
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if _, err := e.jobs.Cancel(ctx, j.ID); err != nil && !errors.Is(err, fault.JobNotCancellable.Sentinel()) {
			return err
		}
	}
	for _, j := range jobs {
		if _, err := e.jobs.Done(ctx, j.ID); err != nil {
			return err
		}
	}
	return nil
}
