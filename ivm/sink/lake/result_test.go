package lake

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

var simple = []string{"BIGINT", "VARCHAR", "DECIMAL(10,2)"}

func (w *world) universe(v *view, n int) *zset.Batch {
	return w.rows(v.layout, fmt.Sprintf(`SELECT CASE WHEN i %% 7 = 0 THEN NULL ELSE i END, CASE i %% 4 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'a value that is long enough ' || i ELSE 'v' || i END,
		(i / 3)::DECIMAL(10,2) FROM range(%d) t(i)`, n))
}

// Random deltas, with everything that happens to a table between them.
func TestRandomHistory(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 7))
				w := newWorld(t, kind, inlining(60))
				v := w.newView("v", simple, true)
				universe := w.universe(v, 40)
				v.publish(zset.New(v.layout))
				if v.epoch != 1 || v.generation != 1 {
					t.Fatalf("epoch %d, generation %d", v.epoch, v.generation)
				}
				mark := v.checkpoint()
				for step := range 60 {
					switch rnd.IntN(9) {
					case 0:
						v.flush()
					case 1:
						v.merge()
					case 2:
						mark = v.checkpoint()
					case 3:
						v.restart(mark)
						v.checkPlaces()
					case 4:
						v.publish(v.draw(rnd, universe, 150, 20)) // as files
					case 5:
						v.publish(v.draw(rnd, universe, 0, 5))
					default:
						v.publish(v.draw(rnd, universe, 12, 8))
					}
					if t.Failed() {
						t.Fatalf("at step %d", step)
					}
				}
			})
		}
	})
}

// From a mark at any earlier point the places are found again.
func TestRestartFromAnyMark(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		const steps = 10
		every := map[laketest.Kind]int{laketest.DuckDB: 1, laketest.PostgreSQL: 3}[kind]
		for from := 0; from < steps; from += every {
			t.Run(fmt.Sprint(from), func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(uint64(from), 11))
				w := newWorld(t, kind, inlining(60))
				v := w.newView("v", simple, true)
				universe := w.universe(v, 30)
				var mark stream.Mark
				for step := range steps {
					switch step % 5 {
					case 1:
						v.flush()
					case 3:
						v.publish(v.draw(rnd, universe, 100, 10))
						v.merge()
					}
					v.publish(v.draw(rnd, universe, 20, 10))
					if step == from {
						mark = v.checkpoint()
					}
				}
				v.restart(mark)
				v.check()
				v.publish(v.draw(rnd, universe, 10, 15))
				if from%2 == 0 { // the checkpoint after a restart is as good as one before
					mark = v.checkpoint()
					v.publish(v.draw(rnd, universe, 10, 15))
					v.restart(mark)
					v.check()
				}
				v.restart(stream.Mark{})
				v.check()
			})
		}
	})
}

// What somebody else writes is noticed, and taken back by the difference to the content.
func TestForeignWrites(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		for _, foreign := range []string{
			"INSERT INTO lake.main.v VALUES (1, 'foreign', 2)",
			"DELETE FROM lake.main.v WHERE c0 = (SELECT min(c0) FROM lake.main.v)",
			"UPDATE lake.main.v SET c1 = 'foreign' WHERE c0 = (SELECT max(c0) FROM lake.main.v)",
			"INSERT INTO lake.main.v SELECT range, 'foreign', 2 FROM range(20000)",
			"DELETE FROM lake.main.v",
			"UPDATE lake.main.v SET c1 = 'foreign'; CALL ducklake_flush_inlined_data('lake')",
		} {
			for _, restart := range []bool{false, true} {
				if restart && kind == laketest.PostgreSQL && foreign[0] == 'D' {
					continue // the same as with the other catalog, and slow
				}
				t.Run(fmt.Sprint(foreign, " ", restart), func(t *testing.T) {
					rnd := rand.New(rand.NewPCG(1, 1))
					w := newWorld(t, kind, inlining(60))
					v := w.newView("v", simple, true)
					universe := w.universe(v, 50)
					v.publish(v.draw(rnd, universe, 100, 0))
					mark := v.checkpoint()
					v.publish(v.draw(rnd, universe, 30, 10))
					was := v.res.Mark().Snapshot
					w.exec(foreign)
					if restart {
						v.restart(mark)
					}
					before := v.content()
					d := v.draw(rnd, universe, 10, 10)
					for range 2 {
						if err := w.publish([]*view{v}, d.Clone()); fault.CodeOf(err) != fault.ResultChanged {
							t.Fatalf("publishing gave %v", err)
						}
						if now := v.res.Mark().Snapshot; now != was {
							t.Fatalf("the mark went from %d to %d before a reload", was, now)
						}
					}
					before.Negate()
					now := v.content()
					now.AppendBatch(before)
					if now.Consolidate(); now.Len() > 0 {
						t.Fatalf("something was published:\n%s", now.Print())
					}
					must(t, v.res.Reload(w.ctx))
					diff, err := v.res.Difference(w.ctx, v.want.Clone())
					must(t, err)
					if diff.Len() == 0 {
						t.Fatal("there is no difference")
					}
					want := v.want.Clone()
					must(t, w.publish([]*view{v}, diff))
					v.want = want
					v.check()
					v.publish(d)
					v.publish(v.draw(rnd, universe, 10, 10))
				})
			}
		}
	})
}

