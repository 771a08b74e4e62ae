package stream_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// gate holds up commits of results while it is closed.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // nil: it is open
	came chan struct{}
}

func newGate() *gate { return &gate{came: make(chan struct{}, 100)} }

func (g *gate) on(l *lab) { l.sink.Faults.Joined = g.pass }

func (g *gate) pass() {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut != nil {
		g.came <- struct{}{}
		<-shut
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
	}
	g.shut = nil
}

// until waits for something that nobody tells of.
func (l *lab) until(what string, done func() bool) {
	l.t.Helper()
	guard := time.NewTimer(patience)
	defer guard.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-guard.C:
			l.t.Fatalf("waiting: %s", what)
		}
	}
}

func (l *lab) figures(name string) *stream.Figures {
	l.t.Helper()
	st, _ := l.run.Status(l.views[name].UUID)
	if st.Figures == nil {
		l.t.Fatalf("view %s does not run", name)
	}
	return st.Figures
}

// busy makes a view a over a table o, whose first commit is held up.
func busy(t *testing.T, query string, options ddl.Options, more ...func(*lab)) (*lab, *gate) {
	t.Helper()
	g := newGate()
	l := newLab(t, laketest.DuckDB, append(more, g.on)...)
	t.Cleanup(g.open)
	l.options = append(options, ddl.Option{Name: "checkpoint_interval", Value: ddl.Value{Kind: ddl.Duration, Duration: time.Hour}})
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o SELECT i, i FROM range(100) r(i)", "CREATE TABLE other (id BIGINT)")
	l.view("quiet", "SELECT count(*) AS n FROM other")
	l.view("a", query)
	l.view("b", "SELECT count(*) AS n FROM a")
	l.check()
	l.until("the first checkpoint", func() bool { return l.figures("a").Checkpoints.Load() > 0 })
	g.close()
	l.exec("INSERT INTO o VALUES (1000, 1)")
	<-g.came
	return l, g
}

// heard waits until the supervisor knows of all that was committed.
func (l *lab) heard() {
	l.t.Helper()
	head, err := l.lake.Snapshot(l.ctx)
	l.must(err)
	l.until("the newest commit is known", func() bool {
		st, _ := l.run.Status(l.views["quiet"].UUID)
		return st.Frontier >= head.ID
	})
}

func bytes(name string, n int64) ddl.Option {
	return ddl.Option{Name: name, Value: ddl.Value{Kind: ddl.Bytes, Int: n}}
}

func whole(name string, n int64) ddl.Option {
	return ddl.Option{Name: name, Value: ddl.Value{Kind: ddl.Int, Int: n}}
}

func lasting(name string, d time.Duration) ddl.Option {
	return ddl.Option{Name: name, Value: ddl.Value{Kind: ddl.Duration, Duration: d}}
}

// While a commit is on its way, what comes is computed, and is published as one.
func TestEpochsOverlapCommits(t *testing.T) {
	l, g := busy(t, "SELECT id, v + 1 AS w FROM o", ddl.Options{lasting("source_batch_max_linger", 0)})
	f := l.figures("a")
	in, made := f.RowsIn.Load(), f.Publications.Load()
	for i := range 4 {
		l.exec(fmt.Sprintf("INSERT INTO o VALUES (%d, 1)", 2000+i))
		l.until("an epoch while a commit is on its way", func() bool { return f.RowsIn.Load() == in+int64(i)+1 })
	}
	if n := f.Publications.Load(); n != made {
		t.Errorf("%d publications were made while one was held up", n-made)
	}
	g.open()
	l.check()
	if n := f.Publications.Load(); n != made+2 {
		t.Errorf("it took %d publications, not 2", n-made)
	}
}

// An epoch waits for more while a commit is on its way.
func TestSourceLinger(t *testing.T) {
	l, g := busy(t, "SELECT id, v + 1 AS w FROM o", ddl.Options{lasting("source_batch_max_linger", time.Minute)})
	f := l.figures("a")
	epochs := f.Epochs.Load()
	for i := range 5 {
		l.exec(fmt.Sprintf("INSERT INTO o VALUES (%d, 1)", 2000+i))
	}
	l.heard()
	g.open()
	l.check()
	if n := f.Epochs.Load() - epochs; n != 1 {
		t.Errorf("5 commits during another one were taken in %d epochs", n)
	}
}

// An epoch has no more rows and bytes than it may, but for those of one snapshot.
func TestSourceBatches(t *testing.T) {
	for _, c := range []struct {
		name   string
		option ddl.Option
		commit []int // rows
		epochs int64
	}{
		{"rows", whole("source_batch_rows", 25), []int{10, 10, 10, 10, 10, 100, 10, 10}, 5},
		{"bytes", bytes("source_batch_bytes", 1<<10), []int{10, 10, 10, 10, 10, 10, 10, 100, 10, 10}, 5},
		{"neither", bytes("source_batch_bytes", 1<<20), []int{10, 10, 100, 10}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, g := busy(t, "SELECT id, v + 1 AS w FROM o", ddl.Options{c.option, lasting("source_batch_max_linger", time.Minute)})
			f := l.figures("a")
			g.open()
			l.settle()
			g.close()
			l.exec("INSERT INTO o VALUES (1001, 1)")
			<-g.came
			l.until("its epoch", func() bool { return f.RowsIn.Load() >= 102 })
			epochs := f.Epochs.Load()
			for i, n := range c.commit {
				l.exec(fmt.Sprintf("INSERT INTO o SELECT %d + i, 1 FROM range(%d) r(i)", 10000*(i+1), n))
			}
			l.heard()
			g.open()
			l.check()
			t.Logf("%d epochs", f.Epochs.Load()-epochs)
			if n := f.Epochs.Load() - epochs; n < c.epochs {
				t.Errorf("%d commits were taken in %d epochs, not in %d", len(c.commit), n, c.epochs)
			}
		})
	}
}

