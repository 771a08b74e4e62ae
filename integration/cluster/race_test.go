package cluster

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

const (
	rounds = 8
	size   = 500 // rows of the source, all with the generation's number
)

// attempt is what became of one refresh.
type attempt struct {
	version string // "" when it lost
	err     error
}

func refresh(ctx context.Context, c *process.Client, view string) attempt {
	rows, err := c.Query(ctx, "REFRESH MATERIALIZED VIEW "+view+" WITH (full = true)")
	if err != nil {
		return attempt{err: err}
	}
	return attempt{version: rows[0][6]}
}

// both refreshes on both servers at once.
func both(t *testing.T, view string, servers ...*process.Client) []attempt {
	got := make([]attempt, len(servers))
	var group sync.WaitGroup
	for i, c := range servers {
		group.Go(func() { got[i] = refresh(t.Context(), c, view) })
	}
	group.Wait()
	return got
}

// generation is the number of generations that the view has had.
func generation(t *testing.T, c *process.Client, view string) int {
	t.Helper()
	n, err := strconv.Atoi(c.Value(t, "SELECT generation FROM vega.materialized_views WHERE view_name = '"+view+"'"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// won checks the attempts of a round: each lost by name or made a generation of its own. It returns how many did.
func won(t *testing.T, got []attempt, versions map[string]bool) int {
	t.Helper()
	n := 0
	for _, a := range got {
		switch {
		case a.err != nil:
			process.Refused(t, a.err, "REFRESH_CONFLICT")
		case versions[a.version]:
			t.Fatalf("two refreshes published version %s", a.version)
		default:
			versions[a.version] = true
			n++
		}
	}
	if n == 0 {
		t.Fatalf("no refresh of the round published: %v", got)
	}
	return n
}

func TestTwoServersRefreshOneViewAtOnce(t *testing.T) {
	l := newLake(t)
	a, b := l.start("a"), l.start("b")
	ca, cb := a.Connect(t), b.Connect(t)
	ca.Must(t, "CREATE TABLE src (g BIGINT, i BIGINT)")
	ca.Must(t, fmt.Sprintf("INSERT INTO src SELECT 0, i FROM range(%d) r(i)", size))
	ca.Must(t, "CREATE MATERIALIZED VIEW v AS SELECT g, i, g * i AS c FROM src")

	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { write(ctx, t, b.Connect(t)) })
	for _, s := range []*process.Server{a, b, a, b} {
		c := s.Connect(t)
		group.Go(func() { read(ctx, t, c) })
	}
	before, wins, versions := generation(t, ca, "v"), 0, map[string]bool{}
	for range rounds {
		wins += won(t, both(t, "v", ca, cb), versions)
	}
	stop()
	group.Wait()
	if now := generation(t, cb, "v"); now != before+wins {
		t.Errorf("%d refreshes succeeded and the view went from generation %d to %d", wins, before, now)
	}
	t.Logf("%d rounds of two refreshes: %d published, %d lost by REFRESH_CONFLICT", rounds, wins, 2*rounds-wins)
	if refresh(t.Context(), cb, "v").err != nil {
		t.Error("a refresh alone fails")
	}
	for _, c := range []*process.Client{ca, cb} {
		for _, q := range []string{"TABLE v EXCEPT ALL SELECT g, i, g * i FROM src", "SELECT g, i, g * i FROM src EXCEPT ALL TABLE v"} {
			if rows := c.Must(t, q); len(rows) != 0 {
				t.Errorf("%s: %d rows", q, len(rows))
			}
		}
	}
}

func TestTwoServersRefreshAnEmptyViewAtOnce(t *testing.T) {
	l := newLake(t)
	a, b := l.start("a").Connect(t), l.start("b").Connect(t)
	a.Must(t, "CREATE TABLE src (i BIGINT)")
	a.Must(t, "CREATE MATERIALIZED VIEW v AS SELECT i FROM src WHERE i < 0")
	before, wins, versions := generation(t, a, "v"), 0, map[string]bool{}
	for range rounds {
		wins += won(t, both(t, "v", a, b), versions)
	}
	if now := generation(t, b, "v"); now != before+wins {
		t.Errorf("%d refreshes succeeded and the view went from generation %d to %d", wins, before, now)
	}
	t.Logf("%d rounds of two refreshes: %d published, %d lost by REFRESH_CONFLICT", rounds, wins, 2*rounds-wins)
	if n := a.Value(t, "SELECT count(*) FROM v"); n != "0" {
		t.Errorf("the empty view has %s rows", n)
	}
}

// write gives the source one generation after another. It ends between two statements: what became of the last one is known.
func write(ctx context.Context, t *testing.T, c *process.Client) {
	for g := 1; ctx.Err() == nil; g++ {
		if _, err := c.Query(t.Context(), "UPDATE src SET g = "+strconv.Itoa(g)); err != nil {
			t.Errorf("writing generation %d: %v", g, err)
			return
		}
	}
}

// read looks whether the view is always one whole generation and never an older one than before.
func read(ctx context.Context, t *testing.T, c *process.Client) {
	last := -1
	for ctx.Err() == nil {
		rows, err := c.Query(ctx, "SELECT min(g), max(g), count(*), count(DISTINCT i), sum(c) FROM v")
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.Errorf("reading the view: %v", err)
			return
		}
		r := rows[0]
		g, err := strconv.Atoi(r[0])
		n, sum := strconv.Itoa(size), strconv.Itoa(g*size*(size-1)/2)
		if err != nil || r[1] != r[0] || r[2] != n || r[3] != n || r[4] != sum {
			t.Errorf("no whole generation: %v", r)
			return
		}
		if g < last {
			t.Errorf("generation %d after %d", g, last)
			return
		}
		last = g
	}
}
