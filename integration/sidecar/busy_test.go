package sidecar

import (
	"path/filepath"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// TestUpgradeWhileItIsBusy changes the binary while a job runs and a subscriber listens. The job goes on in the new one, and so does the
// subscriber, who is told to; nothing is lost and nothing comes twice.
func TestUpgradeWhileItIsBusy(t *testing.T) {
	o, _ := options(t, "shutdown-grace", "200ms")
	s := supervise(t, o)
	_, c := now(t, s)
	c.Must(t, "CREATE TABLE t (k BIGINT, v BIGINT)")
	c.Must(t, "INSERT INTO t SELECT i % 10, i FROM range(1000) r(i)")
	c.Must(t, "CREATE STREAMING MATERIALIZED VIEW follows WITH (wait_for_ready = true) AS "+perKey)
	c.Must(t, "CREATE MATERIALIZED VIEW long AS SELECT count(*) AS n FROM t, range(2000) a, range(40) b WHERE t.v + a.range <> b.range WITH NO DATA")
	sub := process.NewSubscriber("follows")
	if err := sub.Subscribe(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for sub.At < 0 {
		if err := sub.Next(); err != nil {
			t.Fatal(err)
		}
	}
	job := c.Must(t, "REFRESH MATERIALIZED VIEW long WITH (wait = false)")[0][1]
	next := o
	next.Binary = filepath.Join(t.TempDir(), "vega-flight-next")
	if err := copyFile(next.Binary, process.Binary(t)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		for {
			if err := sub.Next(); err != nil {
				ended <- err
				return
			}
		}
	}()
	if err := s.Upgrade(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	process.Refused(t, <-ended, "SERVER_DRAINING")
	_, c = now(t, s)
	state := ""
	process.Until(t, "the job goes on", func() bool {
		state = c.Value(t, "SELECT state FROM vega.jobs WHERE job_id = '"+job+"'")
		return state == "SUCCEEDED"
	}, func() any { return state })
	c.Must(t, "INSERT INTO t VALUES (3, 7)")
	same(t, c, "follows", perKey)
	if err := sub.Subscribe(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	before := sub.Publications
	for sub.Publications == before {
		if err := sub.Next(); err != nil {
			t.Fatal(err)
		}
	}
	sub.Compare(t, c)
}
