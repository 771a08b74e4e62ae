package changelog_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/changelog"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// change is what a snapshot did to a view's table, as its publisher would have it.
func (w *world) change(v changelog.View, snapshot int64) *zset.Batch {
	w.t.Helper()
	types := make([]row.Type, len(v.Columns))
	for i, c := range v.Columns {
		var err error
		types[i], err = row.ParseType(c.Type)
		w.must(err)
	}
	b := zset.New(row.NewLayout(types...))
	r := stream.Reading{TableID: v.TableID, UUID: v.UUID, Name: v.Name, Columns: v.Columns, Layout: b.Layout, Position: -1}
	w.must(w.source.Source.Changes(ctx, r, snapshot-1, snapshot, func(x *zset.Batch) error {
		b.AppendBatch(x)
		return nil
	}))
	b.Consolidate()
	return b
}

// publish runs a statement and hands its change over, as a publisher of this server does; known late: when subscribers may have seen it.
func (w *world) publish(v changelog.View, sql string) {
	w.t.Helper()
	scratch := zset.New(row.ParseLayout("BIGINT")) // what it will be is not known yet: the batch is put there before it is told
	ended := w.log.Publishing(v.UUID, scratch)
	w.exec(sql)
	at := w.head()
	*scratch = *w.change(v, at)
	ended(at)
}

// TestGiven follows a view of which this server publishes: what is in memory is not read from the lake, and who comes first waits for it.
func TestGiven(t *testing.T) {
	w := newWorld(t, laketest.DuckDB)
	w.exec("CREATE TABLE v (k INTEGER, s VARCHAR)", "INSERT INTO v SELECT i, 'row ' || i FROM range(100) r(i)")
	v := w.view("v", 0)
	upsert := retract
	upsert.Upsert = true
	a, b := w.follow(v, retract), w.follow(v, upsert)
	a.until(w.head())
	b.until(w.head())
	read := w.source.reads()
	w.publish(v, "UPDATE v SET s = repeat('x', k) WHERE k % 7 = 0")
	a.until(w.head())
	b.until(w.head())
	w.publish(v, "DELETE FROM v WHERE k < 20")
	a.until(w.head())
	b.until(w.head())
	if n := w.source.reads() - read; n != 0 {
		t.Errorf("the lake was read %d times", n)
	}

	ended := w.log.Publishing(v.UUID, w.change(v, w.head()))
	w.exec("INSERT INTO v VALUES (1000, 'came')")
	go ended(0) // nobody knows what became of it: the lake does
	a.until(w.head())
	b.until(w.head())
	if n := w.source.reads() - read; n == 0 {
		t.Error("the lake was not asked")
	}
	if a.compared < 4 || b.compared < 4 {
		t.Errorf("compared %d and %d times", a.compared, b.compared)
	}
}

// TestGivenIsBounded hands more over than is kept.
func TestGivenIsBounded(t *testing.T) {
	w := newWorld(t, laketest.DuckDB, func(c *changelog.Config) { c.GivenBytes = 10 << 10 })
	w.exec("CREATE TABLE v (k INTEGER, s VARCHAR)")
	v := w.view("v", 0)
	a := w.follow(v, retract)
	a.until(w.head())
	for i := range 10 {
		w.exec(fmt.Sprintf("INSERT INTO v SELECT i + %d, 'row' FROM range(200) r(i)", i*1000))
		w.log.Publishing(v.UUID, w.change(v, w.head()))(w.head())
	}
	read := w.source.reads()
	a.until(w.head())
	if n := w.source.reads() - read; n == 0 || n == 10 {
		t.Errorf("of 10 publications, %d were read from the lake", n)
	}
}

