package sidecar

import (
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/plugin"
	"github.com/vegadb/vega-flight/plugin/control"

	"github.com/vegadb/vega-flight/integration/process"
)

// resumes starts the next sidecar and says whether the view went on from a checkpoint instead of being computed anew.
func resumes(t *testing.T, o plugin.Options, log *lines) {
	t.Helper()
	s := start(t, o)
	c := client(s)
	state := ""
	process.Until(t, "the view runs", func() bool {
		state = c.Value(t, "SELECT state FROM vega.streaming_views WHERE view_name = 'follows'")
		return state == "RUNNING"
	}, func() any { return state })
	same(t, c, "follows", perKey)
	if strings.Contains(log.String(), "computed anew") {
		t.Error("the state was computed anew")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func withView(t *testing.T, s *plugin.Sidecar) *process.Client {
	t.Helper()
	c := client(s)
	c.Must(t, "CREATE TABLE t (k BIGINT, v BIGINT)")
	c.Must(t, "INSERT INTO t SELECT i % 100, i FROM range(10000) t(i)")
	c.Must(t, "CREATE STREAMING MATERIALIZED VIEW follows WITH (wait_for_ready = true, checkpoint_interval = '1h') AS "+perKey)
	c.Must(t, "INSERT INTO t VALUES (1, 1)")
	return c
}

func TestADrainedSidecarLeavesCheckpoints(t *testing.T) {
	o, log := options(t)
	s := start(t, o)
	c := withView(t, s)
	states := make(chan control.State, 16)
	go func() {
		_ = s.Health(t.Context(), func(state control.State, _ string) bool { states <- state; return state != control.State_STATE_DRAINED })
		close(states)
	}()
	if first := <-states; first != control.State_STATE_SERVING {
		t.Errorf("it is %s", first)
	}
	complete, err := s.Drain(t.Context(), 0)
	if err != nil || !complete {
		t.Fatalf("drained: %t %v", complete, err)
	}
	var seen []string
	for state := range states {
		seen = append(seen, state.String())
	}
	if got := strings.Join(seen, " "); got != "STATE_DRAINING STATE_DRAINED" {
		t.Errorf("it went through %s", got)
	}
	_, err = c.Query(t.Context(), "SELECT 1")
	process.Refused(t, err, "SERVER_DRAINING")
	if _, err := s.Configure(t.Context(), o.Lake); err == nil || !strings.Contains(err.Error(), "SERVER_DRAINING") {
		t.Errorf("a drained sidecar was configured: %v", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	resumes(t, o, log)
}

// TestASidecarThatIsEndedWithoutADrain still leaves checkpoints: closing takes less than the two seconds that go-plugin gives.
func TestASidecarThatIsEndedWithoutADrain(t *testing.T) {
	o, log := options(t)
	s := start(t, o)
	withView(t, s)
	s.Kill()
	select {
	case <-s.Ended():
	default:
		t.Error("the process lives")
	}
	if strings.Contains(log.String(), "signal: killed") {
		t.Error("it had to be killed")
	}
	resumes(t, o, log)
}

// TestADrainCutsOff what does not end.
func TestADrainCutsOff(t *testing.T) {
	o, _ := options(t)
	s := start(t, o)
	c := client(s)
	info, err := c.Execute(t.Context(), "SELECT i FROM range(1000000000000) t(i)")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.DoGet(t.Context(), info.GetEndpoint()[0].GetTicket())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	complete, err := s.Drain(t.Context(), 300*time.Millisecond)
	if err != nil || complete {
		t.Errorf("drained: %t %v", complete, err)
	}
	for rows.Next() { // what was on its way
	}
	if rows.Err() == nil {
		t.Error("the endless result has an end")
	}
}
