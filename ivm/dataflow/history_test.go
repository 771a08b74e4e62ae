package dataflow

import (
	"context"
	"fmt"
	"testing"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// history steps an operator of one input, adds up what it gives, and checks after every step that the content is what an
// operator that is loaded with the input's content gives.
type history struct {
	make    func() (Operator, error)
	op      Operator
	errs    *Epoch // has the errors there are
	input   *zset.Batch
	content *zset.Batch
	steps   int
	now     int64
	unsure  bool // a fresh operator need not know what this one does (watermarks)
}

func newHistory(make func() (Operator, error), in *zset.Batch) (*history, error) {
	op, err := make()
	if err != nil {
		return nil, err
	}
	return &history{make: make, op: op, errs: testEpoch(0), input: in, content: zset.New(op.Layout())}, nil
}

// step gives what the operator gives, consolidated.
func (h *history) step(now int64, delta *zset.Batch) (*zset.Batch, error) {
	h.now = max(h.now, now)
	e := h.errs
	e.Now, e.First = h.now, h.steps == 0
	h.steps++
	out := zset.New(h.op.Layout())
	if err := h.op.Step(context.Background(), e, []*zset.Batch{delta}, out); err != nil {
		return nil, err
	}
	if _, keyed := h.op.(*aggregate); keyed {
		n := out.Len()
		if out.Consolidate(); out.Len() != n {
			return nil, fmt.Errorf("rows of the output cancel, or are there twice")
		}
	}
	out.Consolidate()
	h.input.AppendBatch(delta)
	h.input.Consolidate()
	h.content.AppendBatch(out)
	h.content.Consolidate()
	for i, w := range h.content.Weights {
		if w < 0 {
			return nil, fmt.Errorf("the content has (%s) %d times", h.content.Layout.Format(h.content.Row(i), h.content.Heap), w)
		}
	}
	return out, h.reload()
}

// reload compares with an operator that is loaded, half of the rows at a time.
func (h *history) reload() error {
	loader, ok := h.op.(Loader)
	if !ok || h.unsure {
		return nil
	}
	op, err := h.make()
	if err != nil {
		return err
	}
	loader = op.(Loader)
	e := testEpoch(h.now)
	half := zset.New(h.input.Layout)
	for part := range 2 {
		half.Reset()
		for i, w := range h.input.Weights {
			if i%2 == part {
				half.Append(h.input.Row(i), h.input.Heap, w)
			}
		}
		if err := loader.Load(context.Background(), e, 0, half); err != nil {
			return err
		}
	}
	out := zset.New(op.Layout())
	if err := loader.Emit(context.Background(), e, out); err != nil {
		return err
	}
	if !out.Equal(h.content) {
		out.Consolidate()
		return fmt.Errorf("loaded at once, it would be\n%sand not\n%s", out.Print(), h.content.Print())
	}
	if a, b := fmt.Sprint(e.errors.list()), fmt.Sprint(h.errs.errors.list()); a != b {
		return fmt.Errorf("loaded at once, the errors would be %s and not %s", a, b)
	}
	// and a further step that takes everything away leaves nothing, or what there is without rows
	gone := h.input.Clone()
	gone.Negate()
	if err := op.Step(context.Background(), e, []*zset.Batch{gone}, out); err != nil {
		return fmt.Errorf("loaded and emptied: %w", err)
	}
	empty, err := h.make()
	if err != nil {
		return err
	}
	want := zset.New(op.Layout())
	if err := empty.Step(context.Background(), testEpoch(h.now), []*zset.Batch{zset.New(h.input.Layout)}, want); err != nil {
		return err
	}
	if !out.Equal(want) {
		out.Consolidate()
		return fmt.Errorf("loaded and emptied, there is\n%s", out.Print())
	}
	if n := len(e.errors.list()); n != 0 {
		return fmt.Errorf("loaded and emptied, there are %d errors", n)
	}
	return nil
}

// testEpoch is an epoch of its own, with the errors that are told to it.
func testEpoch(now int64) *Epoch { return &Epoch{Now: now, First: true, errors: newErrorSet()} }

func isExcess(err error) bool { return fault.CodeOf(err) == fault.ExcessRetraction }

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