// TestGivenHistories compares subscribers with the table while commits of all kinds come, of which some are handed over.
func TestGivenHistories(t *testing.T) {
	for _, kind := range []laketest.Kind{laketest.DuckDB, laketest.PostgreSQL} {
		w := newWorld(t, kind)
		random := rand.New(rand.NewPCG(7, uint64(kind)))
		w.exec("CREATE TABLE v (k INTEGER, s VARCHAR, d DECIMAL(20, 2), l INTEGER[])")
		v := w.view("v", 0)
		upsert := retract
		upsert.Upsert = true
		subs := []*copied{w.follow(v, retract), w.follow(v, upsert)}
		next := 0
		for range 60 {
			var sql string
			switch random.IntN(4) {
			case 0, 1:
				n := 1 + random.IntN(40)
				sql = fmt.Sprintf("INSERT INTO v SELECT i, repeat('ab', i %% 30), i / 3, [i, NULL] FROM range(%d, %d) r(i)", next, next+n)
				next += n
			case 2:
				sql = fmt.Sprintf("UPDATE v SET s = s || '!', d = d + 1 WHERE k %% %d = 0", 1+random.IntN(9))
			default:
				sql = fmt.Sprintf("DELETE FROM v WHERE k %% 11 = %d", random.IntN(11))
			}
			before := w.head()
			switch random.IntN(3) {
			case 0:
				w.exec(sql)
			case 1:
				w.publish(v, sql)
			default:
				w.exec(sql)
				w.source.other(w.head())
			}
			if i := random.IntN(len(subs) + 1); w.head() > before && i < len(subs) {
				subs[i].until(w.head())
				if random.IntN(4) == 0 {
					subs[i].resume(w)
				}
			}
		}
		for _, s := range subs {
			s.until(w.head())
			if s.compared < 10 {
				t.Errorf("compared %d times", s.compared)
			}
		}
	}
}

// TestAhead follows a view from long ago: commits are read many at once, and come one by one all the same.
func TestAhead(t *testing.T) {
	for _, kind := range []laketest.Kind{laketest.DuckDB, laketest.PostgreSQL} {
		w := newWorld(t, kind)
		w.exec("CREATE TABLE v (k INTEGER, s VARCHAR)", "INSERT INTO v SELECT i, 'row ' || i FROM range(200) r(i)")
		v := w.view("v", 0)
		begin := w.head()
		const commits = 100
		for i := range commits {
			switch i % 3 {
			case 0:
				w.exec(fmt.Sprintf("UPDATE v SET s = s || repeat('-', k %% 40) WHERE k %% 50 = %d", i%50))
			case 1:
				w.exec(fmt.Sprintf("INSERT INTO v VALUES (%d, 'came')", 1000+i))
			default:
				w.exec(fmt.Sprintf("DELETE FROM v WHERE k = %d", i))
			}
		}
		other := w.view("v", 0)
		w.source.other(w.head() - 50) // somebody else's is read by itself
		for _, upsert := range []bool{false, true} {
			read := w.source.reads()
			a := w.follow(other, changelog.Options{AsOf: begin, UpTo: changelog.None, Upsert: upsert})
			for _, row := range sorted(w.content(v, begin)) {
				a.has(row)
			}
			a.until(w.head())
			n := w.source.reads() - read
			t.Logf("%d commits in %d readings", commits, n)
			if n > commits/4 {
				t.Errorf("%d commits were read in %d readings", commits, n)
			}
			if a.compared < commits-5 {
				t.Errorf("compared %d times", a.compared)
			}
			a.sub.Close()
		}
	}
}

// has gives a copy a row that it is to have from before.
func (c *copied) has(counted string) {
	var n int64
	row := counted
	if _, err := fmt.Sscanf(counted, "%d x ", &n); err == nil {
		row = counted[strings.Index(counted, " x ")+3:]
	}
	c.rows[row] += n
	if c.opt.Upsert {
		c.byKey[c.key(row)] = row
	}
}

// TestAheadIsBounded reads commits of which a few are all that is kept.
func TestAheadIsBounded(t *testing.T) {
	w := newWorld(t, laketest.DuckDB, func(c *changelog.Config) { c.GivenBytes = 4 << 10 })
	w.exec("CREATE TABLE v (k INTEGER, s VARCHAR)")
	v := w.view("v", 0)
	begin := w.head()
	for i := range 20 {
		w.exec(fmt.Sprintf("INSERT INTO v SELECT i + %d, repeat('x', 20) FROM range(%d) r(i)", i*1000, 1+i%7*20))
	}
	a := w.follow(v, changelog.Options{AsOf: begin, UpTo: changelog.None})
	a.until(w.head())
	if a.compared < 20 {
		t.Errorf("compared %d times", a.compared)
	}
}

// reads is how often changes were read.
func (j *judged) reads() int64 { return j.changes.Load() }

func (j *judged) Changes(ctx context.Context, r stream.Reading, from, to int64, take func(*zset.Batch) error) error {
	j.changes.Add(1)
	return j.Source.Changes(ctx, r, from, to, take)
}
