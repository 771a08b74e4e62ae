package flightsql

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/job"
)

// handlePrefix starts the ids of retained query handles.
const handlePrefix = "vqh_"

// handle is one polled statement, while it runs and after. Behind it stands
// either a durable job of the engine or a goroutine of this process that runs
// the statement into a spool.
type handle struct {
	id        string
	principal string
	kind      string // the statement's, for people
	submitted time.Time
	job       string             // the durable job; empty for a plain statement
	cancel    context.CancelFunc // stops what runs here: the statement, or following its job
	commit    commitMark

	mu      sync.Mutex
	schema  *arrow.Schema // nil until a text of several statements comes to its last one
	spool   *spool        // a plain statement's rows; nil before there are any, when they are gone, and for jobs
	now     progress
	seq     uint64        // grows with every change that pollers are told; also across restarts
	told    time.Time     // when seq last grew
	changed chan struct{} // closed and replaced when seq grows
	stopped chan struct{} // closed when nothing of it runs here
	expires time.Time
	kept    time.Time // expires as the handle's row has it
	watched int       // calls that wait for it or read it
}

// progress is how far a handle's statement is.
type progress struct {
	State    job.State
	Phase    string
	Fraction float64 // 0…1, or job.Unknown
	Rows     int64
	View     string // the view a job works on
	Ended    time.Time
	Err      error // with FAILED, CANCELLED and INTERRUPTED
}

// commitMark finds the commit of a statement that wrote, after a crash.
type commitMark struct {
	id    string
	after int64 // the lake's snapshot before the statement
}

// tellEvery bounds how often mere progress wakes pollers; changes of state always do.
const tellEvery = 200 * time.Millisecond

func newHandle(id, principal string, at time.Time) *handle {
	return &handle{
		id: id, principal: principal, submitted: at, cancel: func() {},
		now: progress{State: job.Queued, Phase: "queued", Fraction: job.Unknown},
		// Microseconds since 1970 stay ahead of any count of changes, so a
		// descriptor of an earlier process is never taken for the newest one.
		seq: uint64(at.UnixMicro()), changed: make(chan struct{}), stopped: make(chan struct{}),
	}
}

// state is a copy of how far the statement is, with the number of the change that made it so.
func (h *handle) state() (progress, uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now, h.seq
}

// begins makes the result's schema known, and where its rows will be.
func (h *handle) begins(schema *arrow.Schema, sp *spool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.schema, h.spool = schema, sp
	h.tellLocked()
}

func (h *handle) result() (*arrow.Schema, *spool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.schema, h.spool
}

// ended says that nothing of the statement moves any more.
func (h *handle) ended() bool {
	now, _ := h.state()
	return now.State.Ended()
}

// update changes the progress. An ended handle does not move any more.
func (h *handle) update(change func(*progress)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now.State.Ended() {
		return
	}
	old := h.now
	change(&h.now)
	if h.now.State != old.State || h.now.Phase != old.Phase {
		h.tellLocked()
		return
	}
	moved := h.now.Rows != old.Rows || h.now.Fraction != old.Fraction
	if moved && time.Since(h.told) >= tellEvery {
		h.tellLocked()
	}
}

func (h *handle) tellLocked() {
	h.seq++
	h.told = time.Now()
	close(h.changed)
	h.changed = make(chan struct{})
}

// end records the end of a statement: err is nil, the reason it failed, or a cancellation.
func (h *handle) end(at time.Time, err error, keep time.Duration) {
	h.update(func(p *progress) {
		p.Ended, p.Err = at, err
		h.expires = at.Add(keep) // at once: whoever sees the end counts on it
		switch code := fault.CodeOf(err); {
		case err == nil:
			p.State, p.Phase, p.Fraction = job.Succeeded, "finished", 1
		case code == fault.Cancelled:
			p.State, p.Phase = job.Cancelled, "cancelled"
		case code == fault.JobInterrupted:
			p.State, p.Phase = job.Interrupted, "interrupted"
		default:
			p.State, p.Phase = job.Failed, "failed"
		}
	})
}

// observe takes over what is known of the durable job.
func (h *handle) observe(j job.Job, keep time.Duration) {
	h.update(func(p *progress) {
		p.State, p.Phase, p.Fraction, p.Rows, p.View = j.State, j.Phase, j.Progress, j.RowsWritten, j.View
		p.Ended, p.Err = j.FinishedAt, j.Err()
		if j.State.Ended() {
			h.expires = j.FinishedAt.Add(keep)
		}
	})
}

