package flightsql

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/util"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/ivm/job"
)

// fetch sends a handle's rows, as they come while the statement runs. It may
// be called again until the handle expires.
func (hs *handles) fetch(id string, stream flight.FlightService_DoGetServer) error {
	ctx := stream.Context()
	h, err := hs.get(ctx, id)
	if err != nil {
		return err
	}
	h.touch(time.Now(), hs.limits.Abandon)
	if h.job != "" {
		return hs.fetchJob(ctx, h, stream)
	}
	for {
		now, seq := h.state()
		_, sp := h.result()
		switch {
		case now.State.Ended() && now.State != job.Succeeded:
			return now.Err
		case sp != nil:
			return hs.fetchRows(ctx, h, sp, stream)
		case now.State.Ended():
			return fault.HandleNotFound.Newf("the statement finished, but its rows are not here: the server restarted, or another server ran it").
				WithHint("its effects are there; run a query again to read")
		}
		h.await(ctx, seq, nil)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// fetchJob waits for the job's end and sends the row that it gives.
func (hs *handles) fetchJob(ctx context.Context, h *handle, stream flight.FlightService_DoGetServer) error {
	now, err := h.awaitEnd(ctx)
	if err != nil {
		return err
	}
	if now.State != job.Succeeded {
		return now.Err
	}
	j, err := hs.svc.engine.JobByID(ctx, callerOf(auth.Principal{Name: h.principal}), h.job)
	if err != nil {
		return err
	}
	res, err := hs.svc.engine.Rows(ctx, j)
	if err != nil {
		return err
	}
	defer res.Release()
	w := flight.NewRecordWriter(stream, ipc.WithSchema(res.Schema), ipc.WithAllocator(hs.svc.Alloc))
	return errors.Join(w.Write(res.Records), w.Close())
}

func (hs *handles) fetchRows(ctx context.Context, h *handle, sp *spool, stream flight.FlightService_DoGetServer) (err error) {
	file, err := sp.open(ctx)
	if err != nil {
		return err
	}
	defer file.Close()
	defer h.watch()()
	schema, _ := h.result()
	w := flight.NewRecordWriter(stream, ipc.WithSchema(schema), ipc.WithAllocator(hs.svc.Alloc))
	defer func() {
		if err == nil {
			err = w.Close()
		}
	}()
	r, err := ipc.NewReader(file, ipc.WithAllocator(hs.svc.Alloc), ipc.WithDelayReadSchema(true))
	if err != nil {
		return firstOf(file.failure(), ctx.Err(), err)
	}
	defer r.Release()
	for r.Next() {
		batch := r.RecordBatch()
		if err := w.Write(batch); err != nil {
			return err
		}
		hs.svc.observe.Sent(util.TotalRecordSize(batch))
		h.touch(time.Now(), hs.limits.Abandon)
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return firstOf(file.failure(), ctx.Err(), err)
	}
	return firstOf(file.failure(), ctx.Err())
}

// firstOf is the first error that is one.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
