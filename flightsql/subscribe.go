package flightsql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/protobuf/proto"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/ivm"
	"github.com/vegadb/vega-flight/ivm/ddl"
)

// subscriptionPrefix starts the tickets of subscriptions, which like those of retained handles are no Flight SQL command: their batches go
// out with app_metadata, and their readers may have to be cut off.
var subscriptionPrefix = []byte("vega-subscription:v1:")

func parseSubscription(ticket []byte) (handle string, ok bool) {
	rest, ok := bytes.CutPrefix(ticket, subscriptionPrefix)
	return string(rest), ok
}

// describeSubscription asks the engine what a subscription will give.
func (x *execution) describeSubscription(ctx context.Context, stmt *ddl.Subscribe) error {
	follow, err := x.svc.engine.Subscribe(ctx, x.sess.caller(), stmt, x.sess.lake.Settings().TimeZone)
	if err != nil {
		return shifted(err, x.last().Offset)
	}
	x.follow, x.schema = follow, follow.Schema()
	return nil
}

// subscribe makes a result whose reading is the subscription. What is committed from now on belongs to it. It owns x.
func (x *execution) subscribe(ctx context.Context, r *result) (*result, int64, error) {
	if err := x.follow.Start(ctx); err != nil {
		err = x.fail(ctx, err)
		x.Close()
		return nil, 0, err
	}
	r.schema, r.run, r.tail = x.schema, x, true
	return r, unknownRows, nil
}

// pollSubscription answers a poll at once: a subscription has nothing to wait for.
func (s *Service) pollSubscription(ctx context.Context, x *execution) (*flight.PollInfo, error) {
	r, records, err := s.begin(ctx, x)
	if err != nil {
		return nil, err
	}
	s.results.keep(r, s.limits.Results)
	info, err := s.info(r, nil, records)
	return &flight.PollInfo{Info: info, Progress: proto.Float64(1)}, err
}

// tails counts the open subscriptions by user.
type tails struct {
	mu    sync.Mutex
	users map[string]int
}

func (t *tails) enter(user string, limit int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users[user] >= limit {
		return fault.QuotaExceeded.Newf("user %s has %d open subscriptions, the most a user may have", user, limit).
			WithHint("end those that are not used")
	}
	if t.users == nil {
		t.users = map[string]int{}
	}
	t.users[user]++
	return nil
}

func (t *tails) leave(user string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users[user]--; t.users[user] == 0 {
		delete(t.users, user)
	}
}

// Why a subscription ends before its view does.
var (
	errSlow     = errors.New("the reader is too slow")
	errLeaving  = errors.New("the server drains")
	errDismiss  = errors.New("the subscription was cancelled")
	errNoReader = errors.New("the reader is gone")
)

