package changelog

import (
	"context"
	"runtime/debug"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// chunkBytes is about what one batch weighs, and chunkRows is how many rows it has at most.
const (
	chunkBytes = 1 << 20
	chunkRows  = 1 << 15
)

// tape gives the tape of a commit, made now or before; the caller releases it. with are the commits, itself the first, that may be read with it.
func (c *Changelog) tape(r *Request, snapshot int64, w what, with []int64) *tape {
	key := tapeKey{r.view.UUID, snapshot, w, r.opt.Zone}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uses++
	t := c.tapes[key]
	if t == nil {
		ctx, stop := context.WithCancel(c.ctx)
		t = newTape(c, key, stop)
		t.with = with
		c.tapes[key] = t
		c.group.Add(1)
		go c.fill(ctx, t, r)
	}
	t.refs++
	t.used = c.uses
	return t
}

// release is told when a subscriber has done with a tape. What is short and complete is kept for those who are a little behind.
func (c *Changelog) release(t *tape) {
	c.mu.Lock()
	t.refs--
	if t.refs > 0 {
		c.mu.Unlock()
		return
	}
	t.mu.Lock()
	keep := t.over && t.err == nil && t.file == nil && c.views[t.key.uuid] != nil
	size := t.memory
	t.mu.Unlock()
	var gone []*tape
	if keep && !t.cached {
		t.cached = true
		c.kept += size
	}
	if !keep {
		gone = append(gone, c.dropLocked(t))
	}
	for c.kept > c.MemoryBytes {
		oldest := c.oldestLocked()
		if oldest == nil {
			break
		}
		gone = append(gone, c.dropLocked(oldest))
	}
	c.mu.Unlock()
	for _, t := range gone {
		t.free()
	}
}

// oldestLocked is the tape nobody reads that was used longest ago.
func (c *Changelog) oldestLocked() (oldest *tape) {
	for _, t := range c.tapes {
		if t.refs == 0 && (oldest == nil || t.used < oldest.used) {
			oldest = t
		}
	}
	return oldest
}

func (c *Changelog) dropLocked(t *tape) *tape {
	delete(c.tapes, t.key)
	if t.cached {
		c.kept -= t.memory // it is over: nobody changes it
		t.cached = false
	}
	return t
}

// fill writes a tape. It is told what to read by the request that came first: all that ask for the same tape want the same.
func (c *Changelog) fill(ctx context.Context, t *tape, r *Request) {
	defer c.group.Done()
	err := fault.InternalError.Newf("reading view %s was given up", r.view.Name)
	var failed error = err
	defer func() { t.end(failed) }()
	defer func() {
		if p := recover(); p != nil {
			failed = fault.InternalError.Newf("reading view %s: %v", r.view.Name, p)
			c.log.Error("panic while reading for subscribers", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if t.key.what == content {
		failed = c.Source.Content(ctx, r.reading(), t.key.snapshot, func(b *zset.Batch) error { return r.write(ctx, t, b, nil) })
		return
	}
	failed = c.fillChanges(ctx, t, r)
}

// fillChanges writes a commit's changes: as who published it has them in memory, or summed up from the feed. All of a commit is in memory
// meanwhile, so few are read at a time.
func (c *Changelog) fillChanges(ctx context.Context, t *tape, r *Request) error {
	sum, err := c.givenFor(ctx, t.key.uuid, t.key.snapshot)
	if err != nil {
		return err
	}
	select {
	case c.loading <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-c.loading }()
	if sum == nil {
		sum = c.takeAhead(t.key.uuid, t.key.snapshot)
	}
	if sum == nil && len(t.with) > 1 {
		if sum, err = c.readAhead(ctx, r, t.with); err != nil {
			return err
		}
	}
	if sum == nil || !sum.Layout.Same(r.layout) {
		sum = zset.New(r.layout)
		if err := c.Source.Changes(ctx, r.reading(), t.key.snapshot-1, t.key.snapshot, func(b *zset.Batch) error {
			sum.AppendBatch(b)
			return nil
		}); err != nil {
			return err
		}
		sum.Consolidate()
	}
	var went, came []int
	for i, w := range sum.Weights {
		if w < 0 {
			went = append(went, i)
		} else {
			came = append(came, i)
		}
	}
	if t.key.what == upserts {
		went = unreplaced(sum, r.view.Key, went, came)
	}
	if err := r.write(ctx, t, sum, went); err != nil {
		return err
	}
	return r.write(ctx, t, sum, came)
}

// unreplaced are the rows that went whose key did not come back.
func unreplaced(b *zset.Batch, key []int, went, came []int) []int {
	l := keyLayout(b.Layout, key)
	bytes := make([]byte, 0, 64)
	words := make([]uint64, l.Words)
	var heap row.Heap
	of := func(i int) []byte {
		clear(words)
		heap.Reset()
		for to, from := range key {
			l.CopyField(words, to, &heap, b.Layout, b.Row(i), from, b.Heap)
		}
		bytes = l.AppendBytes(bytes[:0], words, &heap)
		return bytes
	}
	there := make(map[string]struct{}, len(came))
	for _, i := range came {
		there[string(of(i))] = struct{}{}
	}
	out := went[:0]
	for _, i := range went {
		if _, replaced := there[string(of(i))]; !replaced {
			out = append(out, i)
		}
	}
	return out
}

func keyLayout(l *row.Layout, key []int) *row.Layout {
	types := make([]row.Type, len(key))
	for i, k := range key {
		types[i] = l.Types[k]
	}
	return row.NewLayout(types...)
}

// write appends rows of a batch to a tape, in pieces; rows nil: all.
func (r *Request) write(ctx context.Context, t *tape, b *zset.Batch, rows []int) error {
	n := len(rows)
	if rows == nil && t.key.what == content {
		n = b.Len()
	}
	for from := 0; from < n; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		to := from
		words, weights := []uint64{}, []int64{}
		for size := 0; to < n && to-from < chunkRows && (size < chunkBytes || to == from); to++ {
			i := to
			if rows != nil {
				i = rows[to]
			}
			words, weights = append(words, b.Row(i)...), append(weights, b.Weights[i])
			size += b.Layout.Words*8 + r.long(b.Row(i))
		}
		batch, err := r.batch(words, weights, b.Heap)
		if err != nil {
			return err
		}
		if err := t.add(batch, uniform(weights)); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// long is how many bytes of a row lie outside of its words.
func (r *Request) long(words []uint64) (n int) {
	for _, i := range r.layout.Vars {
		if size := int(uint32(words[r.layout.Off[i]])); size > row.Inline {
			n += size
		}
	}
	return n
}

func uniform(weights []int64) int64 {
	for _, w := range weights {
		if w != weights[0] {
			return 0
		}
	}
	return weights[0]
}

// batch makes what a tape keeps of some rows.
func (r *Request) batch(words []uint64, weights []int64, h *row.Heap) (arrow.RecordBatch, error) {
	cols := []arrow.Array{integers(weights)}
	for i := range r.layout.Types {
		col, err := r.layout.ToColumn(r.kept.Field(i+1).Type, words, len(weights), i, h)
		if err != nil {
			return nil, err
		}
		cols = append(cols, col)
	}
	return array.NewRecordBatch(r.kept, cols, int64(len(weights))), nil
}

// integers is an array over values, which are its own from now on.
func integers(values []int64) arrow.Array {
	d := array.NewData(arrow.PrimitiveTypes.Int64, len(values), []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(values))}, nil, 0, 0)
	defer d.Release()
	return array.MakeFromData(d)
}
