package streamcluster

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// change is one thing that a writer does.
func change(rnd *rand.Rand, i int) string {
	switch rnd.IntN(4) {
	case 0:
		return fmt.Sprintf("DELETE FROM moves WHERE k = %d AND v %% 3 = %d", rnd.IntN(10), rnd.IntN(3))
	case 1:
		return fmt.Sprintf("UPDATE moves SET k = %d, v = v + 1 WHERE k = %d AND v %% 4 = 0", rnd.IntN(10), rnd.IntN(10))
	case 2:
		return fmt.Sprintf("UPDATE items SET name = 'item %d' WHERE k = %d", i, rnd.IntN(10))
	}
	return fmt.Sprintf("INSERT INTO moves SELECT i %% 10, i FROM range(%d, %d) t(i)", 1000*i, 1000*i+1+rnd.IntN(10))
}

func TestRunsOnOneAndIsReadOnBoth(t *testing.T) {
	l := newLake(t)
	a, b := l.start("a", l.state("a")), l.start("b", l.state("b"))
	ca, cb := a.Connect(t), b.Connect(t)
	fill(t, ca)
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range 20 {
		writer, reader := ca, cb
		if i%2 == 1 {
			writer, reader = cb, ca
		}
		writer.Must(t, change(rnd, i))
		right(t, reader)
	}
	right(t, ca)
	right(t, cb)
	if here, there := ca.Must(t, "FROM totals ORDER BY k"), cb.Must(t, "FROM totals ORDER BY k"); fmt.Sprint(here) != fmt.Sprint(there) {
		t.Errorf("%v on one and %v on the other", here, there)
	}
	check(t, a)
	check(t, b)
}

// TestTakenOverWhenItsServerDies kills the server that runs the views, again and again, under a writer and a subscriber on the other one. The
// one that comes in its place has the dead one's checkpoints, or none.
func TestTakenOverWhenItsServerDies(t *testing.T) {
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprintf("checkpoints kept %v", kept), func(t *testing.T) {
			l := newLake(t)
			a, b := l.start("a0", l.state("shared")), l.start("b", l.state("b"))
			owner := func(c *process.Client) string { return statuses(t, c)["totals"].server }
			fill(t, a.Connect(t))
			if now := owner(b.Connect(t)); now != "a0" {
				t.Fatalf("the views are run by %q", now)
			}
			subs := []*process.Subscriber{process.NewSubscriber("main.totals"), process.NewSubscriber("main.joined")}
			rnd := rand.New(rand.NewPCG(2, 2))
			writes := 0
			for round := range 3 {
				var killed atomic.Bool
				var wg sync.WaitGroup
				for i, sub := range subs { // one on each server; they change places
					s := []*process.Server{a, b}[(i+round)%2]
					c, beside := s.Connect(t), s.Connect(t)
					if err := sub.Subscribe(t.Context(), c, "progress = true"); err != nil {
						t.Fatal(err)
					}
					wg.Go(func() { follow(t, sub, beside, &killed) })
				}
				writer := b.Connect(t)
				for range 15 + rnd.IntN(10) {
					writer.Must(t, change(rnd, writes))
					writes++
				}
				killed.Store(true)
				a.Kill()
				writer.Must(t, change(rnd, writes))
				writes++
				wg.Wait()
				if !kept {
					if err := os.RemoveAll(l.state("shared")); err != nil {
						t.Fatal(err)
					}
				}
				cb := b.Connect(t)
				if round%2 == 0 { // the other one takes over by itself
					all(t, cb, "taken over", func(s status) bool { return s.server == "b" && fresh(s) })
					right(t, cb)
					// It steps back for one that comes anew, which is the next to run them.
					name := fmt.Sprintf("a%d", round+1)
					b.Kill()
					a = l.start(name, l.state("shared"))
					all(t, a.Connect(t), "taken over again", func(s status) bool { return s.server == name && fresh(s) })
					b = l.start("b", l.state("b"))
				} else { // it comes back under its name, before or after the lease has ended
					a = l.start(fmt.Sprintf("a%d", round), l.state("shared"))
				}
				ca := a.Connect(t)
				right(t, ca)
				right(t, b.Connect(t))
				if t.Failed() {
					t.FailNow()
				}
			}
			// The subscribers' copies, wherever they were, are the views.
			c := b.Connect(t)
			right(t, c)
			for _, sub := range subs {
				at := c.Value(t, "SELECT version::VARCHAR FROM vega.streaming_views WHERE view_name = '"+strings.TrimPrefix(sub.View, "main.")+"'")
				if err := sub.Subscribe(t.Context(), b.Connect(t), "progress = true"); err != nil {
					t.Fatal(err)
				}
				var to int64
				if _, err := fmt.Sscan(at, &to); err != nil {
					t.Fatal(err)
				}
				if err := sub.Until(to); err != nil {
					t.Fatal(err)
				}
				sub.Compare(t, c)
			}
			check(t, b)
			t.Logf("%d writes, publications applied: %d, %d", writes, subs[0].Publications, subs[1].Publications)
		})
	}
}