// tail is a DoGet of a subscription. The sending runs beside the call: a reader that takes nothing blocks the sending for ever, and it is
// the end of the call that frees it.
func (s *Service) tail(handle string, stream flight.FlightService_DoGetServer) error {
	p, ok := auth.FromContext(stream.Context())
	if !ok {
		return fault.Unauthorized.Newf("the call has no caller")
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	r, done, err := s.results.take(handle, p, func() { cancel(errDismiss) })
	if err != nil {
		cancel(nil)
		return err
	}
	x := r.run
	end := func(err error, rows int64) {
		x.rec.end(err, rows)
		x.Close()
		done()
		cancel(nil)
	}
	if err := s.tails.enter(p.Name, s.limits.Subscriptions); err != nil {
		end(err, 0)
		return err
	}
	sub, err := x.follow.Open(ctx)
	if err != nil {
		s.tails.leave(p.Name)
		end(err, 0)
		return err
	}
	t := &tailing{svc: s, user: p.Name, sub: sub, stream: stream, ctx: ctx, cancel: cancel, ended: make(chan error, 1), applied: -1}
	t.close = func(err error) {
		sub.Close()
		s.tails.leave(p.Name)
		end(err, t.rows)
	}
	s.running.Add(1)
	go t.send()
	return t.await(x.sess)
}

// tailing is a subscription that is being sent.
type tailing struct {
	svc    *Service
	user   string
	sub    *ivm.Subscription
	stream flight.FlightService_DoGetServer
	ctx    context.Context // ends when the reader goes away or the subscription is to end; its cause says why
	cancel context.CancelCauseFunc
	close  func(error)
	ended  chan error // the sending's
	rows   int64

	mu      sync.Mutex
	over    bool  // nothing may be written any more
	writing bool  // a batch is on its way
	applied int64 // where who has what was written goes on
}

// await waits for the end of the subscription, and says why it came.
func (t *tailing) await(sess *session) error {
	select {
	case err := <-t.ended:
		return err
	case <-t.svc.handles.letting:
		t.cancel(errLeaving)
	case <-sess.ctx.Done():
		t.cancel(errDismiss)
	case <-t.ctx.Done():
	}
	t.mu.Lock()
	t.over = true
	writing, applied := t.writing, t.applied
	t.mu.Unlock()
	if !writing { // it stops by itself, and may have come to another end before
		return <-t.ended
	}
	return t.reason(context.Cause(t.ctx), applied)
}

// reason is what the reader is told.
func (t *tailing) reason(cause error, applied int64) error {
	switch {
	case errors.Is(cause, errSlow):
		return fault.SubscriberTooSlow.Newf("the reader took no batch for %s", t.svc.limits.SlowSubscriber).WithHint("%s", t.resume(applied))
	case errors.Is(cause, errLeaving):
		return fault.Draining.Newf("the server is shutting down").WithHint("%s", t.resume(applied))
	case errors.Is(cause, errDismiss):
		return fault.Cancelled.Newf("the subscription was cancelled, or its session was closed").WithHint("%s", t.resume(applied))
	}
	var f *fault.Error
	if errors.As(cause, &f) && f.Hint == "" {
		with := *f
		return with.WithHint("%s", t.resume(applied))
	}
	return cause
}

// resume says how to go on.
func (t *tailing) resume(applied int64) string {
	name := t.sub.View().Name
	if applied < 0 {
		return fmt.Sprintf("SUBSCRIBE TO %s starts again; nothing of it was complete", name)
	}
	return fmt.Sprintf("SUBSCRIBE TO %s WITH (as_of = %d) goes on", name, applied)
}

// send writes batch after batch until the subscription ends.
func (t *tailing) send() {
	defer t.svc.running.Done()
	err := t.write()
	if err != nil && t.ctx.Err() != nil && fault.CodeOf(err) == nil {
		err = context.Cause(t.ctx)
	}
	t.mu.Lock()
	applied := t.applied
	t.mu.Unlock()
	if err != nil {
		err = t.reason(err, applied)
	}
	t.close(err)
	t.ended <- err
}

func (t *tailing) write() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.InternalError.Newf("sending a subscription: %v", p)
			t.svc.log.Error("panic while sending a subscription", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	w := flight.NewRecordWriter(t.stream, ipc.WithSchema(t.sub.Schema()), ipc.WithAllocator(t.svc.Alloc))
	for {
		m, err := t.sub.Next(t.ctx)
		if errors.Is(err, io.EOF) {
			return w.Close()
		}
		if err != nil {
			return err
		}
		if err := t.mayGoOn(); err != nil {
			return err
		}
		if err := t.batch(w, m); err != nil {
			return err
		}
	}
}

// mayGoOn is asked before each batch: a call is let in once, and this one may last for ever.
func (t *tailing) mayGoOn() error {
	if t.svc.config.Barred == nil {
		return nil
	}
	if why := t.svc.config.Barred(t.user); why != "" {
		return fault.Unauthorized.Newf("user %s %s", t.user, why)
	}
	return nil
}

// batch writes one batch, in as many messages as it needs.
func (t *tailing) batch(w *flight.Writer, m ivm.Batch) error {
	all := pieces(m.Batch, maxMessage)
	for i, piece := range all {
		note := m.Note
		if i < len(all)-1 { // only the last one brings the reader further
			note.Last, note.AsOf = false, nil
		}
		if !t.begin() {
			return context.Cause(t.ctx)
		}
		slow := time.AfterFunc(t.svc.limits.SlowSubscriber, func() { t.cancel(errSlow) })
		err := w.WriteWithAppMetadata(piece, note.JSON())
		slow.Stop()
		piece.Release()
		if err != nil {
			t.written(-1)
			return errors.Join(errNoReader, err)
		}
		t.svc.observe.Sent(batchSize(piece))
		if note.AsOf != nil {
			t.written(*note.AsOf)
		} else {
			t.written(-1)
		}
	}
	t.rows += m.Batch.NumRows()
	return nil
}

// begin says that something may be written; then written must follow.
func (t *tailing) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writing = !t.over && t.ctx.Err() == nil
	return t.writing
}

// written notes how far the reader is.
func (t *tailing) written(applied int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writing = false
	t.applied = max(t.applied, applied)
}
