package cancel

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/integration/process"
)

const tries = 30

// endless makes the second half of the statements' queries last for ever; a hundredth of a second is a size of about ten.
const endless = 300_000

// rows and no end of work, or nearly none.
func query(size int) string {
	return fmt.Sprintf("SELECT i FROM range(1000) f(i) UNION ALL SELECT i FROM range(300000) a(i), range(%d) b(j) WHERE (i * j) %% 7 = 9", size)
}

// definition is the same, by the size that the source says.
const definition = "SELECT f.i, n FROM range(1000) f(i), size UNION ALL " +
	"SELECT a.i, n FROM (SELECT unnest(range(n)) AS j, n FROM size) b, range(300000) a(i) WHERE (a.i * b.j) % 7 = 9"

// kind is a sort of statement.
type kind struct {
	name string
	job  string // the kind of its job, if it has one
	sql  func(size int) string
}

var kinds = []kind{
	{"REFRESH", "REFRESH", func(int) string { return "REFRESH MATERIALIZED VIEW v" }},
	{"CREATE", "CREATE", func(int) string { return "CREATE MATERIALIZED VIEW created AS " + definition }},
	{"INSERT", "", func(size int) string { return "INSERT INTO target " + query(size) }},
	{"SELECT", "", func(size int) string { return "SELECT count(*) AS n FROM (" + query(size) + ") q" }},
}

func TestCancelledMeansStopped(t *testing.T) {
	lake := filepath.Join(t.TempDir(), "lake")
	s := process.Start(t, process.Options{Lake: lake, Args: []string{"--maintenance-interval", "0", "--threads", "2"}})
	b := &bench{t: t, rnd: rand.New(rand.NewPCG(3, 5)), server: s, observer: s.Connect(t), data: lake}
	for _, sql := range []string{
		"CREATE TABLE target (i BIGINT)", "CREATE TABLE size (n BIGINT)", "INSERT INTO size VALUES (1)", "CREATE MATERIALIZED VIEW v AS " + definition,
	} {
		b.observer.Must(t, sql)
	}
	type pair struct {
		d door
		k kind
	}
	var pairs []pair
	for _, d := range doors {
		for _, k := range kinds {
			if k.job != "" || !d.jobs {
				pairs = append(pairs, pair{d, k})
			}
		}
	}
	cancelled := 0
	for i := range tries {
		p, size := pairs[i%len(pairs)], endless
		if i >= len(pairs) {
			size = 2 + 10*(i-len(pairs)) // no generation had it, and the first of them end before they are cancelled
		}
		t.Run(fmt.Sprintf("%d %s by %s", i, p.k.name, p.d.name), func(t *testing.T) {
			b.t = t
			b.observer = s.Connect(t)
			if b.try(p.d, p.k, size) {
				cancelled++
			}
		})
	}
	t.Logf("%d of %d were cancelled, the others had ended", cancelled, tries)
	if cancelled < len(pairs) {
		t.Errorf("%d endless statements were cancelled %d times", len(pairs), cancelled)
	}
}

