package dataflow

import (
	"context"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// KeyClosing says which keys of a join by equality can meet nothing any more: those that have less than the floor in a field, since no
// change of either side has that now. What their rows gave stays in the output. A key with NULL there stays.
type KeyClosing struct {
	Field int // of the key, of one word
	Floor func(context.Context) (least int64, ok bool)
}

// keyEnds are the keys of both sides by their times. A key whose rows were all taken back is there until its time has come. It is made
// from the sides' state at the first step.
type keyEnds struct {
	floor func(context.Context) (int64, bool)
	time  cell
	keys  *timeline
	known bool
	gone  *zset.Batch
}

func newKeyEnds(spec KeyClosing, key *row.Layout) *keyEnds {
	e := &keyEnds{floor: spec.Floor, time: cellOf(key, spec.Field), keys: newTimeline(key)}
	e.gone = zset.New(e.keys.entry)
	return e
}

func (e *keyEnds) add(key []uint64, h *row.Heap) {
	if key[e.time.null]>>e.time.bit&1 == 0 {
		e.keys.set(key[e.time.src], key, h)
	}
}

// note takes the keys that a side has got with the rows that it has taken.
func (e *keyEnds) note(s *side) {
	if !e.known { // all are noted before any goes
		return
	}
	for _, x := range s.flips {
		if had := x & 1; had == 0 {
			e.add(s.keys.Row(int(uint32(x)>>1)), s.keys.Heap)
		}
	}
}

// letGo drops the keys that are behind both watermarks.
func (e *keyEnds) letGo(ctx context.Context, sides *[2]side) {
	least, ok := e.floor(ctx)
	if !ok {
		return
	}
	if !e.known {
		e.known = true
		for n := range sides {
			sides[n].table.EachKey(func(key []uint64, h *row.Heap) bool {
				e.add(key, h)
				return true
			})
		}
	}
	for e.keys.take(e.gone, least) {
		for i := range e.gone.Len() {
			key := e.keys.back(e.gone.Row(i))
			for n := range sides {
				t := sides[n].table
				if ref, ok := t.Find(key, e.gone.Heap); ok {
					t.Remove(ref)
				}
			}
		}
	}
}
