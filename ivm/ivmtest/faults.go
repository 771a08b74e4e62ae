package ivmtest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// interruption stops what evaluates expressions in the midst of a step.
type interruption struct {
	mu     sync.Mutex
	calls  int // until then; 0: never
	cancel context.CancelFunc
}

// arm gives the context of a step that is interrupted at the evaluator's n-th call. done says whether it came to that.
func (x *interruption) arm(ctx context.Context, n int) (_ context.Context, done func() bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ctx, x.cancel = context.WithCancel(ctx)
	x.calls = n
	return ctx, func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		hit := x.calls == 0
		x.cancel()
		x.calls = 0
		return hit
	}
}

// during makes a call, and an interrupted one fails, however far it came.
func (x *interruption) during(ctx context.Context, call func() error) error {
	x.mu.Lock()
	now := x.calls == 1
	if x.calls > 0 {
		if x.calls--; now {
			x.cancel()
		}
	}
	x.mu.Unlock()
	if err := call(); err != nil || !now {
		return err
	}
	return ctx.Err()
}

type interrupted struct {
	eval.Evaluator
	eval.Groups
	by *interruption
}

type interruptedRunner struct {
	eval.Runner
	by *interruption
}

type interruptedGroups struct {
	eval.GroupRunner
	by *interruption
}

func (i interrupted) Open(ctx context.Context, f eval.Fragment) (eval.Runner, error) {
	r, err := i.Evaluator.Open(ctx, f)
	if err != nil {
		return nil, err
	}
	return interruptedRunner{r, i.by}, nil
}

func (i interrupted) Aggregates(ctx context.Context, rows *row.Layout, aggs []plan.Agg, timeZone string) (eval.GroupRunner, error) {
	r, err := i.Groups.Aggregates(ctx, rows, aggs, timeZone)
	if err != nil {
		return nil, err
	}
	return interruptedGroups{r, i.by}, nil
}

func (i interrupted) Windows(ctx context.Context, rows *row.Layout, w *plan.Window, timeZone string) (eval.GroupRunner, error) {
	r, err := i.Groups.Windows(ctx, rows, w, timeZone)
	if err != nil {
		return nil, err
	}
	return interruptedGroups{r, i.by}, nil
}

func (i interruptedRunner) Run(ctx context.Context, in, out eval.Rows, clock int64, bad func(int, error)) error {
	return i.by.during(ctx, func() error { return i.Runner.Run(ctx, in, out, clock, bad) })
}

func (i interruptedGroups) Evaluate(ctx context.Context, rows *zset.Batch, groups []int32, n int, out *zset.Batch, bad func(int, error)) error {
	return i.by.during(ctx, func() error { return i.GroupRunner.Evaluate(ctx, rows, groups, n, out, bad) })
}

// A diskFault makes the writes of a store fail while it is on.
type diskFault struct{ on, hit bool }

func (d *diskFault) MaybeError(op errorfs.Op) error {
	if d.on && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
		return errorfs.ErrInjected
	}
	return nil
}

func (d *diskFault) String() string { return "disk" }

// stored is a view's copy over a store.
func (v *View) overStore() (*storedView, error) {
	if v.stored != nil {
		if s, ok := v.stored.Maintained.(*storedView); ok {
			return s, nil
		}
	}
	return nil, fmt.Errorf("view %s is not over a store", v.Name)
}

// interrupt steps with the evaluator of the copies over a store interrupted at its n-th call. Those to which it happens go on from their
// checkpoints and step again. It gives their names.
func (w *World) interrupt(ctx context.Context, dml string, n int) (hit []string, err error) {
	if err := w.Exec(ctx, dml); err != nil {
		return nil, err
	}
	deltas, err := w.deltas(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range w.views {
		deltas := v.given(deltas)
		s, err := v.overStore()
		if err != nil {
			return nil, err
		}
		stopped, done := s.interrupts.arm(ctx, n)
		_, failed := s.graphView.Step(stopped, w.now, deltas)
		switch {
		case !done():
			err = failed
		case failed == nil:
			err = errors.New("the step went on")
		default:
			hit = append(hit, v.Name)
		}
		if err == nil {
			err = s.reopen(ctx) // as if it had not begun
		}
		if err == nil {
			err = v.step(ctx, deltas)
		}
		if err != nil {
			return hit, v.wrong("interrupted: %v", err)
		}
	}
	return hit, nil
}

// fail makes a checkpoint while the disk fails; the view goes on, and nothing of the checkpoint may be there.
func (v *storedView) failCheckpoint(ctx context.Context) error {
	v.disk.on, v.disk.hit = true, true
	since := v.since
	err := v.checkpoint(ctx, true)
	v.disk.on = false
	if err == nil {
		return errors.New("the checkpoint did not fail")
	}
	v.since = since
	return nil
}

// rescale goes on in n shards.
func (v *storedView) rescale(ctx context.Context, n int) error {
	if err := v.checkpoint(ctx, true); err != nil {
		return err
	}
	return v.reopenIn(ctx, n)
}

// backfill goes on with a view that is made anew by loading.
func (v *View) backfill(ctx context.Context) error {
	if v.eventful() {
		return errors.New("a view that is made anew has a watermark of its own")
	}
	if f, ok := v.main.Maintained.(Finder); ok {
		return errors.Join(f.Again(ctx), v.step(ctx, nil))
	}
	r, err := v.open(ctx)
	if err != nil {
		return err
	}
	whole := v.whole()
	if _, err := r.take(func() (*zset.Batch, error) { return r.Load(ctx, v.world.now, whole) }); err != nil {
		return errors.Join(v.wrong("made anew by loading: %v", err), r.Close())
	}
	if err := v.same(r, "made anew by loading"); err != nil {
		return errors.Join(err, r.Close())
	}
	old := v.main
	v.main = r
	return old.Close()
}
