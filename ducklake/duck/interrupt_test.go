package duck

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// forever runs for half an hour with little memory; it reads the view "started" first.
const forever = "SELECT sum(sqrt(i) + a) FROM range(1000000000000) r(i), started"

// signal is an Arrow source whose first read tells that the statement runs.
type signal struct {
	*source
	started chan struct{}
}

func (s *signal) Next() bool {
	if s.left == 1 {
		close(s.started)
	}
	return s.source.Next()
}

// startSignal registers the view "started" for one statement.
func startSignal(t *testing.T, c *Conn) (started chan struct{}, release func() error) {
	t.Helper()
	s := &signal{newSource(t, 1, 1), make(chan struct{})}
	release, err := c.RegisterArrow("started", s)
	if err != nil {
		t.Fatal(err)
	}
	return s.started, release
}

func TestCancelStopsAndKeepsTheConnection(t *testing.T) {
	c := open(t)
	exec(t, c, "CREATE TABLE t(a BIGINT)")
	long := map[string]func(context.Context) error{
		"Exec":   func(ctx context.Context) error { _, err := c.Exec(ctx, forever); return err },
		"Insert": func(ctx context.Context) error { _, err := c.Exec(ctx, "INSERT INTO t "+forever); return err },
		"Rows":   func(ctx context.Context) error { _, err := c.Rows(ctx, forever); return err },
		"Query":  func(ctx context.Context) error { _, err := c.Query(ctx, forever); return err },
		"Prepare": func(ctx context.Context) error {
			s, err := c.Prepare(context.Background(), forever)
			if err != nil {
				return err
			}
			defer s.Close()
			_, err = s.Query(ctx)
			return err
		},
	}
	for name, run := range long {
		t.Run(name, func(t *testing.T) {
			started, release := startSignal(t, c)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var done sync.WaitGroup
			done.Go(func() { <-started; cancel() })
			err := run(ctx)
			done.Wait()
			defer release()
			var e *Error
			if !errors.Is(err, context.Canceled) || !errors.As(err, &e) || e.Type != "Interrupt" {
				t.Fatalf("%v", err)
			}
			if p := c.Progress(); p.Percent != -1 {
				t.Fatalf("still at work: %+v", p)
			}
			if n := one(t, c, "SELECT count(*) FROM t"); n != int64(0) {
				t.Fatal(n)
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	c := open(t)
	_, release := startSignal(t, c)
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if _, err := c.Exec(ctx, forever); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if _, err := c.Exec(ctx, "SELECT 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

// A stream that is cut off says so.
func TestCancelInMidStream(t *testing.T) {
	c := open(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := c.Query(ctx, "SELECT * FROM range(1000000000)")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; r.Next(); i++ {
		if i == 3 {
			cancel()
		}
	}
	if !errors.Is(r.Err(), context.Canceled) {
		t.Fatal(r.Err())
	}
	r.Close()
	exec(t, c, "SELECT 1")
}

// An interrupt from outside, in the middle of a fetch, is an error too.
func TestInterruptInMidStream(t *testing.T) {
	c := open(t)
	r, err := c.Query(context.Background(), "SELECT * FROM range(1000000000)")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := 0; r.Next(); i++ {
		if i == 3 {
			c.Interrupt()
		}
	}
	var e *Error
	if !errors.As(r.Err(), &e) || e.Type != "Interrupt" || errors.Is(r.Err(), context.Canceled) {
		t.Fatal(r.Err())
	}
}

// An interrupt meant for one statement never reaches the next.
func TestInterruptNeverReachesTheNextStatement(t *testing.T) {
	c := open(t)
	s, err := c.Prepare(context.Background(), "SELECT sum(i) FROM range(3000) r(i)")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	cancelled := 0
	for range rounds {
		ctx, cancel := context.WithCancel(context.Background())
		var done sync.WaitGroup
		done.Add(1)
		go func() {
			defer done.Done()
			for range rand.IntN(60) {
				runtime.Gosched()
			}
			cancel()
		}()
		_, err := s.Exec(ctx)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if err != nil {
			cancelled++
		}
		if _, err := s.Exec(context.Background()); err != nil {
			t.Fatalf("the next statement: %v", err)
		}
		r, err := c.Query(ctx, "FROM range(5000)")
		if err == nil {
			for r.Next() {
			}
			err = r.Err()
			r.Close()
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if got := one(t, c, "SELECT count(*) FROM range(3000)"); got != int64(3000) {
			t.Fatal(got)
		}
		done.Wait()
	}
	t.Logf("%d of %d statements were cancelled", cancelled, rounds)
}

// Closing a reader early neither fails an open transaction nor leaves the statement running.
func TestEarlyCloseKeepsTheTransaction(t *testing.T) {
	c := open(t)
	exec(t, c, "CREATE TABLE t(a INT); BEGIN; INSERT INTO t VALUES (1)")
	r, err := c.Query(context.Background(), "SELECT * FROM range(100000000), t")
	if err != nil {
		t.Fatal(err)
	}
	r.Next()
	r.Close()
	r.Close()
	r.Release()
	if r.Next() || r.Err() != ErrClosed {
		t.Fatal(r.Err())
	}
	if p := c.Progress(); p.Percent != -1 {
		t.Fatalf("still at work: %+v", p)
	}
	exec(t, c, "INSERT INTO t VALUES (2); COMMIT")
	if n := one(t, c, "SELECT count(*) FROM t"); n != int64(2) {
		t.Fatal(n)
	}
	// In autocommit mode the early close ends the statement's transaction, so a writer may drop what it read.
	r, err = c.Query(context.Background(), "SELECT * FROM t, range(100000000)")
	if err != nil {
		t.Fatal(err)
	}
	r.Next()
	r.Close()
	other, err := c.db.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	exec(t, other, "ALTER TABLE t ADD COLUMN b INT; DROP TABLE t")
}

// Close may come at any time, from anywhere.
func TestCloseWhileRunning(t *testing.T) {
	db, err := Open("", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i := range 40 {
		c, err := db.Connect()
		if err != nil {
			t.Fatal(err)
		}
		var failed error
		ended := make(chan struct{})
		if i%2 == 0 {
			started, _ := startSignal(t, c)
			go func() {
				_, failed = c.Exec(context.Background(), forever)
				close(ended)
			}()
			<-started
		} else {
			r, err := c.Query(context.Background(), "FROM range(1000000000)")
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for r.Next() {
				}
				failed = r.Err()
				close(ended)
				r.Close()
			}()
		}
		c.Close()
		if <-ended; failed == nil {
			t.Fatal("the statement ended without an error")
		}
		c.Close()
		c.Interrupt()
		if _, err := c.Exec(context.Background(), "SELECT 1"); err != ErrClosed {
			t.Fatal(err)
		}
	}
}
