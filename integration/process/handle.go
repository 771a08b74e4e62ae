package process

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
)

// Handle is a statement that was submitted by a first poll.
type Handle struct {
	Info   *flight.FlightInfo
	Status Status // as of the last poll

	c    *Client
	next *flight.FlightDescriptor // nil: it has succeeded
}

// Status is what a poll says of a statement.
type Status struct {
	Handle, Job, Kind, View, State, Phase string
	Progress                              *float64
	Rows                                  int64
	Error                                 string
}

// Ended says that the statement is over.
func (s Status) Ended() bool {
	return slices.Contains([]string{"SUCCEEDED", "FAILED", "CANCELLED", "INTERRUPTED"}, s.State)
}

// Submit starts a statement and does not wait for it.
func (c *Client) Submit(ctx context.Context, sql string) (*Handle, error) {
	info, err := c.ExecutePoll(ctx, sql, nil)
	if err != nil {
		return nil, err
	}
	h := &Handle{c: c}
	return h, h.take(info)
}

func (h *Handle) take(p *flight.PollInfo) error {
	h.Info, h.next = p.GetInfo(), p.GetFlightDescriptor()
	return json.Unmarshal(h.Info.GetAppMetadata(), &h.Status)
}

// On asks another connection, perhaps to another server, from now on.
func (h *Handle) On(c *Client) *Handle {
	other := *h
	other.c = c
	return &other
}

// Poll waits for news. The error is the statement's own when it has failed.
func (h *Handle) Poll(ctx context.Context) error {
	d := h.next
	if d == nil {
		d = h.Info.GetFlightDescriptor()
	}
	p, err := h.c.Client.Client.PollFlightInfo(ctx, d)
	if err != nil {
		return err
	}
	return h.take(p)
}

// Until polls until the statement is as wanted, or has ended.
func (h *Handle) Until(ctx context.Context, wanted func(Status) bool) error {
	for !wanted(h.Status) && !h.Status.Ended() {
		if err := h.Poll(ctx); err != nil {
			return err
		}
	}
	if !wanted(h.Status) {
		return errors.New("the statement has ended: " + h.Status.State)
	}
	return nil
}

// Running polls until the statement runs.
func (h *Handle) Running(t testing.TB) *Handle {
	t.Helper()
	if err := h.Until(t.Context(), func(s Status) bool { return s.State == "RUNNING" }); err != nil {
		t.Fatalf("%s %s: %v", h.Status.Kind, h.Status.View, err)
	}
	return h
}

// Evaluating polls until a refresh runs its query.
func (h *Handle) Evaluating(t testing.TB) *Handle {
	t.Helper()
	if err := h.Until(t.Context(), func(s Status) bool { return s.State == "RUNNING" && s.Phase == "evaluating" }); err != nil {
		t.Fatalf("%s %s: %v", h.Status.Kind, h.Status.View, err)
	}
	return h
}

// End polls until the statement has ended and returns its rows.
func (h *Handle) End(ctx context.Context) ([][]string, error) {
	for h.next != nil {
		if err := h.Poll(ctx); err != nil {
			return nil, err
		}
	}
	return h.c.Fetch(ctx, h.Info)
}

// Cancel is the door CancelFlightInfo.
func (h *Handle) Cancel(ctx context.Context) (flight.CancelStatus, error) {
	r, err := h.c.CancelFlightInfo(ctx, &flight.CancelFlightInfoRequest{Info: h.Info})
	return r.GetStatus(), err
}

// Action runs a Flight action whose body and answer are JSON.
func (c *Client) Action(ctx context.Context, name string, body, answer any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	stream, err := c.Client.Client.DoAction(ctx, &flight.Action{Type: name, Body: raw})
	if err != nil {
		return err
	}
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal(r.GetBody(), answer); err != nil {
			return err
		}
	}
}
