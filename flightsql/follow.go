package flightsql

import (
	"context"
	"errors"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/ivm/job"
)

// follow keeps a handle in step with the durable job behind it until that ends.
func (hs *handles) follow(h *handle) {
	ctx, cancel := context.WithCancel(hs.ctx)
	h.cancel = cancel
	hs.group.Add(1)
	go hs.following(ctx, h)
}

func (hs *handles) following(ctx context.Context, h *handle) {
	defer hs.group.Done()
	defer close(h.stopped)
	defer h.cancel()
	seen := uint64(0)
	for {
		j, err := hs.svc.engine.Wait(ctx, h.job, seen)
		switch {
		case ctx.Err() != nil || fault.CodeOf(err) == fault.Draining:
			return // the job's row will tell the next process
		case fault.CodeOf(err) == fault.JobNotFound:
			h.end(time.Now(), err, hs.limits.Keep)
			hs.saved(h)
			return
		case err != nil:
			hs.log.Warn("a job cannot be followed for now", "job", h.job, "err", err)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			continue
		}
		h.observe(j, hs.limits.Keep)
		if j.State.Ended() {
			hs.saved(h)
			return
		}
		seen = j.Seq()
	}
}

// takeUp finds out what became of a handle of an earlier process; nil when there is no such handle.
func (hs *handles) takeUp(ctx context.Context, id string) (*handle, error) {
	if !plausibleHandle(id) {
		return nil, nil
	}
	hs.loading.Lock()
	defer hs.loading.Unlock()
	hs.mu.Lock()
	h := hs.byID[id]
	hs.mu.Unlock()
	if h != nil {
		return h, nil
	}
	row, found, err := hs.store.byID(ctx, id)
	if err != nil {
		return nil, err
	}
	p, _ := auth.FromContext(ctx)
	if !found || row.boot == hs.boot || time.Now().After(row.expires) || row.principal != p.Name && !p.Admin {
		return nil, nil
	}
	if h, err = restored(row, time.Now()); err != nil {
		return nil, err
	}
	if row.job != "" {
		err = hs.takeUpJob(ctx, h)
	} else {
		err = hs.takeUpPlain(ctx, h, row)
	}
	if err != nil {
		return nil, err
	}
	if row.state.Ended() {
		h.keepUntil(row.expires)
	} else if h.ended() { // while nobody was there; whoever asks now is the first to hear
		h.keepUntil(time.Now().Add(hs.limits.Keep))
		hs.saved(h)
	}
	hs.mu.Lock()
	hs.byID[id] = h
	hs.mu.Unlock()
	return h, nil
}

func (hs *handles) takeUpJob(ctx context.Context, h *handle) error {
	j, err := hs.svc.engine.JobByID(ctx, callerOf(auth.Principal{Name: h.principal}), h.job)
	if err != nil {
		return err
	}
	h.observe(j, hs.limits.Keep)
	if j.State.Ended() {
		close(h.stopped)
		return nil
	}
	hs.follow(h)
	return nil
}

// takeUpPlain decides about a statement whose process is gone.
func (hs *handles) takeUpPlain(ctx context.Context, h *handle, row handleRow) error {
	close(h.stopped)
	switch {
	case row.state == job.Succeeded:
		sp, err := hs.spools.adopt(h.id, h.principal, row.rows)
		if err == nil {
			h.spool = sp
		}
		h.now.Rows = row.rows
		h.end(row.ended, nil, 0)
		return nil
	case row.state.Ended():
		h.end(row.ended, row.err(), 0)
		return nil
	case row.server != hs.server && hs.svc.config.Live != nil:
		live, err := hs.svc.config.Live(ctx)
		if err != nil {
			return err
		}
		if live[row.server] {
			return fault.HandleNotFound.Newf("the statement runs on another server of this lake").WithHint("poll it there")
		}
	}
	hs.spools.discard(h.id) // it may be half written
	committed := false
	if row.commit.id != "" {
		err := hs.svc.lake.Store().View(ctx, func(tx metadata.Tx) (err error) {
			_, committed, err = metadata.LookupCommit(ctx, tx, row.commit.id, row.commit.after)
			return err
		})
		if err != nil {
			return err
		}
	}
	if !committed {
		h.end(time.Now(), fault.JobInterrupted.Newf("the server that ran the statement stopped; nothing of it was committed").
			WithHint("run it again"), hs.limits.Keep)
		return nil
	}
	// How many rows it changed died with the process.
	count := array.NewRecordBuilder(hs.svc.Alloc, countSchema)
	defer count.Release()
	count.Field(0).AppendNull()
	rows := count.NewRecordBatch()
	defer rows.Release()
	if h.schema == nil || !h.schema.Equal(countSchema) { // RETURNING: the rows died too
		h.end(time.Now(), nil, hs.limits.Keep)
		return nil
	}
	sp, err := hs.spools.create(h.id, h.principal, countSchema)
	if err != nil {
		return err
	}
	err = sp.add(rows)
	if err := errors.Join(err, sp.finish(err)); err != nil {
		sp.remove()
		return err
	}
	h.spool = sp
	h.end(time.Now(), nil, hs.limits.Keep)
	return nil
}
