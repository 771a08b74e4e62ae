package state

import (
	"github.com/vegadb/vega-flight/ivm/row"
)

// Ref names a key of one table. It lives until the key is removed or the table trimmed.
type Ref uint32

// None is no key.
const None = ^Ref(0)

// Spec is the shape of a table.
type Spec struct {
	Key     *row.Layout
	Entry   *row.Layout // nil for a table of groups only
	Order   int         // leading fields of Entry that decide the order of a key's entries; the others make it total
	Payload int         // words beside the key
	Group   int         // leading fields of Key that decide its key group; 0 is all
	Share   bool        // long values of entries come again and again: equal ones are kept once
}

// Table maps keys to a payload and an ordered multiset of entries.
type Table struct {
	spec Spec
	heap row.Heap // long values of keys and entries

	// Records: key words, payload, meta words. See record.go.
	recs     [][]uint64
	recShift uint
	recMask  uint32
	stride   int
	kw       int // key words: where the payload begins
	meta     int // where the meta words begin
	next     uint32
	freed    uint32 // 1 + first record of the free list
	live     int
	index    index

	// Entries. See leaf.go and tree.go.
	ew, en int // words and null words of an entry
	inline bool
	vars   bool
	mask0  uint64 // the bits of an entry's first word that order it by themselves
	caps   []int
	slabs  []slab // two a capacity: without and with weights
	nodes  slab
	arena  arena

	hashes []uint64 // scratch of batch calls

	filling *filling // what Fill took and Pack has not packed

	warmed uint64 // so that nobody leaves out the reads of Warm
	hints  hints

	store *backing // nil: memory only
}

// New makes an empty table in memory.
func New(spec Spec) *Table {
	t := &Table{spec: spec, kw: spec.Key.Words}
	t.meta = t.kw + spec.Payload
	t.stride = t.meta + 1
	if e := spec.Entry; e != nil {
		t.ew, t.en, t.vars = e.Words, e.Nulls, !e.Fixed()
		t.inline = t.ew <= inlineWords
		area := 1
		if t.inline {
			area = max(1, t.ew) // entries without fields are only counted, but have a place
		}
		t.stride = t.meta + metaArea + area
		t.mask0 = ^uint64(0)
		if t.ew == t.en { // no fields: every entry is the same
			t.mask0 = 0
		} else if e.Types[0].Var() {
			t.mask0 = 0xffffffff << 32
		}
		t.caps = leafCaps(t.ew)
		t.slabs = make([]slab, 2*len(t.caps))
		for i, c := range t.caps {
			t.slabs[2*i].init(c * t.ew)
			t.slabs[2*i+1].init(c * (t.ew + 1))
		}
		t.nodes.init(innerWords)
	}
	t.reset()
	return t
}

// Reset removes everything.
func (t *Table) Reset() {
	if t.store != nil {
		t.Each(func(ref Ref) bool { t.Remove(ref); return true })
		return
	}
	t.reset()
}

func (t *Table) reset() {
	t.recs, t.next, t.freed, t.live = nil, 0, 0, 0
	t.recShift = 0
	for (1<<(t.recShift+1))*t.stride <= recordChunk {
		t.recShift++
	}
	t.recMask = 1<<t.recShift - 1
	t.index.reset()
	t.heap = row.Heap{}
	if t.spec.Share {
		t.heap.Share()
	}
	t.filling = nil
	for i := range t.slabs {
		t.slabs[i].head = 0
	}
	t.nodes.head = 0
	t.arena = arena{}
}

// Spec is the table's shape.
func (t *Table) Spec() Spec { return t.spec }

// Heap has the long values of keys and entries.
func (t *Table) Heap() *row.Heap { return &t.heap }

// Keys is the number of keys.
func (t *Table) Keys() int {
	if t.store != nil {
		return t.live + t.store.away
	}
	return t.live
}

// Bytes is the memory that the table has taken.
func (t *Table) Bytes() int {
	return t.heap.Held() + t.index.bytes() + len(t.recs)*(8*t.stride<<t.recShift+24) + t.arena.bytes()
}
