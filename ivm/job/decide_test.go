package job

import (
	"errors"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// The whole table: what every event does in every state. An empty state means that nothing happens.
func TestDecide(t *testing.T) {
	events := []Event{Start, Cancel, Returned, Adopt, Drained}
	want := map[State][]State{
		//            Start    Cancel      Returned   Adopt      Drained
		Queued:      {Running, Cancelled, "", "", ""},
		Running:     {"", Cancelling, Succeeded, Queued, Queued},
		Cancelling:  {"", "", Cancelled, Cancelled, Cancelled},
		Succeeded:   {"", "", "", "", ""},
		Failed:      {"", "", "", "", ""},
		Cancelled:   {"", "", "", "", ""},
		Interrupted: {"", "", "", "", ""},
	}
	now := time.Unix(1000, 0)
	for _, s := range States() {
		for i, e := range events {
			j := Job{ID: "1", State: s, Attempt: 1}
			next, ok := Decide(j, e, Facts{Now: now, MaxAttempts: 3})
			w := want[s][i]
			if ok != (w != "") {
				t.Errorf("%s, event %d: ok = %v", s, e, ok)
				continue
			}
			if !ok {
				if next.State != s {
					t.Errorf("%s, event %d: moved to %s without ok", s, e, next.State)
				}
				continue
			}
			if next.State != w {
				t.Errorf("%s, event %d: %s, want %s", s, e, next.State, w)
			}
			if next.State.Ended() != !next.FinishedAt.IsZero() {
				t.Errorf("%s, event %d: finished at %v in state %s", s, e, next.FinishedAt, next.State)
			}
			if (next.Err() != nil) != (next.State == Cancelled) {
				t.Errorf("%s, event %d: error %v in state %s", s, e, next.Err(), next.State)
			}
		}
	}
}

func TestDecideDetails(t *testing.T) {
	now := time.Unix(1000, 0)
	running := Job{ID: "1", State: Running, Attempt: 2, StartedAt: time.Unix(900, 0), RowsWritten: 5}

	failed, _ := Decide(running, Returned, Facts{Now: now, Err: fault.SourceChanged.Newf("gone").WithHint("make it again")})
	if failed.State != Failed || failed.ErrorCode != "SOURCE_CHANGED" || failed.ErrorMessage != "gone" || failed.ErrorHint != "make it again" {
		t.Errorf("failed: %+v", failed)
	}
	if !errors.Is(failed.Err(), fault.SourceChanged.Sentinel()) {
		t.Errorf("Err lost the code: %v", failed.Err())
	}
	if plain, _ := Decide(running, Returned, Facts{Now: now, Err: errors.New("boom")}); plain.ErrorCode != "INTERNAL_ERROR" {
		t.Errorf("an unnamed error: %+v", plain)
	}
	if last, _ := Decide(running, Adopt, Facts{Now: now, MaxAttempts: 2}); last.State != Interrupted || last.ErrorCode != "JOB_INTERRUPTED" {
		t.Errorf("out of attempts: %+v", last)
	}
	if drained, _ := Decide(running, Drained, Facts{Now: now}); drained.Attempt != 1 || drained.RowsWritten != 0 {
		t.Errorf("drained: %+v", drained)
	}
	if again, _ := Decide(Job{State: Queued, StartedAt: time.Unix(1, 0)}, Start, Facts{Now: now}); again.StartedAt != time.Unix(1, 0) || again.Attempt != 1 {
		t.Errorf("a second start keeps the first time: %+v", again)
	}
}

func TestQueue(t *testing.T) {
	var q queue
	for _, x := range []struct{ id, subject string }{{"1", "a"}, {"2", "a"}, {"3", "b"}, {"4", "a"}, {"5", "b"}} {
		q.push(x.id, x.subject)
	}
	busy := map[string]bool{}
	enter := func(subject string) bool {
		free := !busy[subject]
		busy[subject] = true
		return free
	}
	expect := func(want string) {
		t.Helper()
		if got, _ := q.take(enter); got != want {
			t.Fatalf("took %q, want %q", got, want)
		}
	}
	expect("1")
	expect("3")
	expect("")
	q.remove("2")
	busy["a"] = false
	expect("4")
	busy["b"] = false
	expect("5")
	busy["a"] = false
	busy["b"] = false
	expect("")
}
