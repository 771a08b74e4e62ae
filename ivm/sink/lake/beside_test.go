package lake

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// Rows are moved while changes are published: nothing is lost, and nothing is taken for somebody else's writing.
func TestMaintenanceBeside(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		rnd := rand.New(rand.NewPCG(1, 31))
		w := newWorld(t, kind, inlining(60))
		a, b := w.newView("a", simple, true), w.newView("b", simple, false)
		universe := w.universe(a, 40)
		must(t, w.publish([]*view{a, b}, a.draw(rnd, universe, 40, 0), b.draw(rnd, universe, 100, 0)))
		over, cancel := context.WithCancel(w.ctx)
		var wait sync.WaitGroup
		moved := 0
		wait.Go(func() {
			for ; over.Err() == nil || moved < 3; moved++ {
				for _, v := range []*view{a, b} {
					var err error
					switch moved % 3 {
					case 0:
						err = w.sink.Publisher.Relocate(w.ctx, v.table, publish.Flush)
					case 1:
						err = w.sink.Publisher.Relocate(w.ctx, v.table, publish.Merge)
					case 2:
						_, err = w.sink.Publisher.Retire(w.ctx, v.table)
					}
					if err != nil {
						t.Errorf("moving: %v", err)
					}
				}
			}
		})
		var mark stream.Mark
		for step := range 40 {
			n := 10
			if step%9 == 8 {
				n = 90
			}
			if err := w.publish([]*view{a, b}, a.draw(rnd, universe, n, 10), b.draw(rnd, universe, 10, 10)); err != nil {
				t.Errorf("step %d: %v", step, err)
				break
			}
			if step == 30 {
				mark = a.checkpoint()
			}
		}
		cancel()
		wait.Wait()
		if moved < 3 {
			t.Errorf("rows were moved %d times", moved)
		}
		if t.Failed() {
			return
		}
		a.restart(mark)
		must(t, b.res.Reload(w.ctx))
		a.check()
		b.check()
	})
}