// What is enough is published before more is computed; what is less, together.
func TestPublishBatches(t *testing.T) {
	for _, c := range []struct {
		bytes        int64
		publications int64
	}{{1 << 10, 1 + 5}, {1 << 20, 1 + 1}} {
		t.Run(fmt.Sprint(c.bytes), func(t *testing.T) {
			l, g := busy(t, "SELECT id, v + 1 AS w FROM o", ddl.Options{
				whole("source_batch_rows", 1), lasting("source_batch_max_linger", 0), bytes("publish_batch_bytes", c.bytes), lasting("publish_max_linger", time.Minute),
			})
			f := l.figures("a")
			made := f.Publications.Load()
			for i := range 5 {
				l.exec(fmt.Sprintf("INSERT INTO o SELECT %d + i, 1 FROM range(40) r(i)", 1000*(i+2)))
			}
			l.heard()
			g.open()
			l.check()
			if n := f.Publications.Load() - made; n != c.publications {
				t.Errorf("%d publications, not %d", n, c.publications)
			}
		})
	}
}

// What goes wrong with a commit meets epochs behind it.
func TestCommitsThatFailBehindEpochs(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(l *lab, f *fate)
		then func(l *lab)
	}{
		{"nothing", func(*lab, *fate) {}, nil},
		{"it is refused", func(_ *lab, f *fate) { f.refused.fail(1, fault.CommitConflict.Newf("injected")) }, nil},
		{"the catalog is gone", func(_ *lab, f *fate) { f.refused.fail(2, fault.CatalogGone.Newf("injected")) }, nil},
		{"what became of it is not known", func(_ *lab, f *fate) { f.refused.fail(1, errStopped) }, nil},
		{"its answer is lost", func(_ *lab, f *fate) { f.lost.fail(1, errStopped) }, nil},
		{"somebody else writes into the table", func(l *lab, _ *fate) { l.must(l.raw("INSERT INTO lake.a VALUES (-1, -1)")) }, nil},
		{"somebody else takes its rows away", func(l *lab, _ *fate) { l.must(l.raw("DELETE FROM lake.a")) }, nil},
		{"rows have moved", func(l *lab, _ *fate) { l.must(l.raw("CALL ducklake_flush_inlined_data('lake')")) }, nil},
		{"rows fail behind it", func(l *lab, _ *fate) { l.exec("INSERT INTO o VALUES (-5, 1000)") }, func(l *lab) {
			l.await("a", stream.Failed)
			l.same("a", "SELECT id, v::TINYINT AS w FROM o WHERE v <> 3 AND id <> -5") // with the epoch before the failing one
			l.exec("DELETE FROM o WHERE id = -5")
			l.restart("a")
		}},
		{"it is restarted", func(l *lab, _ *fate) { l.restart("a") }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			fate := newFate()
			l, g := busy(t, "SELECT id, v::TINYINT AS w FROM o WHERE v <> 3", ddl.Options{lasting("source_batch_max_linger", 0)}, func(l *lab) {
				l.publisher.Faults.AfterCommit, l.publisher.Faults.BeforeCommit = fate.lost.next, fate.refused.next
			})
			f := l.figures("a")
			in := f.RowsIn.Load()
			l.exec("UPDATE o SET v = v + 1 WHERE id < 20")
			l.until("an epoch", func() bool { return f.RowsIn.Load() > in })
			c.do(l, fate)
			g.open()
			if c.then != nil {
				c.then(l)
			}
			l.exec("DELETE FROM o WHERE id % 7 = 0")
			l.check()
			l.exec("INSERT INTO o VALUES (5000, 7)")
			l.check()
		})
	}
}

// What was computed before a column went away is published, also behind a commit, and so are the views that read it.
func TestTheLastResultBeforeASchemaChange(t *testing.T) {
	l, g := busy(t, "SELECT id, v + 1 AS w FROM o", ddl.Options{lasting("source_batch_max_linger", 0)})
	f := l.figures("a")
	in := f.RowsIn.Load()
	l.exec("DELETE FROM o WHERE id % 3 = 0")
	l.until("an epoch", func() bool { return f.RowsIn.Load() > in })
	l.exec("CREATE TABLE kept AS FROM o", "ALTER TABLE o DROP COLUMN v")
	g.open()
	l.await("a", stream.SchemaBlocked)
	l.same("a", "SELECT id, v + 1 AS w FROM kept")
	l.same("b", "SELECT count(*) AS n FROM kept")
}

// A server that ends in between goes on from what was committed.
func TestStopBehindCommits(t *testing.T) {
	l, g := busy(t, "SELECT v % 10 AS k, count(*) AS n FROM o GROUP BY 1", ddl.Options{lasting("source_batch_max_linger", 0)})
	for i := range 5 {
		f := l.figures("a")
		in := f.RowsIn.Load()
		l.exec(fmt.Sprintf("INSERT INTO o SELECT i, i %% 5 FROM range(%d) r(i)", 10+i))
		l.until("an epoch", func() bool { return f.RowsIn.Load() > in })
		stopped := make(chan struct{})
		go func() { l.stop(); close(stopped) }()
		g.open()
		<-stopped
		l.start()
		l.check()
		g.close()
		l.exec("DELETE FROM o WHERE id = 5")
		<-g.came
	}
	g.open()
	l.check()
}
