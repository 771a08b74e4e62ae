package ducklake_test

import (
	"errors"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
)

func ceiling(bytes int64) func(*ducklake.Config) {
	return func(c *ducklake.Config) { c.MemoryCeiling = bytes }
}

// What grows unseen ends the newest statement, with a name, and an older one goes on.
func TestMemoryWatch(t *testing.T) {
	l := laketest.NewPlace(t, laketest.DuckDB).Open(t, ceiling(1<<50))
	c := connect(t, l)
	older := c.open("SELECT i FROM range(1000000000000) t(i)")
	defer older.Close()
	newer := c.open("SELECT i FROM range(1000000000000) t(i)")
	defer newer.Close()
	if l.Relieve(1<<50) || !older.Next() || !newer.Next() {
		t.Fatal(older.Err(), newer.Err())
	}
	if !l.Relieve(duck.Resident() / 2) {
		t.Fatal("nothing was done")
	}
	for newer.Next() {
	}
	fails(t, newer.Err(), fault.MemoryExhausted)
	if !older.Next() {
		t.Errorf("the older one: %v", older.Err())
	}
}

// Statements on an acquired connection that are bounded end as users' do.
func TestMemoryWatchOfRefreshes(t *testing.T) {
	l := laketest.NewPlace(t, laketest.DuckDB).Open(t, ceiling(1<<50))
	conn, release, err := l.Acquire(t.Context(), ducklake.Aside(""))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, why, leave := l.Bounded(t.Context())
	defer leave()
	r, err := conn.Query(ctx, "SELECT i FROM range(1000000000000) t(i)")
	if err != nil {
		t.Fatal(err)
	}
	if !r.Next() || !l.Relieve(duck.Resident()/2) {
		t.Fatal("nothing was done", r.Err())
	}
	for r.Next() {
	}
	fails(t, why(errors.Join(r.Err(), r.Close())), fault.MemoryExhausted)
}

// What is refused has a name too, wherever it is computed, and the next statement finds all as it was.
func TestMemoryCeiling(t *testing.T) {
	l := laketest.NewPlace(t, laketest.DuckDB).Open(t, ceiling(int64(duck.Resident())+512<<20))
	c := connect(t, l)
	for _, sql := range []string{
		"SELECT length(repeat('x', 3000000000))", "SELECT * FROM range(length(repeat('x', 3000000000)))",
		"CREATE TABLE no AS SELECT repeat('x', 3000000000) AS x",
	} {
		_, err := c.try(sql)
		fails(t, err, fault.MemoryExhausted)
	}
	c.exec("CREATE TABLE yes AS SELECT repeat('x', 1000) AS x FROM range(1000)")
	c.want("SELECT count(*), sum(length(x)) FROM yes", "1000|1000000")
}

// Memory that is taken while nothing runs makes the server not ready, and then ends it: for as long as it takes, and only if
// a new process has more.
func TestLostMemory(t *testing.T) {
	const ceiling, mb = 1000 << 20, 1 << 20
	open := func(t *testing.T) (l *ducklake.Lake, weigh func(rounds int, resident, buffers, own uint64, busy bool), short, lost func() bool) {
		l = laketest.NewPlace(t, laketest.DuckDB).Open(t)
		return l, func(rounds int, resident, buffers, own uint64, busy bool) {
				for range rounds {
					l.Weigh(resident*mb, buffers*mb, own*mb, ceiling, busy)
				}
			}, func() bool {
				err := l.Short()
				if err != nil {
					fails(t, err, fault.MemoryExhausted)
				}
				return err != nil
			}, func() bool {
				select {
				case <-l.Fatal():
					fails(t, l.Failure(), fault.MemoryExhausted)
					return true
				default:
					return l.Failure() != nil
				}
			}
	}
	t.Run("lost", func(t *testing.T) {
		_, weigh, short, lost := open(t)
		weigh(ducklake.ShortRounds-1, 1001, 0, 0, false)
		if short() || lost() {
			t.Error("too early")
		}
		weigh(1, 1001, 0, 0, false)
		if !short() || lost() {
			t.Error("not short")
		}
		weigh(ducklake.LostRounds-ducklake.ShortRounds-1, 600, 0, 10, false) // too little is left, below the ceiling too
		weigh(1000, 1001, 0, 0, true)                                        // which says nothing
		if !short() || lost() {
			t.Error("too early")
		}
		weigh(2, 1001, 0, 0, false)
		if !short() || !lost() {
			t.Error("it goes on")
		}
	})
	t.Run("found", func(t *testing.T) {
		_, weigh, short, lost := open(t)
		for range 3 {
			weigh(ducklake.LostRounds-1, 1001, 0, 0, false)
			weigh(1, 500, 0, 0, false)
		}
		if short() || lost() {
			t.Error("there is memory")
		}
	})
	t.Run("known", func(t *testing.T) {
		_, weigh, short, lost := open(t)
		weigh(2*ducklake.LostRounds, 990, 800, 0, false)
		weigh(2*ducklake.LostRounds, 800, 0, 310, false)
		weigh(2*ducklake.LostRounds, 1001, 0, 0, true)
		if short() || lost() {
			t.Error("it is DuckDB's buffers, Go's, or of what runs")
		}
		weigh(2*ducklake.LostRounds, 1001, 0, 950, false)
		if !short() || lost() {
			t.Error("it is Go's, and a new process would have as little")
		}
	})
}

// The watch reads what there is by itself, and what runs is seen.
func TestMemoryWatchWithNothingRunning(t *testing.T) {
	l := laketest.NewPlace(t, laketest.DuckDB).Open(t)
	for range ducklake.ShortRounds {
		if !l.Relieve(duck.Resident() / 2) {
			t.Fatal("nothing was done")
		}
	}
	fails(t, l.Short(), fault.MemoryExhausted)
	if l.Relieve(1<<50) || l.Short() != nil {
		t.Error("there is memory again")
	}
	select {
	case <-l.Fatal():
		t.Error("too early")
	default:
	}
}
