package ivmtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// storedView is a view over a store, to which after each step the next thing of a round happens: its state is dropped from
// memory; it goes on from a checkpoint in another number of shards; a checkpoint is given up; the process dies, and the steps since the
// last checkpoint are made again, without output.
type storedView struct {
	engine Dataflow
	def    Definition
	fs     vfs.FS
	disk   *diskFault
	manual bool // nothing happens by itself
	*graphView
	tables *storedTables
	steps  int
	times  int      // that it was opened again
	since  []moment // steps since the newest checkpoint
}

// shards are in how many a view over a store goes on, in turn.
var shards = []int{1, 3, 2, 5}

// next is in how many it goes on next; views begin at different places.
func (v *storedView) next() int {
	v.times++
	return shards[(len(v.def.SQL)+v.times)%len(shards)]
}

// moment is a step as it was given.
type moment struct {
	now    int64
	deltas map[string]*zset.Batch
}

// storedTables notes the tables that a graph opens.
type storedTables struct {
	dataflow.Stored
	opened *[]*state.Table
}

func (s storedTables) Table(name string, spec state.Spec) (*state.Table, error) {
	t, err := s.Stored.Table(name, spec)
	if err == nil {
		*s.opened = append(*s.opened, t)
	}
	return t, err
}

func (s storedTables) Part(i, n int) dataflow.Tables {
	return storedTables{s.Stored.Part(i, n).(dataflow.Stored), s.opened}
}

func (v *storedView) open(ctx context.Context, parallel int) error {
	s, err := state.OpenStore(state.StoreOptions{Dir: "state", Stamp: v.def.Plan.Fingerprint(), FS: v.fs, Cache: 1 << 20})
	if err != nil {
		return err
	}
	v.tables = &storedTables{dataflow.Stored{Store: s, Budget: 1 << 10}, new([]*state.Table)}
	e := v.engine
	e.Options.Tables, e.Options.Parallelism = *v.tables, parallel
	opened, err := e.Open(ctx, v.def)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	v.graphView = opened.(*graphView)
	if want := fmt.Sprint(v.steps - len(v.since)); v.steps > 0 && string(s.Frontier()) != want {
		return fmt.Errorf("the newest checkpoint is of %q, not of %s", s.Frontier(), want)
	}
	for _, m := range v.since {
		if _, err := v.graphView.Step(ctx, m.now, m.deltas); err != nil {
			return fmt.Errorf("again: %w", err)
		}
	}
	return nil
}

// checkpoint writes one, a few records at a time, or gives it up.
func (v *storedView) checkpoint(ctx context.Context, give bool) error {
	c := v.tables.Store.Capture([]byte(fmt.Sprint(v.steps)))
	if c == nil {
		return errors.New("a checkpoint is still on its way")
	}
	for c.Drain(3) {
	}
	if !give {
		c.Abort()
		v.tables.Store.Settle()
		return nil
	}
	err := c.Commit(ctx)
	v.tables.Store.Settle()
	if err == nil {
		v.since = nil
	}
	return err
}

func (v *storedView) Step(ctx context.Context, now int64, deltas map[string]*zset.Batch) (*zset.Batch, error) {
	given, err := v.graphView.Step(ctx, now, deltas)
	if err != nil {
		return nil, err
	}
	out := given.Clone()
	v.steps++
	v.since = append(v.since, moment{now, deltas})
	if v.manual {
		return out, nil
	}
	switch v.steps % 6 {
	case 1, 3:
		if err = v.checkpoint(ctx, true); err == nil {
			err = v.spill()
		}
	case 2:
		if err = v.checkpoint(ctx, true); err == nil {
			err = v.reopen(ctx)
		}
	case 4:
		err = v.checkpoint(ctx, false)
	case 0:
		err = v.reopen(ctx) // of the last two steps there is no checkpoint
	}
	return out, err
}

// spill drops all that can be dropped from memory.
func (v *storedView) spill() error {
	for range 2 { // what was used lately goes the second time
		for _, t := range *v.tables.opened {
			t.Trim(0)
			if err := t.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// reopen goes on from the newest checkpoint.
func (v *storedView) reopen(ctx context.Context) error {
	return v.reopenIn(ctx, v.next())
}

func (v *storedView) reopenIn(ctx context.Context, parallel int) error {
	before := len(v.Errors())
	if err := v.Close(); err != nil && !v.disk.hit { // a store that could not write says so again
		return err
	}
	v.disk.hit = false
	if err := v.open(ctx, parallel); err != nil {
		return err
	}
	if after := len(v.Errors()); after != before {
		return fmt.Errorf("%d errors before, %d after a checkpoint", before, after)
	}
	return nil
}

// Load is not how these begin.
func (v *storedView) Load(ctx context.Context, now int64, tables map[string]*zset.Batch) (*zset.Batch, error) {
	return v.Step(ctx, now, tables)
}

func (v *storedView) Layout() *row.Layout { return v.graphView.Layout() }

func (v *storedView) Close() error { return errors.Join(v.graphView.Close(), v.tables.Store.Close()) }
