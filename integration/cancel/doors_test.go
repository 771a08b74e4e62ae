package cancel

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"

	"github.com/vegadb/vega-flight/integration/process"
)

// door is one way to cancel. Its error is how the statement ended, nil when it succeeded first; then nothing of it runs.
type door struct {
	name string
	jobs bool // only for statements with a job behind them
	run  func(b *bench, sql string) error
}

// moment is a random one in the life of a statement.
func (b *bench) moment() {
	time.Sleep(time.Duration(b.rnd.Int64N(int64(300 * time.Millisecond))))
}

// polled is a door for statements that were submitted by a poll; ask cancels it by another connection of the same user.
func polled(ask func(ctx context.Context, c *process.Client, h *process.Handle) error) func(*bench, string) error {
	return func(b *bench, sql string) error {
		h, err := b.server.Connect(b.t).Submit(b.t.Context(), sql)
		if err != nil {
			b.t.Fatal(err)
		}
		b.moment()
		if err := ask(b.t.Context(), b.observer, h); err != nil && process.Code(err) != "JOB_NOT_CANCELLABLE" {
			b.t.Fatal(err)
		}
		_, err = h.End(b.t.Context())
		return err
	}
}

var doors = []door{
	{name: "CancelFlightInfo", run: polled(func(ctx context.Context, c *process.Client, h *process.Handle) error {
		_, err := h.On(c).Cancel(ctx)
		return err
	})},
	{name: "CancelQuery", run: polled(func(ctx context.Context, c *process.Client, h *process.Handle) error {
		r, err := c.CancelQuery(ctx, h.Info) //nolint:staticcheck // older clients use it: it is one of the doors
		if err == nil && r == flightsql.CancelResultUnspecified {
			err = errors.New("CancelQuery answers UNSPECIFIED")
		}
		return err
	})},
	{name: "vega.cancel_job", run: polled(func(ctx context.Context, c *process.Client, h *process.Handle) error {
		var answer struct{ Job, State string }
		return c.Action(ctx, "vega.cancel_job", map[string]string{"job": h.Status.Job}, &answer)
	})},
	{name: "CANCEL JOB", jobs: true, run: polled(func(ctx context.Context, c *process.Client, h *process.Handle) error {
		_, err := c.Query(ctx, "CANCEL JOB '"+h.Status.Job+"'")
		return err
	})},
	{name: "the call's end", run: (*bench).giveUp},
}

// giveUp ends the call that runs the statement, once the server is at work with it, and waits until the server has
// written the statement's end down.
func (b *bench) giveUp(sql string) error {
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	c := b.server.Connect(b.t)
	ended, cpu := b.ended(), b.server.CPU(b.t)
	end := make(chan error, 1)
	go call(ctx, c, sql, end)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for b.server.CPU(b.t) < cpu+100*time.Millisecond {
		select {
		case err := <-end:
			return err
		case <-tick.C:
		}
	}
	b.moment()
	cancel()
	err := <-end
	for err != nil && b.ended() == ended {
		<-tick.C
	}
	return err
}

func call(ctx context.Context, c *process.Client, sql string, end chan<- error) {
	_, err := c.Query(ctx, sql)
	end <- err
}

// bench is a server and those who watch it.
type bench struct {
	t        *testing.T
	rnd      *rand.Rand
	server   *process.Server
	observer *process.Client
	data     string // the lake's folder
}