// try cancels one statement and says whether it was cancelled.
func (b *bench) try(d door, k kind, size int) bool {
	b.observer.Must(b.t, "UPDATE size SET n = "+strconv.Itoa(size))
	before, files := b.world(), b.files()
	err := d.run(b, k.sql(size))
	now := b.world()
	job := b.lastJob(k)
	code := process.Code(err)
	if job.state == "SUCCEEDED" || err == nil || k.name == "INSERT" && now.target != before.target {
		// It was through before it could be cancelled: then it is there as a whole.
		if size == endless || err != nil && d.name != "the call's end" {
			b.t.Fatalf("ended by %v, the job is %+v", err, job)
		}
		b.whole(k, size, before, now)
		return false
	}
	if code != "CANCELLED" && !(d.name == "the call's end" && strings.Contains(err.Error(), "code = Canceled")) {
		b.t.Fatal(err)
	}
	if k.job != "" && job.state != "CANCELLED" {
		b.t.Fatalf("the job is %+v", job)
	}
	cpu, began := b.server.CPU(b.t), time.Now()
	time.Sleep(window) // what is measured, not waited for
	used, watched := b.server.CPU(b.t)-cpu, time.Since(began)
	if used > watched/5 {
		b.t.Errorf("after CANCELLED the server used %v of processor time in %v", used, watched)
	}
	if left := b.files(); !slices.Equal(left, files) {
		b.t.Errorf("files before %v and after %v", files, left)
	}
	if again := b.lastJob(k); again != job {
		b.t.Errorf("the job moved on from %+v to %+v", job, again)
	}
	if k.name == "CREATE" {
		_, err := b.observer.Query(b.t.Context(), "SELECT * FROM created")
		process.Refused(b.t, err, "MATERIALIZED_VIEW_NOT_POPULATED", "OBJECT_NOT_FOUND")
		b.observer.Must(b.t, "DROP MATERIALIZED VIEW IF EXISTS created")
		before.snapshot = b.world().snapshot // definitions are commits
	}
	if then := b.world(); then != before {
		b.t.Errorf("before %+v, after %+v", before, then)
	}
	return true
}

// window is how long the server is watched at least.
const window = 150 * time.Millisecond

// whole checks the effect of a statement that succeeded.
func (b *bench) whole(k kind, size int, before, now world) {
	b.t.Helper()
	view := fmt.Sprintf("1000 %d %d", size, size)
	switch k.name {
	case "REFRESH":
		if now.view != view {
			b.t.Errorf("the view has %s, not %s", now.view, view)
		}
	case "CREATE":
		if got := b.observer.Value(b.t, "SELECT count(*) || ' ' || min(n) || ' ' || max(n) FROM created"); got != view {
			b.t.Errorf("the view has %s, not %s", got, view)
		}
		b.observer.Must(b.t, "DROP MATERIALIZED VIEW created")
	case "INSERT":
		if now.target != before.target+1000 {
			b.t.Errorf("the table went from %d to %d rows", before.target, now.target)
		}
	}
}

// world is all that a statement of the kinds could change.
type world struct {
	snapshot   string
	target     int
	view       string
	generation string
}

func (b *bench) world() world {
	b.t.Helper()
	target, err := strconv.Atoi(b.observer.Value(b.t, "SELECT count(*) FROM target"))
	if err != nil {
		b.t.Fatal(err)
	}
	return world{
		snapshot:   b.observer.Value(b.t, "SELECT id FROM lake.current_snapshot()"),
		target:     target,
		view:       b.observer.Value(b.t, "SELECT count(*) || ' ' || min(n) || ' ' || max(n) FROM v"),
		generation: b.observer.Value(b.t, "SELECT generation FROM vega.materialized_views WHERE view_name = 'v'"),
	}
}

// files are the data files on disk.
func (b *bench) files() (list []string) {
	b.t.Helper()
	err := filepath.WalkDir(b.data, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (d.Type().IsRegular() && strings.HasSuffix(path, ".parquet") || strings.HasPrefix(d.Name(), "vega-")) {
			list = append(list, strings.TrimPrefix(path, b.data))
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

type jobRow struct{ id, state, phase, progress, rows string }

// lastJob is the newest job of the kind.
func (b *bench) lastJob(k kind) jobRow {
	b.t.Helper()
	if k.job == "" {
		return jobRow{}
	}
	rows := b.observer.Must(b.t, "SELECT job_id, state, phase, progress, rows_written FROM vega.jobs WHERE kind = '"+k.job+"' ORDER BY submitted_at DESC LIMIT 1")
	if len(rows) == 0 {
		return jobRow{}
	}
	r := rows[0]
	return jobRow{r[0], r[1], r[2], r[3], r[4]}
}

// ended is how many statements of the kinds under test the server has written down.
func (b *bench) ended() int {
	b.t.Helper()
	n, err := b.server.Metric(b.t.Context(), "vega_flight_statement_seconds_count")
	if err != nil {
		b.t.Fatal(err)
	}
	return int(n)
}
