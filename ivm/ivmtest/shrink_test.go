package ivmtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/eval/evaluator"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// forgetful is an engine that forgets to take rows back.
type forgetful struct{ Engine }

type forgetfulView struct{ Maintained }

func (f forgetful) Open(ctx context.Context, d Definition) (Maintained, error) {
	m, err := f.Engine.Open(ctx, d)
	if err != nil {
		return nil, err
	}
	return forgetfulView{m}, nil
}

func (f forgetfulView) Step(ctx context.Context, now int64, deltas map[string]*zset.Batch) (*zset.Batch, error) {
	all, err := f.Maintained.Step(ctx, now, deltas)
	if err != nil {
		return nil, err
	}
	out := zset.New(all.Layout)
	for i, w := range all.Weights {
		if w > 0 {
			out.Append(all.Row(i), all.Heap, w)
		}
	}
	return out, nil
}

// TestWhatFailsIsMadeSmall plants a fault in the engine: random cases find it, shrink to few statements, and the scripts that they are printed as
// fail with that engine and pass with the right one.
func TestWhatFailsIsMadeSmall(t *testing.T) {
	right := newLab(t, nil)
	e, err := evaluator.Open(t.Context(), evaluator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := Open(t.Context(), forgetful{Dataflow{dataflow.BuildOptions{Evaluator: e, Groups: e}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(wrong.Close(), e.Close()); err != nil {
			t.Error(err)
		}
	})
	found := 0
	for seed := uint64(1); found < 3; seed++ {
		if seed > 60 {
			t.Fatalf("of %d random cases only %d find it", seed, found)
		}
		c := NewCase(seed)
		first := c.Text().Run(t.Context(), wrong, seed)
		if !Faulty(first) {
			continue
		}
		found++
		small := Shrink(t.Context(), wrong, c, time.Hour).Text()
		if err := small.Run(t.Context(), wrong, seed); !Faulty(err) || !sameKind(err, first) {
			t.Errorf("seed %d: what is left fails otherwise: %v, and first %v", seed, err, first)
		}
		statements, before := 0, 0
		for _, s := range append(small.Steps, small.Before) {
			statements += len(s)
		}
		for _, s := range append(c.Text().Steps, c.Text().Before) {
			before += len(s)
		}
		t.Logf("seed %d: of %d statements %d are left, over %s", seed, before, statements, small.SQL)
		if statements > 4 || len(small.Script("x")) > len(c.Text().Script("x")) {
			t.Errorf("seed %d: it is not small:\n%s", seed, small.Script("small"))
		}
		path := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(path, []byte(small.Script("small")), 0o600); err != nil {
			t.Fatal(err)
		}
		Run(t, right, path)
	}
}
