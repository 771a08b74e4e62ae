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
