package flightsql

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/ivm/job"
)

// submit starts a text under a new handle and returns at once. From here on
// the caller's going away does not matter any more.
func (hs *handles) submit(ctx context.Context, x *execution) (*handle, error) {
	p, _ := auth.FromContext(ctx)
	h := newHandle(newToken(handlePrefix), p.Name, time.Now())
	h.kind = x.kind()
	if hs.draining() {
		err := fault.Draining.Newf("the server is shutting down").WithHint("connect again in a moment")
		x.abandon(err)
		return nil, err
	}
	if err := hs.admit(p); err != nil {
		x.abandon(err)
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if x.viaEngine() {
		return hs.submitView(ctx, h, x)
	}
	return h, hs.submitPlain(ctx, h, x)
}

// submitView hands a view statement to the engine. Only the job behind it outlives this process.
func (hs *handles) submitView(ctx context.Context, h *handle, x *execution) (*handle, error) {
	res, err := x.submit(ctx)
	if err != nil {
		x.abandon(err)
		return nil, err
	}
	defer res.Release()
	rows := int64(0) // a job tells what it wrote when it ends
	if res.Records != nil {
		rows = res.Records.NumRows()
	}
	x.rec.end(nil, rows)
	x.Close()
	if res.Records != nil { // no job, or one that the statement does not wait for
		return h, hs.keepRows(ctx, h, res.Schema, res.Records)
	}
	h.job, h.schema = res.Job.ID, x.Schema()
	if h.schema == nil {
		h.schema = res.Schema
	}
	h.observe(*res.Job, hs.limits.Keep)
	if err := hs.keep(ctx, h); err != nil {
		// Nobody would ever know of the job.
		_, cerr := hs.svc.engine.Cancel(ctx, x.sess.caller(), h.job)
		return nil, errors.Join(err, cerr)
	}
	hs.follow(h)
	return h, nil
}

// keepRows makes a handle that has ended with these rows.
func (hs *handles) keepRows(ctx context.Context, h *handle, schema *arrow.Schema, rows arrow.RecordBatch) error {
	sp, err := hs.spools.create(h.id, h.principal, schema)
	if err != nil {
		return err
	}
	h.schema, h.spool = schema, sp
	err = sp.add(rows)
	h.now.Rows = rows.NumRows()
	if err := errors.Join(err, sp.finish(err)); err != nil {
		sp.remove()
		return err
	}
	h.end(time.Now(), nil, hs.limits.Keep)
	close(h.stopped)
	return hs.keep(ctx, h)
}

// submitPlain runs any other text in the background.
func (hs *handles) submitPlain(ctx context.Context, h *handle, x *execution) error {
	h.schema = x.Schema()
	if x.commits() {
		at, err := hs.svc.lake.Snapshot(ctx)
		if err != nil {
			x.abandon(err)
			return err
		}
		h.commit = commitMark{id: h.id, after: at.ID}
	}
	run, cancel := context.WithCancel(auth.NewContext(hs.ctx, x.sess.principal))
	h.cancel = cancel
	if h.commit.id != "" {
		run = ducklake.WithCommitID(run, h.commit.id)
	}
	if err := hs.keep(ctx, h); err != nil {
		cancel()
		x.abandon(err)
		return err
	}
	hs.begin()
	go hs.run(run, h, x)
	return nil
}

// run is the life of a plain statement.
func (hs *handles) run(ctx context.Context, h *handle, x *execution) {
	defer close(h.stopped)
	defer hs.finish()
	defer h.cancel()
	h.update(func(p *progress) { p.State, p.Phase = job.Running, "running" })
	gauge := &duck.Gauge{}
	measuring := make(chan struct{})
	hs.group.Add(1)
	go hs.measure(h, gauge, measuring)
	err := hs.guarded(duck.WithGauge(ctx, gauge), h, x)
	x.Close()
	close(measuring)
	if err != nil {
		switch {
		case hs.ctx.Err() != nil && ctx.Err() != nil:
			err = fault.JobInterrupted.Newf("the server stopped while the statement ran")
		case ctx.Err() != nil:
			err = fault.Cancelled.Newf("the statement was cancelled")
		}
		err = hs.errors.settle(ctx, "polled "+h.kind, err)
		if _, sp := h.result(); sp != nil {
			sp.remove()
		}
	}
	h.end(time.Now(), err, hs.limits.Keep)
	hs.saved(h)
}

// measure reads how far DuckDB is, until over is closed.
func (hs *handles) measure(h *handle, gauge *duck.Gauge, over <-chan struct{}) {
	defer hs.group.Done()
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if now, ok := gauge.Progress(); ok && now.Percent >= 0 {
			h.update(func(p *progress) { p.Fraction = min(now.Percent/100, 1) })
		}
	}
}

// guarded turns a panic in the statement into its failure: there is no interceptor around this goroutine.
func (hs *handles) guarded(ctx context.Context, h *handle, x *execution) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return hs.spoolRows(ctx, h, x)
}

// spoolRows writes the statement's rows where readers follow them.
func (hs *handles) spoolRows(ctx context.Context, h *handle, x *execution) (err error) {
	if err := x.Prelude(ctx); err != nil {
		return err
	}
	st, err := x.Run(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	sp, err := hs.spools.create(h.id, h.principal, st.Schema())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sp.finish(err)) }()
	h.begins(st.Schema(), sp)
	for st.Next() {
		batch := st.RecordBatch()
		for _, piece := range pieces(batch, maxMessage) {
			err := sp.add(piece)
			piece.Release()
			if err != nil {
				return err
			}
		}
		h.update(func(p *progress) { p.Rows += batch.NumRows() })
	}
	return st.Err()
}
