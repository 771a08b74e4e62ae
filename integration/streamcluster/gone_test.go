package streamcluster

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// The way to the catalog is cut, and there again: what is asked meanwhile has that as its reason, and views that run go on with all that another
// server's clients wrote.
func TestTheCatalogIsAway(t *testing.T) {
	l := newLake(t)
	b := l.start("b", l.state("b"), "--lease", "10m")
	way, dsn := through(t, l.dsn)
	direct := l.dsn
	l.dsn = dsn
	a := l.start("a", l.state("a"), "--lease", "10m")
	l.dsn = direct
	ca, cb := a.Connect(t), b.Connect(t)
	fill(t, ca)
	right(t, ca)
	if now := statuses(t, cb)["totals"].server; now != "a" {
		t.Fatalf("the views are run by %q", now)
	}
	// Connections that were open before the cut may each say so once more.
	ask := func(sql string) (rows [][]string) {
		t.Helper()
		var err error
		process.Until(t, "the server has its catalog again", func() bool {
			if rows, err = ca.Query(t.Context(), sql); err != nil && process.Code(err) != "CATALOG_UNREACHABLE" {
				t.Fatalf("%s: %v", sql, err)
			}
			return err == nil
		}, func() any { return err })
		return rows
	}
	rnd := rand.New(rand.NewPCG(3, 3))
	for round := range 2 {
		way.let(false)
		for _, sql := range []string{"SELECT sum(v) FROM moves", "INSERT INTO moves VALUES (1, 1)", "SHOW STREAMING MATERIALIZED VIEWS"} {
			_, err := ca.Query(t.Context(), sql)
			process.Refused(t, err, "CATALOG_UNREACHABLE")
		}
		for i := range 5 {
			cb.Must(t, change(rnd, 10*round+i))
		}
		way.let(true)
		var behind [][]string
		process.Until(t, "the views have seen what was written meanwhile", func() bool {
			behind = ask("SELECT view_name, state, reason FROM vega.streaming_views WHERE state <> 'RUNNING' OR stale_since IS NOT NULL")
			return len(behind) == 0
		}, func() any { return behind })
		for _, v := range views {
			q := fmt.Sprintf("SELECT count(*)::VARCHAR FROM ((FROM %[1]s EXCEPT ALL (%[2]s)) UNION ALL ((%[2]s) EXCEPT ALL FROM %[1]s))", v.name, v.query)
			if n := ask(q)[0][0]; n != "0" {
				t.Errorf("view %s differs from its query in %s rows", v.name, n)
			}
		}
		right(t, cb)
		for name, s := range statuses(t, cb) {
			if s.server != "a" {
				t.Errorf("view %s is run by %q", name, s.server)
			}
		}
	}
	check(t, b)
}