// A bundle with a loser changes nothing, and other bundles are not its business.
func TestBundles(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		rnd := rand.New(rand.NewPCG(1, 2))
		w := newWorld(t, kind, inlining(60))
		a, b := w.newView("a", simple, false), w.newView("b", simple, false)
		universe := w.universe(a, 30)
		all := []*view{a, b}
		must(t, w.publish(all, a.draw(rnd, universe, 20, 0), b.draw(rnd, universe, 100, 0)))
		a.check()
		b.check()
		for _, n := range []int{5, 100} { // inlined, and staged
			b.epoch += 3
			if err := w.publish(all, a.draw(rnd, universe, n, 5), b.draw(rnd, universe, n, 5)); fault.CodeOf(err) != fault.RefreshConflict {
				t.Fatalf("%v", err)
			}
			b.epoch -= 3
			a.check()
			b.check()
		}
		w.exec("INSERT INTO lake.main.b VALUES (1, 'foreign', 2)")
		if err := w.publish(all, a.draw(rnd, universe, 5, 5), b.draw(rnd, universe, 5, 5)); fault.CodeOf(err) != fault.ResultChanged {
			t.Fatalf("%v", err)
		}
		a.check()
		diff, err := b.res.Difference(w.ctx, b.want.Clone())
		must(t, err)
		want := b.want.Clone()
		epoch := a.epoch
		must(t, w.publish(all, nil, diff))
		b.want = want
		a.check()
		b.check()
		if at := a.res.Mark().Snapshot; at != w.head() {
			t.Errorf("the mark of what did not change is %d in snapshot %d", at, w.head())
		}
		if a.epoch != epoch+1 {
			t.Errorf("a frontier that moved with others left the epoch at %d", a.epoch)
		}
		// Nothing to publish is no snapshot.
		before := w.head()
		epoch = a.epoch
		must(t, w.publish(all, nil, zset.New(b.layout)))
		if after := w.head(); after != before || a.epoch != epoch {
			t.Errorf("snapshot %d became %d, epoch %d became %d", before, after, epoch, a.epoch)
		}
	})
}

func (w *world) head() int64 {
	s, err := w.lake.Snapshot(w.ctx)
	must(w.t, err)
	return s.ID
}

// A commit whose answer is lost is published once, and where its rows lie is found.
func TestLostAnswers(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		rnd := rand.New(rand.NewPCG(1, 3))
		w := newWorld(t, kind, inlining(60))
		a, b := w.newView("a", simple, false), w.newView("b", simple, false)
		universe := w.universe(a, 30)
		for step := range 12 {
			lost := step%2 == 1
			w.sink.Publisher.Faults.AfterCommit = func() error {
				if !lost {
					return nil
				}
				lost = false
				return errors.New("lost")
			}
			n := 10
			if step%4 > 1 {
				n = 100
			}
			if step == 7 {
				a.flush()
			}
			must(t, w.publish([]*view{a, b}, a.draw(rnd, universe, n, 8), b.draw(rnd, universe, 10, 8)))
			a.check()
			b.check()
		}
	})
}

