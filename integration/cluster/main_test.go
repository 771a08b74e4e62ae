package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/integration/process"
)

func TestMain(m *testing.M) { os.Exit(laketest.Main(m)) }

// endless is a query that nothing but its cancellation ends within a test's life.
const endless = "SELECT count(*) AS n FROM range(300000) a(i), range(300000) b(j) WHERE (i * j) % 7 = 9"

// lake is where the servers' lake lies.
type lake struct {
	t      *testing.T
	dsn    string
	schema string
	data   string
}

func newLake(t *testing.T) lake {
	t.Helper()
	return lake{t, laketest.PostgresDSN(t), fmt.Sprintf("cluster_%d", time.Now().UnixNano()), filepath.Join(t.TempDir(), "data")}
}

// start starts the server of this name; the same name is the same server again.
func (l lake) start(name string, more ...string) *process.Server {
	l.t.Helper()
	return process.Start(l.t, process.Options{Lake: l.dsn, Args: append([]string{
		"--metadata-schema", l.schema, "--data-path", l.data, "--server-id", name, "--threads", "1", "--shutdown-grace", "1s",
		"--job-workers", "4", "--lease", "5s", "--maintenance-interval", "300ms",
	}, more...)})
}

// value reads one value of the catalog, without any server; {M} stands for the lake's schema.
func (l lake) value(sql string, args ...any) string {
	l.t.Helper()
	conn, err := pgx.Connect(l.t.Context(), l.dsn)
	if err != nil {
		l.t.Fatal(err)
	}
	defer conn.Close(l.t.Context())
	var v string
	if err := conn.QueryRow(l.t.Context(), strings.ReplaceAll(sql, "{M}", l.schema+"."), args...).Scan(&v); err != nil {
		l.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// staged are the registered folders of files that no commit has, of one job.
func (l lake) staged(job string) string {
	l.t.Helper()
	return l.value(`SELECT coalesce(string_agg(folder, ','), '') FROM {M}vega_staged WHERE job_id = $1`, job)
}

// staging is the folder of a job that evaluates its query.
func (l lake) staging(job string) (folder string) {
	l.t.Helper()
	until(l.t, "the job stages", func() bool { folder = l.staged(job); return folder != "" && l.folderExists(folder) })
	return folder
}

// folderExists says whether a staging folder is on disk.
func (l lake) folderExists(folder string) bool {
	info, err := os.Stat(filepath.Join(l.data, folder))
	return err == nil && info.IsDir()
}

// until asks again and again until the answer is as wanted: another server's work has no event here.
func until(t *testing.T, what string, wanted func() bool) {
	t.Helper()
	guard, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !wanted() {
		select {
		case <-tick.C:
		case <-guard.Done():
			t.Fatalf("never: %s", what)
		}
	}
}

// jobOf is a row of SHOW JOB by the columns' names.
type jobOf struct{ state, attempt, code, server, result string }

func job(t *testing.T, c *process.Client, id string) jobOf {
	t.Helper()
	rows := c.Must(t, "SELECT state, attempt, coalesce(error_code, ''), server_id, coalesce(result, '') FROM vega.jobs WHERE job_id = '"+id+"'")
	if len(rows) != 1 {
		t.Fatalf("job %s: %v", id, rows)
	}
	r := rows[0]
	return jobOf{r[0], r[1], r[2], r[3], r[4]}
}
