package ivm_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/ivm/job"
	sink "github.com/vegadb/vega-flight/ivm/sink/lake"
)

// crash is what a child process is told: run the statement, and die at the seam.
type crash struct {
	Catalog, DataPath, MetadataSchema, ExtensionDir, TempDir string
	Point                                                    string
	SQL                                                      string
}

const (
	crashEnv  = "VEGA_IVM_CRASH"
	crashCode = 77
)

// seams are the places where a process may die.
func seams(point string) (f sink.Faults, p publish.Faults) {
	die := func() error { os.Exit(crashCode); return nil }
	switch point {
	case "pinned":
		f.Pinned = die
	case "staged":
		f.Staged = die
	case "ended":
		f.Ended = die
	case "hidden":
		f.Hidden = die
	case "dropping":
		f.Dropping = die
	case "dropped":
		f.Dropped = die
	case "before commit":
		p.BeforeCommit = die
	case "after commit":
		p.AfterCommit = die
	default:
		panic(point)
	}
	return f, p
}

// TestCrashChild is the process that dies; on its own it does nothing.
func TestCrashChild(t *testing.T) {
	text := os.Getenv(crashEnv)
	if text == "" {
		t.Skip("run by TestCrashes")
	}
	var c crash
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	faults, pub := seams(c.Point)
	at := laketest.Place{Config: ducklake.Config{
		Catalog: c.Catalog, DataPath: c.DataPath, MetadataSchema: c.MetadataSchema, ExtensionDir: c.ExtensionDir, TempDir: c.TempDir, Threads: 2,
	}}
	s := start(t, at, options{faults: faults})
	s.pub.Faults = pub
	out, err := s.try(c.SQL)
	t.Fatalf("alive after %s at %s: %v, %v", c.SQL, c.Point, out, err)
}

// furnish makes a lake with a table that has grown since its views, v, over_v and x, were refreshed.
func furnish(t *testing.T, place laketest.Place) {
	t.Helper()
	s := start(t, place, options{})
	s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t SELECT i % 10, i FROM range(1000) r(i)`)
	s.run(`CREATE MATERIALIZED VIEW v AS ` + totals + `; CREATE MATERIALIZED VIEW x AS ` + totals)
	s.run(`CREATE MATERIALIZED VIEW over_v AS SELECT count(*) AS n FROM lake.main.v`)
	s.exec(`INSERT INTO t VALUES (77, 5000)`)
	s.matches("lake.main.v", `SELECT k, sum(v) AS total, count(*) AS n FROM lake.main.t WHERE v < 1000 GROUP BY k`)
	s.stop()
}

// dieAt runs the statement in a process that dies at the seam.
func dieAt(t *testing.T, place laketest.Place, point, sql string) {
	t.Helper()
	p := place.Config
	text, err := json.Marshal(crash{p.Catalog, p.DataPath, p.MetadataSchema, p.ExtensionDir, p.TempDir, point, sql})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashChild$", "-test.v")
	cmd.Env = append(os.Environ(), crashEnv+"="+string(text))
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != crashCode {
		t.Fatalf("the child did not die at %s:\n%s", point, out)
	}
}

// A process dies at every step of every operation. After its restart every view is a whole generation of what it was or was to be, jobs
// say the truth, and nothing is left over.
func TestCrashes(t *testing.T) {
	const (
		wider = `SELECT k, v AS other, 'x' AS more FROM lake.main.t`
		same  = `SELECT k, max(v)::DECIMAL(38,0) AS total, count(*) AS n FROM lake.main.t GROUP BY k`
	)
	refreshing := []string{"pinned", "staged", "ended", "before commit", "after commit"}
	for _, c := range []struct {
		name, sql string
		points    []string
		view      string
		now       []string // what the view may answer afterwards; "" is that it is not there
		gone      bool     // v and what reads it are dropped
	}{
		{"create", `CREATE MATERIALIZED VIEW w AS ` + totals, append([]string{"hidden"}, refreshing...), "w", []string{totals, ""}, false},
		{"refresh", `REFRESH MATERIALIZED VIEW v`, refreshing, "v", []string{totals}, false},
		{"replace", `CREATE OR REPLACE MATERIALIZED VIEW v AS ` + same, []string{"staged", "ended", "after commit"}, "v", []string{same}, false},
		{"replace by another", `CREATE OR REPLACE MATERIALIZED VIEW x AS ` + wider, []string{"hidden", "staged", "ended", "before commit", "after commit"}, "x", []string{wider}, false},
		{"drop", `DROP MATERIALIZED VIEW v CASCADE`, []string{"dropping", "dropped"}, "", nil, true},
	} {
		for _, point := range c.points {
			t.Run(c.name+" "+point, func(t *testing.T) {
				kind := laketest.DuckDB
				if point == "ended" || point == "after commit" || point == "dropped" {
					kind = laketest.PostgreSQL
				}
				place := laketest.NewPlace(t, kind)
				furnish(t, place)

				dieAt(t, place, point, c.sql)

				s := start(t, place, options{})
				var succeeded bool
				for _, j := range s.run(`SHOW JOBS`) {
					end := s.done(j["job_id"])
					if end.State != job.Succeeded {
						t.Errorf("%+v", end)
					}
					succeeded = succeeded || j["view"] == "main."+c.view
				}
				if c.gone {
					if left := s.run(`SHOW MATERIALIZED VIEWS`); len(left) != 1 || left[0]["view_name"] != "x" {
						t.Errorf("after the drop: %v", left)
					}
				} else if c.view == "w" && !succeeded {
					if left := s.run(`SHOW MATERIALIZED VIEWS`); len(left) != 3 {
						t.Errorf("a create that never came to its job: %v", left)
					}
				} else {
					s.matches("lake.main."+c.view, c.now[0])
					s.comments()
					s.exec(`INSERT INTO t VALUES (78, 6000)`)
					s.run(`REFRESH MATERIALIZED VIEW ` + c.view)
					s.matches("lake.main."+c.view, c.now[0])
				}
				s.clean()
			})
		}
	}
}