// A publication of the whole content makes good what somebody else wrote before it, also when its answer is lost; what is written behind it is taken back.
func TestWholeContentOverWritesOfOthers(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("lost %t", lost), func(t *testing.T) {
				w := newWorld(t, kind, inlining(60))
				v := w.newView("v", simple, false)
				v.publish(w.universe(v, 500))
				w.exec("INSERT INTO lake.main.v VALUES (-1, 'by somebody else', 1)")
				content := w.universe(v, 500)
				delta := zset.New(v.layout)
				for i := range content.Weights {
					delta.Append(content.Row(i), content.Heap, -content.Weights[i])
				}
				next := w.rows(v.layout, "SELECT -i, 'next', 1::DECIMAL(10,2) FROM range(1, 300) t(i)")
				delta.AppendBatch(next)
				delta.Consolidate()
				// A write that comes between the commit and the notes of where its rows lie.
				behind, committed := false, int64(0)
				w.sink.Publisher.Faults.AfterCommit = func() error {
					if behind {
						return nil
					}
					behind, committed = true, w.head()
					w.exec("UPDATE lake.main.v SET c1 = 'changed' WHERE c0 = -7")
					if lost {
						return errors.New("lost")
					}
					return nil
				}
				must(t, w.publish([]*view{v}, delta))
				// What came since the mark is taken back: that must not be the publication itself.
				mark := v.res.Mark().Snapshot
				if mark != committed {
					t.Errorf("the result stands at snapshot %d, and was committed as %d", mark, committed)
				}
				must(t, v.res.Reload(w.ctx))
				if now := v.res.Mark().Snapshot; now <= mark {
					t.Fatalf("nobody is told of the write behind the commit: %d, %d", mark, now)
				}
				back, err := v.res.Difference(w.ctx, next)
				must(t, err)
				if back.Len() != 2 {
					t.Errorf("%d rows differ, not 2", back.Len())
				}
				must(t, w.publish([]*view{v}, back))
				v.want = next.Clone()
				v.want.Consolidate()
				v.check()
			})
		}
	})
}

// Maintenance moves rows, and the next change follows it. A view may also be replaced as a whole.
func TestWholeContent(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind, inlining(60))
		v := w.newView("v", simple, true)
		v.publish(w.universe(v, 5000))
		v.publish(v.draw(rand.New(rand.NewPCG(1, 4)), w.universe(v, 50), 20, 30))
		content := w.universe(v, 3000)
		for i := range content.Weights {
			content.Row(i)[v.layout.Off[0]] += 10
			if v.layout.IsNull(content.Row(i), 0) {
				content.Row(i)[v.layout.Off[0]] = 0
			}
		}
		content.Consolidate()
		diff, err := v.res.Difference(w.ctx, content.Clone())
		must(t, err)
		v.publish(diff)
		sum := content.Clone()
		sum.Negate()
		sum.AppendBatch(v.want)
		if sum.Consolidate(); sum.Len() != 0 {
			t.Fatalf("the difference does not make the content:\n%s", sum.Print())
		}
		gone := v.want.Clone()
		gone.Negate()
		v.publish(gone) // everything goes
		v.publish(w.universe(v, 200))
		v.flush()
		mark := v.checkpoint()
		all := v.want.Clone()
		all.Negate()
		all.AppendBatch(content)
		all.Consolidate()
		v.publish(all) // everything is replaced
		v.restart(mark)
		v.check()
	})
}

// Moves by maintenance do not make the places unknown.
func TestMovedRowsOnly(t *testing.T) {
	w := newWorld(t, laketest.DuckDB, inlining(500))
	v := w.newView("v", simple, false)
	v.publish(w.universe(v, 20000))
	rnd := rand.New(rand.NewPCG(1, 5))
	universe := w.universe(v, 300)
	v.publish(v.draw(rnd, universe, 100, 50))
	v.flush()
	read := int64(0)
	counting := func(f func()) int64 {
		read = 0
		f()
		return read
	}
	v.res.told = func(n int) { read += int64(n) }
	if n := counting(func() { v.publish(v.draw(rnd, universe, 5, 50)) }); n == 0 || n > 500 {
		t.Errorf("%d rows were read after a flush", n)
	}
	if n := counting(func() { v.publish(v.draw(rnd, universe, 5, 50)) }); n != 0 {
		t.Errorf("%d rows were read after nothing", n)
	}
}