// keepUntil sets the expiry, when the statement has ended.
func (h *handle) keepUntil(t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expires = t
}

// promised is until when a client may count on the handle and its rows: an end
// right now would leave them for the time that ended ones are kept.
func (h *handle) promised(at time.Time, keep time.Duration) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := at.Add(keep); !h.now.State.Ended() && t.Before(h.expires) {
		return t
	}
	return h.expires
}

// extend moves the expiry later, never earlier.
func (h *handle) extend(t time.Time) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.After(h.expires) {
		h.expires = t
	}
	return h.expires
}

// touch notes a poll and gives the time until which the handle is kept at least.
func (h *handle) touch(at time.Time, abandon time.Duration) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := at.Add(abandon); !h.now.State.Ended() && t.After(h.expires) {
		h.expires = t
	}
	return h.expires
}

// expired says that the handle's time is over. That of a running job never is: it ends by itself.
func (h *handle) expired(at time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return at.After(h.expires) && (h.job == "" || h.now.State.Ended())
}

// watch says that a call waits for the handle, or reads it, until the returned function is called.
func (h *handle) watch() (done func()) {
	h.mu.Lock()
	h.watched++
	h.mu.Unlock()
	return func() {
		h.mu.Lock()
		h.watched--
		h.mu.Unlock()
	}
}

// renewed gives an unfinished handle that is watched its time anew, and says what its row should have when that has
// fallen behind.
func (h *handle) renewed(at time.Time, abandon time.Duration) (expires time.Time, behind bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now.State.Ended() {
		return h.expires, false
	}
	if t := at.Add(abandon); h.watched > 0 && t.After(h.expires) {
		h.expires = t
	}
	return h.expires, h.expires.Sub(h.kept) > abandon/4
}

// recorded says that the handle's row has that expiry.
func (h *handle) recorded(expires time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = expires
}

// await returns when the handle's change is not seen, and also when ctx ends or stop closes.
func (h *handle) await(ctx context.Context, seen uint64, stop <-chan struct{}) {
	h.mu.Lock()
	seq, changed := h.seq, h.changed
	h.mu.Unlock()
	if seq != seen {
		return
	}
	defer h.watch()()
	select {
	case <-changed:
	case <-stop:
	case <-ctx.Done():
	}
}

// awaitEnd returns when the statement has ended, or with ctx's error.
func (h *handle) awaitEnd(ctx context.Context) (progress, error) {
	for {
		now, seq := h.state()
		if now.State.Ended() {
			return now, nil
		}
		h.await(ctx, seq, nil)
		if err := ctx.Err(); err != nil {
			return now, err
		}
	}
}

// metadata is what FlightInfo.app_metadata says, as JSON.
func (h *handle) metadata(p progress, clean func(string) string) []byte {
	raw, err := json.Marshal(h.describe(p, clean))
	if err != nil {
		return nil
	}
	return raw
}

// describe says how far the statement is, in the words of the JSON interface; clean is for what went wrong.
func (h *handle) describe(p progress, clean func(string) string) handleMetadata {
	m := handleMetadata{Handle: h.id, Job: h.job, Kind: h.kind, View: p.View, State: p.State, Phase: p.Phase, Rows: p.Rows, SubmittedAt: h.submitted.UTC()}
	if m.Job == "" {
		m.Job = h.id
	}
	if p.Fraction >= 0 {
		m.Progress = &p.Fraction
	}
	if !p.Ended.IsZero() {
		ended := p.Ended.UTC()
		m.FinishedAt = &ended
	}
	if p.Err != nil {
		f := classify(p.Err)
		m.Error, m.Message = f.Code.Name(), clean(f.Message)
	}
	return m
}

type handleMetadata struct {
	Handle      string     `json:"handle,omitempty"`
	Job         string     `json:"job"`
	Kind        string     `json:"kind,omitempty"`
	View        string     `json:"view,omitempty"`
	State       job.State  `json:"state"`
	Phase       string     `json:"phase,omitempty"`
	Progress    *float64   `json:"progress,omitempty"`
	Rows        int64      `json:"rows"`
	SubmittedAt time.Time  `json:"submitted_at"`
	FinishedAt  *time.Time `json:"finished_at,omitempty"`
	Error       string     `json:"error,omitempty"`
	Message     string     `json:"message,omitempty"`
}
