package streamcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/integration/process"
)

func TestMain(m *testing.M) { os.Exit(laketest.Main(m)) }

// lake is where the servers' lake lies.
type lake struct {
	t      *testing.T
	dsn    string
	schema string
	folder string
}

func newLake(t *testing.T) lake {
	t.Helper()
	return lake{t, laketest.PostgresDSN(t), fmt.Sprintf("streams_%d", time.Now().UnixNano()), t.TempDir()}
}

// state is the folder of a server's checkpoints.
func (l lake) state(name string) string { return filepath.Join(l.folder, "state of "+name) }

// start starts the server of this name, with the checkpoints that lie in a folder.
func (l lake) start(name, state string, more ...string) *process.Server {
	l.t.Helper()
	return process.Start(l.t, process.Options{Lake: l.dsn, Args: append([]string{
		"--metadata-schema", l.schema, "--data-path", filepath.Join(l.folder, "data"), "--server-id", name, "--threads", "1", "--shutdown-grace", "1s",
		"--lease", "5s", "--maintenance-interval", "500ms", "--state-dir", state,
	}, more...)})
}

// view is one of the views that tests make. Views come after those that they read.
type view struct {
	name, query string
}

var views = []view{
	{"totals", "SELECT k, count(*) AS n, sum(v)::BIGINT AS s FROM moves GROUP BY k"},
	{"spread", "SELECT n, count(*) AS groups, max(s) AS top FROM totals GROUP BY n"},
	{"joined", "SELECT m.k, i.name, m.v FROM moves m JOIN items i ON m.k = i.k"},
}

// fill makes the tables and the views.
func fill(t *testing.T, c *process.Client) {
	t.Helper()
	for _, sql := range []string{
		"CREATE TABLE moves (k INTEGER, v BIGINT)", "CREATE TABLE items (k INTEGER, name VARCHAR)",
		"INSERT INTO moves SELECT i % 10, i FROM range(300) t(i)", "INSERT INTO items SELECT i, 'item ' || i FROM range(8) t(i)",
	} {
		c.Must(t, sql)
	}
	for _, v := range views {
		c.Must(t, "CREATE STREAMING MATERIALIZED VIEW "+v.name+" WITH (wait_for_ready = true, checkpoint_interval = '200ms') AS "+v.query)
	}
}

// status is a streaming view's.
type status struct{ state, reason, stale, server, generation, epoch, checkpointed string }

func statuses(t *testing.T, c *process.Client) map[string]status {
	t.Helper()
	out := map[string]status{}
	for _, row := range c.Must(t, `SELECT view_name, state, coalesce(reason, ''), coalesce(stale_since::VARCHAR, ''), coalesce(server_id, ''), generation::VARCHAR,
		epoch::VARCHAR, coalesce(checkpointed_at::VARCHAR, '') FROM vega.streaming_views`) {
		out[row[0]] = status{row[1], row[2], row[3], row[4], row[5], row[6], row[7]}
	}
	return out
}

// all waits until all views are as wanted.
func all(t *testing.T, c *process.Client, what string, wanted func(status) bool) map[string]status {
	t.Helper()
	var now map[string]status
	process.Until(t, "all views are "+what, func() bool {
		now = statuses(t, c)
		for _, s := range now {
			if !wanted(s) {
				return false
			}
		}
		return true
	}, func() any { return now })
	return now
}

func fresh(s status) bool { return s.state == "RUNNING" && s.stale == "" }

// right says that views, as this server shows them, are what their queries are, when they are fresh there.
func right(t *testing.T, c *process.Client) {
	t.Helper()
	all(t, c, "fresh", fresh)
	for _, v := range views {
		q := fmt.Sprintf("SELECT count(*) FROM ((FROM %[1]s EXCEPT ALL (%[2]s)) UNION ALL ((%[2]s) EXCEPT ALL FROM %[1]s))", v.name, v.query)
		if n := c.Value(t, q); n != "0" {
			t.Errorf("view %s differs from its query in %s rows", v.name, n)
		}
	}
}

// check has the server check the lake.
func check(t *testing.T, s *process.Server) {
	t.Helper()
	if out, err := process.Run(t, "check", s.Flight); err != nil {
		t.Errorf("check: %v\n%s", err, strings.TrimSpace(out))
	}
}
