package dataflow

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// history steps an operator of one input, adds up what it gives, and checks after every step that the content is what an
// operator that is loaded with the input's content gives. The operator's state lies over a store, out of which it is read again,
// and now and then the operator is made anew from it.
type history struct {
	make    func(Tables) (Operator, error)
	tables  *storeTables
	op      Operator
	errs    *Epoch // has the errors there are
	input   *zset.Batch
	content *zset.Batch
	steps   int
	now     int64
	unsure  bool // a fresh operator need not know what this one does (watermarks)
}

func newHistory(t testing.TB, make func(Tables) (Operator, error), in *zset.Batch) (*history, error) {
	tables, err := newStoreTables()
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { tables.store.Close() })
	op, err := make(tables)
	if err != nil {
		return nil, err
	}
	return &history{tables: tables, make: make, op: op, errs: testEpoch(0), input: in, content: zset.New(op.Layout())}, nil
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
	if err := h.restart(); err != nil {
		return nil, err
	}
	return out, h.reload()
}

// restart writes a checkpoint, takes the state out of memory, and, every now and then, opens all anew.
func (h *history) restart() error {
	if h.steps%3 == 0 {
		if err := h.tables.checkpoint(); err != nil {
			return err
		}
	}
	if h.steps%7 != 0 {
		return nil
	}
	if err := h.tables.reopen(); err != nil {
		return err
	}
	var err error
	h.op, err = h.make(h.tables)
	return err
}

// storeTables are tables over a store.
type storeTables struct {
	options state.StoreOptions
	store   *state.Store
	tables  []*state.Table
	names   map[string]bool
}

func newStoreTables() (*storeTables, error) {
	k := &storeTables{options: state.StoreOptions{Dir: "state", Stamp: "test", FS: vfs.NewMem(), Cache: 1 << 20}}
	return k, k.open()
}

func (k *storeTables) open() (err error) {
	k.tables, k.names = nil, map[string]bool{}
	k.store, err = state.OpenStore(k.options)
	return err
}

func (k *storeTables) Table(name string, spec state.Spec) (*state.Table, error) {
	if k.names[name] {
		return nil, fmt.Errorf("the table %s is there twice", name)
	}
	k.names[name] = true
	t, err := Stored{Store: k.store}.Table(name, spec)
	k.tables = append(k.tables, t)
	return t, err
}

func (k *storeTables) checkpoint() error {
	c := k.store.Capture(nil)
	c.Drain(0)
	if err := c.Commit(context.Background()); err != nil {
		return err
	}
	k.store.Settle()
	for _, t := range k.tables {
		t.Trim(0)
	}
	return nil
}

func (k *storeTables) reopen() error {
	if err := k.checkpoint(); err != nil {
		return err
	}
	if err := k.store.Close(); err != nil {
		return err
	}
	return k.open()
}

// reload compares with an operator that is loaded, half of the rows at a time.
func (h *history) reload() error {
	if _, ok := h.op.(Loader); !ok || h.unsure {
		return nil
	}
	op, err := h.make(Memory{})
	if err != nil {
		return err
	}
	loader := op.(Loader)
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
	empty, err := h.make(Memory{})
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

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