// follow applies a view's changes, and compares, until a server was killed and nothing new comes for a moment.
func follow(t *testing.T, sub *process.Subscriber, beside *process.Client, killed *atomic.Bool) {
	for !killed.Load() {
		was := sub.Publications
		if err := sub.Next(); err != nil {
			if !killed.Load() {
				t.Errorf("%s at %d: %v", sub.View, sub.At, err)
			}
			return
		}
		if sub.Publications > was && sub.Publications%5 == 0 {
			if d, err := sub.Differs(t.Context(), beside); !killed.Load() && (err != nil || d != "") {
				t.Errorf("%v %s", err, d)
			}
		}
	}
}

func TestSaidToTheOtherServer(t *testing.T) {
	l := newLake(t)
	a, b := l.start("a", l.state("a")), l.start("b", l.state("b"))
	ca, cb := a.Connect(t), b.Connect(t)
	fill(t, ca)
	is := func(c *process.Client, name string, wanted func(status) bool) status {
		t.Helper()
		var s status
		process.Until(t, name+" is as wanted", func() bool { s = statuses(t, c)[name]; return wanted(s) }, func() any { return s })
		return s
	}
	const alter = "ALTER STREAMING MATERIALIZED VIEW "

	cb.Must(t, alter+"totals PAUSE")
	is(ca, "totals", func(s status) bool { return s.state == "PAUSED" })
	before := ca.Value(t, "SELECT sum(n) FROM totals")
	cb.Must(t, "INSERT INTO moves VALUES (1, 1)")
	is(cb, "totals", func(s status) bool { return s.state == "PAUSED" && s.stale != "" })
	if now := cb.Value(t, "SELECT sum(n) FROM totals"); now != before {
		t.Errorf("a paused view went from %s to %s", before, now)
	}
	cb.Must(t, alter+"totals RESUME")
	right(t, cb)
	right(t, ca)

	cb.Must(t, alter+"totals REBUILD")
	is(cb, "totals", func(s status) bool { return s.generation == "2" && fresh(s) })
	right(t, cb)
	cb.Must(t, alter+"joined SET (parallelism = 3)")
	cb.Must(t, alter+"joined RESTART")
	cb.Must(t, "INSERT INTO moves VALUES (2, 2)")
	right(t, cb)

	// Made there, it runs here or there, but on one.
	cb.Must(t, "CREATE STREAMING MATERIALIZED VIEW more WITH (wait_for_ready = true) AS SELECT count(*) AS n FROM totals")
	if now := statuses(t, cb); now["more"].server != now["totals"].server {
		t.Errorf("views that belong together are run by %v", now)
	}
	if n := cb.Value(t, "SELECT n FROM more"); n != "10" {
		t.Errorf("there are %s groups", n)
	}
	cb.Must(t, "DROP STREAMING MATERIALIZED VIEW totals CASCADE")
	if now := statuses(t, ca); len(now) != 1 {
		t.Errorf("left: %v", now)
	}
	process.Until(t, "the owner forgets what it had", func() bool {
		entries, err := os.ReadDir(l.state("a"))
		return err == nil && len(entries) == 1
	}, func() any { e, _ := os.ReadDir(l.state("a")); return e })
	cb.Must(t, "CREATE STREAMING MATERIALIZED VIEW totals WITH (wait_for_ready = true) AS "+views[0].query)
	cb.Must(t, "CREATE STREAMING MATERIALIZED VIEW spread WITH (wait_for_ready = true) AS "+views[1].query)
	right(t, ca)
	right(t, cb)
	check(t, a)
}

// TestAFrozenOwnerPublishesNothingMore freezes the owner for longer than its lease: the other one takes over meanwhile.
func TestAFrozenOwnerPublishesNothingMore(t *testing.T) {
	l := newLake(t)
	a, b := l.start("a", l.state("a")), l.start("b", l.state("b"))
	ca, cb := a.Connect(t), b.Connect(t)
	fill(t, ca)
	right(t, cb)
	a.Signal(syscall.SIGSTOP)
	cb.Must(t, "INSERT INTO moves SELECT i % 10, i FROM range(100) t(i)")
	all(t, cb, "taken over", func(s status) bool { return s.server == "b" && fresh(s) })
	right(t, cb)
	published := statuses(t, cb)
	a.Signal(syscall.SIGCONT)
	if err := a.Ended(); err == nil {
		t.Error("the server that was given up ended as if all were well")
	}
	right(t, cb)
	for name, s := range statuses(t, cb) {
		if s.epoch != published[name].epoch || s.server != "b" {
			t.Errorf("view %s was %+v and is %+v after the frozen server went on", name, published[name], s)
		}
	}
	check(t, b)
}
