package job

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/vegadb/vega-flight/fault"
)

// script is Work whose runs wait to be told what to do.
type script struct {
	mu        sync.Mutex
	running   map[string]int // runs now, by subject
	most      int            // most runs at once of one subject
	started   chan string
	finish    map[string]chan error
	discarded []string
}

func newScript() *script {
	return &script{running: map[string]int{}, started: make(chan string, 100), finish: map[string]chan error{}}
}

func (s *script) end(id string) chan error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finish[id] == nil {
		s.finish[id] = make(chan error, 10)
	}
	return s.finish[id]
}

func (s *script) Run(ctx context.Context, j Job, r *Reporter) (Outcome, error) {
	s.mu.Lock()
	s.running[j.Subject]++
	s.most = max(s.most, s.running[j.Subject])
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.running[j.Subject]--
		s.mu.Unlock()
	}()
	s.started <- j.ID
	select {
	case err := <-s.end(j.ID):
		return Outcome{Result: json.RawMessage(`{"ok":true}`), Rows: 7}, err
	case <-ctx.Done():
		return Outcome{}, ctx.Err()
	}
}

func (s *script) Discard(_ context.Context, j Job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.discarded = append(s.discarded, j.ID)
	return nil
}

func start(t *testing.T, m *memory, w Work, server string, mod func(*Config)) *Runner {
	t.Helper()
	c := Config{Store: m, ServerID: server, Workers: 2, Tick: 1e6}
	if mod != nil {
		mod(&c)
	}
	r := NewRunner(c, map[Kind]Work{Refresh: w})
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func submit(t *testing.T, r *Runner, subject string) Job {
	t.Helper()
	j := r.New(Refresh, subject, "main."+subject, "ann", "statement", nil)
	if err := r.Submit(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	return j
}

func ended(t *testing.T, r *Runner, id string, want State) Job {
	t.Helper()
	j, err := r.Done(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if j.State != want {
		t.Fatalf("job ended %s (%s %s), want %s", j.State, j.ErrorCode, j.ErrorMessage, want)
	}
	return j
}

func closeRunner(t *testing.T, r *Runner) {
	t.Helper()
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestOneAtATimeAndInOrder(t *testing.T) {
	m, w := newMemory(), newScript()
	r := start(t, m, w, "s", nil)
	defer closeRunner(t, r)
	a1, a2, b1 := submit(t, r, "a"), submit(t, r, "a"), submit(t, r, "b")
	got := map[string]bool{<-w.started: true, <-w.started: true}
	if !got[a1.ID] || !got[b1.ID] {
		t.Fatalf("the second job of a subject started beside the first")
	}
	w.end(a1.ID) <- nil
	if id := <-w.started; id != a2.ID {
		t.Fatalf("started %s", id)
	}
	w.end(a2.ID) <- fault.SourceChanged.Newf("t is gone")
	w.end(b1.ID) <- nil
	if j := ended(t, r, a1.ID, Succeeded); j.RowsWritten != 7 || string(j.Result) != `{"ok":true}` || j.Attempt != 1 {
		t.Errorf("%+v", j)
	}
	if j := ended(t, r, a2.ID, Failed); j.ErrorCode != "SOURCE_CHANGED" {
		t.Errorf("%+v", j)
	}
	ended(t, r, b1.ID, Succeeded)
	if w.most != 1 {
		t.Errorf("%d runs of one subject at once", w.most)
	}
}

func TestCancel(t *testing.T) {
	m, w := newMemory(), newScript()
	r := start(t, m, w, "s", nil)
	defer closeRunner(t, r)
	first, second := submit(t, r, "a"), submit(t, r, "a")
	<-w.started
	if s, err := r.Cancel(t.Context(), second.ID); err != nil || s != Cancelled {
		t.Fatalf("a queued job: %s, %v", s, err)
	}
	if s, err := r.Cancel(t.Context(), first.ID); err != nil || s != Cancelling && s != Cancelled {
		t.Fatalf("a running job: %s, %v", s, err)
	}
	j := ended(t, r, first.ID, Cancelled)
	w.mu.Lock()
	if w.running["a"] != 0 {
		t.Error("CANCELLED while it runs")
	}
	w.mu.Unlock()
	if !errors.Is(j.Err(), fault.Cancelled.Sentinel()) {
		t.Errorf("error: %v", j.Err())
	}
	if s, err := r.Cancel(t.Context(), first.ID); err != nil || s != Cancelled {
		t.Errorf("again: %s, %v", s, err)
	}
	done := submit(t, r, "b")
	w.end(done.ID) <- nil
	ended(t, r, done.ID, Succeeded)
	if _, err := r.Cancel(t.Context(), done.ID); !errors.Is(err, fault.JobNotCancellable.Sentinel()) {
		t.Errorf("an ended job: %v", err)
	}
	if _, err := r.Cancel(t.Context(), "nope"); !errors.Is(err, fault.JobNotFound.Sentinel()) {
		t.Errorf("an unknown job: %v", err)
	}
}

// A publication moves the row to SUCCEEDED by itself; a cancel that comes later finds the job ended, and the run's own error does not matter.
func TestPublishedInItsOwnTransaction(t *testing.T) {
	m, w := newMemory(), newScript()
	r := start(t, m, w, "s", nil)
	defer closeRunner(t, r)
	j := submit(t, r, "a")
	<-w.started
	row, _ := m.ByID(t.Context(), j.ID)
	row, _ = Decide(row, Returned, Facts{Result: []byte(`1`), Rows: 3})
	if ok, _ := m.Update(t.Context(), row); !ok {
		t.Fatal("not updated")
	}
	if _, err := r.Cancel(t.Context(), j.ID); !errors.Is(err, fault.JobNotCancellable.Sentinel()) {
		t.Errorf("cancel after the commit: %v", err)
	}
	w.end(j.ID) <- errors.New("the answer was lost")
	if got := ended(t, r, j.ID, Succeeded); string(got.Result) != "1" || got.RowsWritten != 3 {
		t.Errorf("%+v", got)
	}
}

func TestWaitWakesOnProgress(t *testing.T) {
	m := newMemory()
	step := make(chan func(*Reporter))
	r := start(t, m, workFunc(func(ctx context.Context, j Job, rep *Reporter) (Outcome, error) {
		for f := range step {
			f(rep)
		}
		return Outcome{}, nil
	}), "s", nil)
	defer closeRunner(t, r)
	j := submit(t, r, "a")
	next := func(seen Job) Job {
		t.Helper()
		got, err := r.Wait(t.Context(), seen.ID, seen.Seq())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for j.State != Running {
		j = next(j)
	}
	step <- func(rep *Reporter) { rep.Progress("evaluating", 0.5, 0) }
	if j = next(j); j.Phase != "evaluating" || j.Progress != 0.5 {
		t.Fatalf("%+v", j)
	}
	step <- func(rep *Reporter) { rep.Progress("evaluating", 0.5, 0) } // nothing new: nobody is woken
	step <- func(rep *Reporter) { rep.Progress("publishing", 1, 10) }
	for j.Phase == "evaluating" {
		j = next(j) // the progress writer may wake with the row's new version
	}
	if j.Phase != "publishing" || j.RowsWritten != 10 {
		t.Fatalf("%+v", j)
	}
	close(step)
	ended(t, r, j.ID, Succeeded)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Wait(ctx, j.ID, 0); err != nil {
		t.Errorf("an ended job needs no waiting: %v", err)
	}
}

type workFunc func(context.Context, Job, *Reporter) (Outcome, error)

func (f workFunc) Run(ctx context.Context, j Job, r *Reporter) (Outcome, error) { return f(ctx, j, r) }
func (f workFunc) Discard(context.Context, Job) error                           { return nil }

func TestPanicIsAFailure(t *testing.T) {
	m := newMemory()
	r := start(t, m, workFunc(func(context.Context, Job, *Reporter) (Outcome, error) { panic("no") }), "s", nil)
	defer closeRunner(t, r)
	if j := ended(t, r, submit(t, r, "a").ID, Failed); j.ErrorCode != "INTERNAL_ERROR" {
		t.Errorf("%+v", j)
	}
}

func TestDrainAndResume(t *testing.T) {
	m, w := newMemory(), newScript()
	r := start(t, m, w, "s", nil)
	running, queued := submit(t, r, "a"), submit(t, r, "a")
	<-w.started
	waited := make(chan error, 1)
	go func() {
		j, err := r.Done(context.Background(), running.ID)
		_ = j
		waited <- err
	}()
	closeRunner(t, r)
	if err := <-waited; !errors.Is(err, fault.Draining.Sentinel()) {
		t.Errorf("a waiter of a draining server: %v", err)
	}
	if err := r.Submit(t.Context(), r.New(Refresh, "a", "a", "ann", "statement", nil)); !errors.Is(err, fault.Draining.Sentinel()) {
		t.Errorf("submit while draining: %v", err)
	}
	for _, id := range []string{running.ID, queued.ID} {
		if row, _ := m.ByID(t.Context(), id); row.State != Queued || row.Attempt != 0 {
			t.Errorf("after the drain: %+v", row)
		}
	}
	r = start(t, m, w, "s", func(c *Config) { c.Fence = func() int64 { return 2 } })
	defer closeRunner(t, r)
	if id := <-w.started; id != running.ID {
		t.Errorf("the first one goes first, not %s", id)
	}
	w.end(running.ID) <- nil
	ended(t, r, running.ID, Succeeded)
	w.end(queued.ID) <- nil
	ended(t, r, queued.ID, Succeeded)
}

func TestAdoptionOfADeadServersJobs(t *testing.T) {
	m, w := newMemory(), newScript()
	put := func(id, server string, s State, attempt int) {
		_ = m.Insert(t.Context(), Job{ID: id, Kind: Refresh, Subject: id, State: s, ServerID: server, Fence: 1, Attempt: attempt, Version: 1})
	}
	put("queued", "dead", Queued, 0)
	put("running", "dead", Running, 1)
	put("tired", "dead", Running, 3)
	put("cancelling", "dead", Cancelling, 1)
	put("alive", "other", Running, 1)
	heard := make(chan Job, 10)
	r := start(t, m, w, "me", func(c *Config) {
		c.Live = func(context.Context) (map[string]bool, error) { return map[string]bool{"me": true, "other": true}, nil }
		c.Ended = func(j Job) { heard <- j }
	})
	defer closeRunner(t, r)
	started := map[string]bool{<-w.started: true, <-w.started: true}
	if !started["queued"] || !started["running"] {
		t.Errorf("started %v", started)
	}
	w.end("queued") <- nil
	w.end("running") <- nil
	ended(t, r, "queued", Succeeded)
	if j := ended(t, r, "running", Succeeded); j.Attempt != 2 || j.ServerID != "me" {
		t.Errorf("%+v", j)
	}
	if j := ended(t, r, "tired", Interrupted); j.ErrorCode != "JOB_INTERRUPTED" {
		t.Errorf("%+v", j)
	}
	ended(t, r, "cancelling", Cancelled)
	if row, _ := m.ByID(t.Context(), "alive"); row.ServerID != "other" || row.State != Running {
		t.Errorf("a living server's job was touched: %+v", row)
	}
	w.mu.Lock()
	if len(w.discarded) != 3 {
		t.Errorf("discarded %v", w.discarded)
	}
	w.mu.Unlock()
	told := map[string]bool{}
	for range 4 { // waiters of a job may be woken before
		told[(<-heard).ID] = true
	}
	if len(told) != 4 {
		t.Errorf("ended: %v", told)
	}
}

// An owner that lost its job to another server stops its run and writes nothing more.
func TestLostJob(t *testing.T) {
	m, w := newMemory(), newScript()
	live := func(context.Context) (map[string]bool, error) { return map[string]bool{"old": true, "new": true}, nil }
	r := start(t, m, w, "old", func(c *Config) { c.Live = live })
	defer closeRunner(t, r)
	j := submit(t, r, "a")
	<-w.started
	for {
		row, _ := m.ByID(t.Context(), j.ID)
		row.ServerID, row.Fence = "new", 9
		if ok, _ := m.Update(t.Context(), row); ok {
			break
		}
	}
	for { // the old owner forgets it once its run has returned
		r.mu.Lock()
		_, here := r.live[j.ID]
		r.mu.Unlock()
		w.mu.Lock()
		running := w.running["a"]
		w.mu.Unlock()
		if !here && running == 0 {
			break
		}
		if err := r.pause(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if row, _ := m.ByID(t.Context(), j.ID); row.ServerID != "new" || row.State != Running {
		t.Errorf("%+v", row)
	}
}

// Any server may cancel any job; the owner notices.
func TestCancelOfAnotherServersJob(t *testing.T) {
	m, w := newMemory(), newScript()
	live := func(context.Context) (map[string]bool, error) { return map[string]bool{"a": true, "b": true}, nil }
	owner := start(t, m, w, "a", func(c *Config) { c.Live = live })
	defer closeRunner(t, owner)
	other := start(t, m, newScript(), "b", func(c *Config) { c.Live = live })
	defer closeRunner(t, other)
	j := submit(t, owner, "x")
	<-w.started
	if s, err := other.Cancel(t.Context(), j.ID); err != nil || s != Cancelling && s != Cancelled {
		t.Fatalf("%s, %v", s, err)
	}
	ended(t, other, j.ID, Cancelled)
	ended(t, owner, j.ID, Cancelled)
}

// A catalog that is away for a while delays what a job becomes, and changes nothing else.
func TestCatalogAway(t *testing.T) {
	m, w := newMemory(), newScript()
	r := start(t, m, w, "s", nil)
	defer closeRunner(t, r)
	j := submit(t, r, "a")
	<-w.started
	m.mu.Lock()
	left := 3
	m.fail = func(op string) error {
		if op == "update" && left > 0 {
			left--
			return fault.CatalogGone.Newf("down")
		}
		return nil
	}
	m.mu.Unlock()
	w.end(j.ID) <- nil
	ended(t, r, j.ID, Succeeded)
}

func TestSeqDiffersAfterEveryChange(t *testing.T) {
	a := Job{Version: 1}
	b := a
	b.beat++
	c := Job{Version: 2}
	if a.Seq() == b.Seq() || b.Seq() == c.Seq() || a.Seq() == 0 {
		t.Error("Seq repeats")
	}
}
