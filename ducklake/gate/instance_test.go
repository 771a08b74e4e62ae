package gate

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// endless binds for some seconds, and nothing can interrupt it.
const endless = "SELECT * FROM range(levenshtein(repeat('a', 70000), repeat('b', 70000)))"

// TestEndlessBinding: who waits for a statement's analysis must not make everybody wait.
func TestEndlessBinding(t *testing.T) {
	lake := newRealLake(t, sales...)
	g, s := newGate(t, lake)
	g.patience = 50 * time.Millisecond
	ctx := context.Background()
	sessions := map[string]*Session{}
	for _, name := range []string{"bad", "temp", "big"} {
		n, err := g.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}()
		sessions[name] = n
	}
	temp, big := sessions["temp"], sessions["big"]
	for _, sql := range []string{
		"CREATE TEMP TABLE gone AS SELECT 1 AS a", "DROP TABLE gone", "CREATE TEMP TABLE mine(a INTEGER)", "CREATE TEMP VIEW seen AS SELECT * FROM mine JOIN t USING (a)",
		"CREATE TEMP MACRO ten(x) AS x * 10", "CREATE OR REPLACE TEMP TABLE mine(a INTEGER, z DOUBLE)",
	} {
		run(t, temp, sql)
	}
	for i := range 40 {
		run(t, big, fmt.Sprintf("CREATE OR REPLACE TEMP VIEW big AS SELECT '%030000d' AS n", i))
	}

	old := g.now()
	inside := make(chan struct{})
	old.turn.mu.Lock()
	old.turn.entered = sync.OnceFunc(func() { close(inside) })
	old.turn.mu.Unlock()
	bound := make(chan error, 1)
	go func() {
		_, err := sessions["bad"].Analyze(ctx, endless, Env{})
		bound <- err
	}()
	<-inside
	lake.must("CREATE TABLE lake.main.later(a INTEGER)")
	if err := g.Sync(ctx, lake); err != nil {
		t.Fatal(err)
	}
	run(t, s, "FROM later")
	for _, sql := range []string{"SELECT a, z FROM mine", "FROM seen", "SELECT ten(a) FROM later", "INSERT INTO mine SELECT a, 1 FROM later", "DROP VIEW seen"} {
		run(t, temp, sql)
	}
	if _, err := temp.Analyze(ctx, "FROM gone", Env{}); fault.CodeOf(err) != fault.ObjectNotFound {
		t.Error(err)
	}
	if _, err := big.Analyze(ctx, "FROM big", Env{}); fault.CodeOf(err) != fault.SessionNotFound {
		t.Errorf("a session whose temporary objects are not known: %v", err)
	}
	select {
	case err := <-bound:
		t.Fatalf("the endless statement ended too early: %v", err)
	default:
	}
	if err := <-bound; err != nil {
		t.Error(err)
	}
	if run(t, sessions["bad"], "FROM later"); g.retired != 0 || old.users != 0 {
		t.Errorf("the old shadow is kept by %d", old.users)
	}
}

// TestEndlessTrial: a definition whose trial does not end must not make all others wait.
func TestEndlessTrial(t *testing.T) {
	lake := newRealLake(t, sales...)
	g, s := newGate(t, lake)
	g.patience = 50 * time.Millisecond
	ctx := context.Background()
	in := g.now()
	in.probing <- struct{}{} // somebody's trial
	if err := in.turn.enter(ctx); err != nil {
		t.Fatal(err)
	}
	const alter = "ALTER TABLE t ADD COLUMN more INTEGER"
	if _, err := s.Analyze(ctx, alter, Env{}); fault.CodeOf(err) != fault.CommitConflict {
		t.Fatal(err)
	}
	if err := g.Sync(ctx, lake); err != nil {
		t.Fatal(err)
	}
	run(t, s, alter)
	if g.now() == in || g.retired != 0 {
		t.Error("nothing was replaced")
	}
}

func TestTurnstile(t *testing.T) {
	ctx := context.Background()
	soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	var s turnstile
	if err := s.enter(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.lock(soon); err == nil {
		t.Fatal("locked with somebody inside")
	}
	if err := s.enter(soon); err == nil {
		t.Fatal("entered while it is shut")
	}
	s.leave()
	s.unlock()
	if err := s.lock(ctx); err != nil {
		t.Fatal(err)
	}
	entered := make(chan error)
	go func() { entered <- s.enter(ctx) }()
	s.unlock()
	if err := <-entered; err != nil {
		t.Fatal(err)
	}
	go s.leave()
	if err := s.lock(ctx); err != nil {
		t.Fatal(err)
	}
	s.unlock()
}
