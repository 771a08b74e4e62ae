package stream_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// watched is a source that tests look over the shoulder of.
type watched struct {
	stream.Source
	away   atomic.Bool  // the catalog cannot be asked
	gone   atomic.Int64 // snapshots before it are expired
	headed atomic.Pointer[func()]
	broken atomic.Bool // content cannot be read
}

func (s *watched) on(l *lab) {
	l.configure = append(l.configure, func(c *stream.Config) {
		s.Source = c.Source
		c.Source = s
	})
}

func (s *watched) Commits(ctx context.Context, from, to int64) ([]stream.Commit, error) {
	switch {
	case s.away.Load():
		return nil, fault.CatalogGone.Newf("away")
	case from < s.gone.Load():
		return nil, fault.HistoryExpired.Newf("lake snapshot %d does not exist any more", from+1)
	}
	return s.Source.Commits(ctx, from, to)
}

// Head calls what waits for it, once.
func (s *watched) Head(ctx context.Context) (int64, error) {
	head, err := s.Source.Head(ctx)
	if f := s.headed.Swap(nil); f != nil {
		(*f)()
	}
	return head, err
}

func (s *watched) Content(ctx context.Context, r stream.Reading, at int64, take func(*zset.Batch) error) error {
	if s.broken.Load() {
		return fault.LakeUnreadable.Newf("by the test")
	}
	return s.Source.Content(ctx, r, at, take)
}

// A server that was away for longer than the lake keeps its history goes on all the same, with the views that it has and with new ones.
func TestHistoryEndsWhileTheServerIsAway(t *testing.T) {
	s := &watched{}
	l := newLab(t, laketest.DuckDB, s.on)
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o VALUES (1, 10), (2, 20)", "CREATE TABLE other (id BIGINT)")
	l.view("a", "SELECT v, count(*) AS n FROM o GROUP BY v")
	l.view("b", "SELECT count(*) AS n FROM a")
	l.view("c", "SELECT id FROM other")
	l.check()
	s.away.Store(true)
	l.exec("INSERT INTO o VALUES (3, 10)", "DELETE FROM o WHERE id = 2", "INSERT INTO c VALUES (-1)")
	s.gone.Store(l.head())
	s.away.Store(false)
	l.check()
	l.view("d", "SELECT max(v) AS v FROM o")
	l.exec("INSERT INTO o VALUES (4, 40)", "INSERT INTO other VALUES (1)")
	l.check()
}

// A view begins over ones that have nothing new, when commits were missed and another program has expired the snapshots that these were
// published in: they show what they showed then.
func TestAViewOverOneWhoseHistoryWasMissed(t *testing.T) {
	s := &watched{}
	l := newLab(t, laketest.DuckDB, s.on)
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o VALUES (1, 10), (2, 20)", "CREATE TABLE other (id BIGINT)")
	l.view("a", "SELECT v, count(*) AS n FROM o GROUP BY v")
	l.view("b", "SELECT count(*) AS n FROM a")
	l.check()
	for i, over := range []string{"SELECT max(v) AS v FROM a", "SELECT a.v, b.n FROM a, b"} {
		s.away.Store(true)
		l.exec("INSERT INTO other VALUES (1)")
		l.expire()
		s.gone.Store(l.head())
		s.away.Store(false)
		l.exec("INSERT INTO other VALUES (2)") // it hears that it has missed something
		l.view(fmt.Sprintf("over%d", i), over)
		l.check()
	}
	l.exec("INSERT INTO o VALUES (3, 30)")
	l.check()
}

// Somebody writes into a view after it has looked for that, and before it is where such news goes.
func TestSomebodyWritesIntoAViewThatBegins(t *testing.T) {
	s := &watched{}
	l := newLab(t, laketest.DuckDB, s.on)
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o VALUES (1, 10), (2, 20)", "CREATE TABLE other (id BIGINT)")
	l.view("a", "SELECT id, v FROM o")
	l.view("quiet", "SELECT id FROM other")
	l.check()
	wrote := make(chan struct{})
	write := func() {
		defer close(wrote)
		l.exec("INSERT INTO a VALUES (-1, -1)")
		head := l.head()
		ctx, stop := context.WithTimeout(l.ctx, patience)
		defer stop()
		l.must(l.run.Await(ctx, l.views["quiet"].UUID, func(st stream.Status, ok bool) bool { return ok && st.Frontier >= head })) // it was heard of
	}
	s.headed.Store(&write)
	l.restart("a")
	<-wrote // until then it may look as if it ran
	l.check()
}

// What is held for a next generation that cannot be built is let go: nothing may need it for a long time.
func TestHoldsOfWhatIsNotBuilt(t *testing.T) {
	s := &watched{}
	l := newLab(t, laketest.DuckDB, s.on)
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o VALUES (1, 10), (2, 20)")
	l.view("a", "SELECT id, v FROM o")
	l.check()
	s.broken.Store(true)
	l.control("a", func(c *store.Control, uuid string) error { return c.Rebuild(l.ctx, uuid, "") })
	ctx, stop := context.WithTimeout(l.ctx, patience)
	defer stop()
	l.must(l.run.Await(ctx, l.views["a"].UUID, func(st stream.Status, ok bool) bool { return ok && st.Reason.Code == fault.LakeUnreadable.Name() }))
	l.control("a", func(c *store.Control, uuid string) error { return c.Pause(l.ctx, uuid, true) })
	l.await("a", stream.Paused)
	l.stop()
	if holders := l.holders(); len(holders) != 1 || !holders[l.views["a"].UUID+".1"] {
		t.Errorf("held for %v", holders)
	}
	s.broken.Store(false)
	l.start()
	l.control("a", func(c *store.Control, uuid string) error { return c.Pause(l.ctx, uuid, false) })
	l.check()
}

// unheld is a sink whose holds may fail.
type unheld struct {
	stream.Sink
	holds failing
}

func (s *unheld) Hold(ctx context.Context, uuid string, tables map[int64]int64) error {
	if err := s.holds.next(); err != nil {
		return err
	}
	return s.Sink.Hold(ctx, uuid, tables)
}

// A catalog that is away when a checkpoint is to be held costs the view nothing.
func TestACheckpointThatIsNotHeld(t *testing.T) {
	s := &unheld{}
	l := newLab(t, laketest.DuckDB, func(l *lab) {
		l.configure = append(l.configure, func(c *stream.Config) { s.Sink, c.Sink = c.Sink, s })
	})
	l.options = ddl.Options{{Name: "checkpoint_interval", Value: ddl.Value{Kind: ddl.Duration, Duration: 100 * time.Millisecond}}}
	l.exec("CREATE TABLE o (id BIGINT)")
	l.view("a", "SELECT count(*) AS n FROM o")
	l.check()
	was, _ := l.run.Status(l.views["a"].UUID)
	s.holds.fail(1, fault.CatalogGone.Newf("by the test"))
	for s.holds.left.Load() > 0 {
		l.exec("INSERT INTO o VALUES (1)")
		l.check()
	}
	l.exec("INSERT INTO o VALUES (2)")
	l.check()
	if is, _ := l.run.Status(l.views["a"].UUID); is.Figures != was.Figures {
		t.Error("the view was made again")
	}
}

func (l *lab) holders() map[string]bool {
	l.t.Helper()
	out := map[string]bool{}
	l.must(l.lake.Store().View(l.ctx, func(tx metadata.Tx) error {
		holds, err := maintain.Holds(l.ctx, tx)
		for _, h := range holds {
			out[h.Holder] = true
		}
		return err
	}))
	return out
}
