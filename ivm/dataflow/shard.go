package dataflow

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// aloneRows is the number of changed rows up to which the shards of an operator are stepped one after the other: waking
// other goroutines costs more than the rows.
const aloneRows = 2048

// sharded is one operator as several, each with the keys of its share of the key groups: operators whose rows meet only
// where their keys are equal do not notice.
//
//	d(op(A, B)) = Σ over shards s of d(op(A|s, B|s))
type sharded struct {
	parts   []Operator
	routers []*router       // of each input
	ins     [][]*zset.Batch // by shard and input
	outs    []*zset.Batch
	errs    []error

	gathered *gathered // while a content is loaded
}

// router finds the shard of each row of an input.
type router struct {
	keys   Program // the normal form of what decides; nil: the row itself
	rows   *zset.Batch
	hashes []uint64
	failed []int
}

func newRouter(keys Program) *router {
	r := &router{keys: keys}
	if keys != nil {
		r.rows = zset.New(keys.Layout())
	}
	return r
}

// newSharded puts operators of one kind together; keys gives each input's key rows.
func newSharded(parts []Operator, keys []Program, inputs []*row.Layout) Operator {
	s := &sharded{parts: parts, ins: make([][]*zset.Batch, len(parts)), errs: make([]error, len(parts))}
	for _, k := range keys {
		s.routers = append(s.routers, newRouter(k))
	}
	for i := range parts {
		for _, l := range inputs {
			s.ins[i] = append(s.ins[i], zset.New(l))
		}
		s.outs = append(s.outs, zset.New(parts[i].Layout()))
	}
	for _, p := range parts {
		if _, ok := p.(Timed); ok {
			return &shardedTimed{s}
		}
	}
	return s
}

func (s *sharded) Layout() *row.Layout { return s.parts[0].Layout() }

func (s *sharded) Cancels() bool { return s.parts[0].Cancels() }

// route spreads the rows of an input. A row whose key cannot be computed goes to the first shard, which finds out again.
func (s *sharded) route(ctx context.Context, input int, rows *zset.Batch) error {
	for i := range s.parts {
		s.ins[i][input].Reset()
	}
	if err := s.hash(ctx, input, rows); err != nil {
		return err
	}
	r := s.routers[input]
	failed, at, n := r.failed, 0, len(s.parts)
	for i, w := range rows.Weights {
		to := 0
		if len(failed) > 0 && failed[0] == i {
			failed = failed[1:]
		} else {
			to = state.Shard(r.hashes[at], n)
			at++
		}
		s.ins[to][input].Append(rows.Row(i), rows.Heap, w)
	}
	return nil
}

// hash makes the hashes of the rows' keys.
func (s *sharded) hash(ctx context.Context, input int, rows *zset.Batch) error {
	r := s.routers[input]
	keys := rows
	r.failed = r.failed[:0]
	if r.keys != nil {
		r.rows.Reset()
		keys = r.rows
		if err := r.keys.Run(ctx, rows, r.rows, func(i int, _ error) { r.failed = append(r.failed, i) }); err != nil {
			return err
		}
	}
	slices.Sort(r.failed)
	r.hashes = slices.Grow(r.hashes[:0], keys.Len())[:keys.Len()]
	keys.Layout.HashAll(r.hashes, keys.Words, keys.Len(), keys.Heap)
	return nil
}

func (s *sharded) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	total := 0
	for i, b := range in {
		if err := s.route(ctx, i, b); err != nil {
			return err
		}
		total += b.Len()
	}
	return s.each(total, out, func(i int, out *zset.Batch) error {
		mine := *e
		return s.parts[i].Step(ctx, &mine, s.ins[i], out)
	})
}

// Load gives each shard its rows, many at once.
func (s *sharded) Load(ctx context.Context, e *Epoch, input int, rows *zset.Batch) error {
	err := s.gather(ctx, input, rows)
	if err == nil && s.gathered.words >= gatheredWords {
		err = s.settle(ctx, e)
	}
	return err
}

// Emit gives what all shards have.
func (s *sharded) Emit(ctx context.Context, e *Epoch, out *zset.Batch) error {
	if err := s.settle(ctx, e); err != nil {
		return err
	}
	s.gathered = nil
	emit := func(i int, out *zset.Batch) error {
		mine := *e
		return s.parts[i].(Loader).Emit(ctx, &mine, out)
	}
	if _, ok := s.parts[0].(sized); ok && e.full == nil && out.Len() == 0 && out.Layout.Fixed() {
		return s.emitBeside(out, emit)
	}
	err := s.each(aloneRows+1, out, emit)
	for i, o := range s.outs { // a content may be much larger than any change
		s.outs[i] = zset.New(o.Layout)
	}
	return err
}

// each runs do for every shard, side by side when there is enough to do, and puts their outputs together.
func (s *sharded) each(rows int, out *zset.Batch, do func(i int, out *zset.Batch) error) error {
	for _, o := range s.outs {
		o.Reset()
	}
	if rows <= aloneRows {
		for i := range s.parts {
			s.errs[i] = do(i, s.outs[i])
		}
	} else {
		var wg sync.WaitGroup
		for i := 1; i < len(s.parts); i++ {
			wg.Add(1)
			go s.run(&wg, i, do)
		}
		s.errs[0] = do(0, s.outs[0])
		wg.Wait()
	}
	if err := errors.Join(s.errs...); err != nil || out == nil {
		return err
	}
	total := 0
	for _, o := range s.outs {
		total += o.Len()
	}
	out.Words, out.Weights = slices.Grow(out.Words, total*out.Layout.Words), slices.Grow(out.Weights, total)
	for _, o := range s.outs {
		out.AppendBatch(o)
	}
	return nil
}

func (s *sharded) run(wg *sync.WaitGroup, i int, do func(int, *zset.Batch) error) {
	defer wg.Done()
	s.errs[i] = do(i, s.outs[i])
}

// shardedTimed is shards that follow the clock.
type shardedTimed struct{ *sharded }

// Due asks all shards.
func (s *shardedTimed) Due(now int64) bool {
	for _, p := range s.parts {
		if t, ok := p.(Timed); ok && t.Due(now) {
			return true
		}
	}
	return false
}
