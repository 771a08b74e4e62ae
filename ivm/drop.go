package ivm

import (
	"context"
	"errors"
	"slices"
	"strings"

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

// Drop runs a statement that drops objects which are no views, and forgets the views that go with their schema, before anything else is made
// under their names: once there is a schema of the name again, their rows would say that somebody else has dropped their tables.
func (e *Engine) Drop(ctx context.Context, c Caller, drops []Object, run func(ctx context.Context) error) error {
	var schemas []string
	for _, o := range drops {
		if o.IsSchema && (o.Catalog == "" || strings.EqualFold(o.Catalog, e.c.LakeName)) {
			schemas = append(schemas, o.Schema)
		}
	}
	if len(schemas) == 0 {
		return run(ctx)
	}
	release, err := e.exclusive(ctx)
	if err != nil {
		return err
	}
	defer release()
	before, err := e.views(ctx)
	if err != nil {
		return err
	}
	if err := run(ctx); err != nil {
		return err
	}
	if err := e.forgetDropped(context.WithoutCancel(ctx), c, before, schemas); err != nil {
		e.log.Warn("the views of schemas that were dropped are not forgotten yet", "schemas", schemas, "error", err)
		e.askForUpkeep()
	}
	return nil
}

func (e *Engine) forgetDropped(ctx context.Context, c Caller, before *catalog.Set, schemas []string) error {
	now, err := e.views(ctx)
	if err != nil {
		return err
	}
	var gone []*catalog.View
	var uuids []string
	for _, v := range slices.Concat(before.Views, before.Gone) {
		inside := slices.ContainsFunc(schemas, func(s string) bool { return strings.EqualFold(s, v.Name().Schema) })
		if inside && now.ByUUID(v.UUID) == nil {
			gone, uuids = append(gone, v), append(uuids, v.UUID)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	var errs []error
	for _, u := range uuids {
		errs = append(errs, e.stopJobs(ctx, u))
	}
	errs = append(errs, e.c.Views.Delete(ctx, uuids...))
	e.log.Info("views dropped with their schemas", "views", catalog.Names(gone), "by", c.Principal)
	e.scheduler.Kick()
	e.streamsChanged()
	return errors.Join(errs...)
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
