package sidecar

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
	"github.com/vegadb/vega-flight/plugin"
)

const perKey = "SELECT k, count(*) AS n, sum(v)::BIGINT AS s FROM t GROUP BY k"

// kill ends the sidecar as a power cut would.
func kill(t *testing.T, s *plugin.Sidecar) {
	t.Helper()
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(int(info.GetPid()))
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	<-s.Ended()
}

// writer inserts rows one by one until it is stopped, on whatever sidecar there is. An insert whose answer is lost may have happened.
type writer struct{ asked, sure int }

func (w *writer) run(ctx context.Context, s *plugin.Supervisor, wrote chan<- struct{}) error {
	for ctx.Err() == nil {
		if err := w.write(ctx, s, wrote); ctx.Err() == nil && !gone(err) {
			return err
		}
	}
	return nil
}

// write inserts until something fails.
func (w *writer) write(ctx context.Context, s *plugin.Supervisor, wrote chan<- struct{}) error {
	of, err := s.Sidecar(ctx)
	if err != nil {
		return err
	}
	for c := client(of); ; w.sure++ {
		w.asked++
		if _, err := c.Query(ctx, fmt.Sprintf("INSERT INTO t VALUES (%d, %d)", w.asked%10, w.asked)); err != nil {
			return err
		}
		select {
		case wrote <- struct{}{}:
		default:
		}
	}
}

// TestTwentyKills kills the sidecar twenty times under a writer. Every committed row is in the streaming view; jobs go on.
func TestTwentyKills(t *testing.T) {
	o, _ := options(t)
	s := supervise(t, o)
	of, c := now(t, s)
	c.Must(t, "CREATE TABLE t (k BIGINT, v BIGINT)")
	c.Must(t, "CREATE STREAMING MATERIALIZED VIEW follows WITH (wait_for_ready = true, checkpoint_interval = '200ms') AS "+perKey)
	c.Must(t, "CREATE MATERIALIZED VIEW refreshed AS "+perKey+" WITH NO DATA")

	writing, stop := context.WithCancel(t.Context())
	defer stop()
	w, wrote, ended := &writer{}, make(chan struct{}), make(chan error, 1)
	go func() { ended <- w.run(writing, s, wrote) }()
	for n := range 20 {
		for range 10 + n%7*15 { // at another moment each time
			<-wrote
		}
		job := ""
		if rows, err := c.Query(t.Context(), "REFRESH MATERIALIZED VIEW refreshed WITH (wait = false)"); err == nil {
			job = rows[0][1]
		} else if !gone(err) {
			t.Fatal(err)
		}
		kill(t, of)
		of, c = now(t, s)
		if got := s.Starts(); got != n+2 {
			t.Fatalf("%d sidecars have served after %d kills", got, n+1)
		}
		if job != "" {
			state := ""
			process.Until(t, "the job goes on", func() bool {
				state = c.Value(t, "SELECT state FROM vega.jobs WHERE job_id = '"+job+"'")
				return state == "SUCCEEDED"
			}, func() any { return state })
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	same(t, c, "follows", perKey)
	c.Must(t, "REFRESH MATERIALIZED VIEW refreshed")
	same(t, c, "refreshed", perKey)
	n, err := strconv.Atoi(c.Value(t, "SELECT count(*) FROM t"))
	if err != nil || n < w.sure || n > w.asked {
		t.Errorf("%d rows, %d of %d inserts were answered: %v", n, w.sure, w.asked, err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := process.Run(t, "check", "--lake", o.Lake["lake"], "--extension-dir", process.ExtensionDir(t)); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
}
