package cluster

import (
	"strconv"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// submit starts a refresh that does not end and waits until its query runs.
func submit(t *testing.T, c *process.Client, view string) *process.Handle {
	t.Helper()
	h, err := c.Submit(t.Context(), "REFRESH MATERIALIZED VIEW "+view)
	if err != nil {
		t.Fatal(err)
	}
	return h.Evaluating(t)
}

func TestAKilledServersWorkIsTakenOver(t *testing.T) {
	l := newLake(t)
	a, b := l.start("a"), l.start("b")
	ca, cb := a.Connect(t), b.Connect(t)
	ca.Must(t, "CREATE TABLE src (i BIGINT)")
	ca.Must(t, "INSERT INTO src VALUES (1)")
	ca.Must(t, "CREATE MATERIALIZED VIEW ticking WITH (refresh_interval = '500ms') AS SELECT sum(i) AS s FROM src")
	for _, view := range []string{"of_a", "of_b"} {
		ca.Must(t, "CREATE MATERIALIZED VIEW "+view+" AS "+endless+" WITH NO DATA")
	}
	dead, living := submit(t, ca, "of_a"), submit(t, cb, "of_b")
	folder, kept := l.staging(dead.Status.Job), l.staging(living.Status.Job)
	ca.Must(t, "INSERT INTO src VALUES (10)")
	until(t, "a scheduled refresh", func() bool { return cb.Value(t, "SELECT s FROM ticking") == "11" })

	a.Kill()

	var j jobOf
	// The row is made the new owner's before what the old one left is removed; the second run starts after that.
	until(t, "the job runs again", func() bool {
		j = job(t, cb, dead.Status.Job)
		return j.server == "b" && j.state == "RUNNING" && j.attempt != "1"
	})
	if j.attempt != "2" || j.code != "" {
		t.Errorf("the job that was taken over: %+v", j)
	}
	if l.folderExists(folder) || strings.Contains(l.staged(dead.Status.Job), folder) {
		t.Errorf("the dead server's staging %s is left", folder)
	}
	until(t, "the dead server is forgotten", func() bool { return l.value(`SELECT count(*)::text FROM {M}vega_servers WHERE id = 'a'`) == "0" })
	cb.Must(t, "INSERT INTO src VALUES (100)")
	until(t, "a scheduled refresh by the other server", func() bool { return cb.Value(t, "SELECT s FROM ticking") == "111" })

	if j := job(t, cb, living.Status.Job); j.state != "RUNNING" || j.attempt != "1" || j.server != "b" {
		t.Errorf("the living server's job: %+v", j)
	}
	if now := l.staged(living.Status.Job); now != kept || !l.folderExists(kept) {
		t.Errorf("the living server's staging %s became %q", kept, now)
	}
	// The old handle tells what became of the job, on the other server.
	handle := dead.On(cb).Running(t)
	if handle.Status.Job != dead.Status.Job {
		t.Errorf("the handle is of job %s now", handle.Status.Job)
	}
	for _, h := range []*process.Handle{handle, living} {
		cb.Must(t, "CANCEL JOB '"+h.Status.Job+"'")
		_, err := h.End(t.Context())
		process.Refused(t, err, "CANCELLED")
		if left := l.staged(h.Status.Job); left != "" {
			t.Errorf("a cancelled job leaves %s", left)
		}
	}
}

func TestAKilledServerThatComesBackContinues(t *testing.T) {
	l := newLake(t)
	a := l.start("a", "--lease", "1h") // nobody may think that it is gone
	b := l.start("b", "--lease", "1h")
	ca, cb := a.Connect(t), b.Connect(t)
	ca.Must(t, "CREATE MATERIALIZED VIEW of_a AS "+endless+" WITH NO DATA")
	h := submit(t, ca, "of_a")
	for life := 2; life <= 3; life++ {
		folder := l.staging(h.Status.Job)
		a.Kill()
		if j := job(t, cb, h.Status.Job); j.state != "RUNNING" || j.server != "a" || j.attempt != strconv.Itoa(life-1) {
			t.Fatalf("while its server is away: %+v", j)
		}
		a = l.start("a", "--lease", "1h")
		ca = a.Connect(t)
		h = h.On(ca).Evaluating(t)
		if j := job(t, ca, h.Status.Job); j.state != "RUNNING" || j.server != "a" || j.attempt != strconv.Itoa(life) {
			t.Fatalf("after its server came back: %+v", j)
		}
		if l.folderExists(folder) {
			t.Errorf("the staging %s of the earlier life is left", folder)
		}
	}
	// A job that killed its server three times is not tried again.
	a.Kill()
	ca = l.start("a", "--lease", "1h").Connect(t)
	if j := job(t, ca, h.Status.Job); j.state != "INTERRUPTED" || j.code != "JOB_INTERRUPTED" {
		t.Errorf("after three lives: %+v", j)
	}
	_, err := h.On(ca).End(t.Context())
	process.Refused(t, err, "JOB_INTERRUPTED")
	_, err = ca.Query(t.Context(), "SELECT * FROM of_a")
	process.Refused(t, err, "MATERIALIZED_VIEW_NOT_POPULATED")
}
