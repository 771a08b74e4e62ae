package state

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
)

// here is the record of ref, whose tree is about to be walked.
func (t *Table) here(ref Ref) []uint64 {
	r := t.rec(ref)
	if t.store != nil {
		t.store.at = r
	}
	return r
}

// met is what a lookup that came to a record says: a ghost is not there.
func (t *Table) met(ref Ref) Ref {
	b := t.store
	b.ghost = None
	r := t.rec(ref)
	if r[t.meta]&flagLive == 0 {
		b.ghost = ref
		return None
	}
	r[t.meta] |= flagUsed
	return ref
}

// fetch reads a key that is not in memory from the store, if it is there.
func (t *Table) fetch(hash uint64, key []uint64, h *row.Heap) Ref {
	b := t.store
	b.ghost = None
	if b.away == 0 && !b.parted {
		return None
	}
	group := t.groupIn(hash, key, h)
	if b.away == 0 {
		return None
	}
	b.key = append(append(b.key[:0], b.prefix...), byte(group))
	b.key = t.spec.Key.AppendBytes(b.key, key, h)
	val, closer, err := b.s.db.Get(b.key)
	if err != nil {
		if !errors.Is(err, pebble.ErrNotFound) {
			b.fail(fault.StateUnreadable.Wrap(err, "reading from the checkpoint in %s", b.s.dir))
		}
		return None
	}
	defer closer.Close()
	return t.admitted(hash, key, h, val)
}

// admitted is the record of a key that was in the store only, under b.key.
func (t *Table) admitted(hash uint64, key []uint64, h *row.Heap, val []byte) Ref {
	ref, r := t.newRecord(hash)
	t.spec.Key.Copy(r[:t.kw], &t.heap, key, h)
	t.index.insert(hash>>32, uint32(ref)+1)
	t.store.away--
	t.admit(r, val)
	return ref
}

// admit fills a new record from the store.
func (t *Table) admit(r []uint64, val []byte) {
	b := t.store
	r[t.meta] |= flagStored
	tree, err := t.readRecord(r, val)
	if err == nil && tree {
		err = t.readTree(r, b.key)
	}
	if err != nil {
		b.fail(err)
	}
}

// readTree makes the tree of a record whose store key is key.
func (t *Table) readTree(r []uint64, key []byte) error {
	b := t.store
	it, err := b.s.db.NewIter(&pebble.IterOptions{LowerBound: append(append([]byte{}, key...), 0), UpperBound: append(append([]byte{}, key...), 0xff, 0xff, 0xff, 0xff, 0xff)})
	if err != nil {
		return fault.StateUnreadable.Wrap(err, "reading from the checkpoint in %s", b.s.dir)
	}
	var x treeReader
	for ok := it.First(); ok; ok = it.Next() {
		if err := x.leaf(t, it.Key()[len(key):], it.Value(), 0); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	if err := it.Close(); err != nil {
		return fault.StateUnreadable.Wrap(err, "reading from the checkpoint in %s", b.s.dir)
	}
	return x.finish(t, r)
}

// resident is the ref of a leaf, which is read from the store if it is only there.
func (t *Table) resident(r, s []uint64) uint64 {
	if t.store == nil {
		return s[slotRef]
	}
	if s[slotRef]>>classShift&0xff == classDisk {
		t.readSlot(r, s)
	}
	s[slotRef] |= leafUsed
	return s[slotRef]
}

func (t *Table) readSlot(r, s []uint64) {
	b := t.store
	n := uint32(s[slotCount])
	b.key = t.appendLeafKey(t.appendKey(b.key[:0], r), s)
	val, closer, err := b.s.db.Get(b.key)
	if err == nil {
		var read [slotWords]uint64
		if read, err = t.readLeaf(uint32(s[slotCount]>>32), val); err == nil && uint32(read[slotCount]) != n {
			err = damaged("a leaf")
		}
		if err = errors.Join(err, closer.Close()); err == nil {
			s[slotRef] = s[slotRef]&leafFlags | read[slotRef]
			return
		}
	}
	b.fail(fault.StateUnreadable.Wrap(err, "reading from the checkpoint in %s", b.s.dir))
	leaf := t.newLeaf(t.capFor(int(n)), false) // the table has failed; what is read from it now is not used
	clear(t.block(leaf))
	s[slotRef] = s[slotRef]&leafFlags | leaf
}

// eachAway reads every key that is in the store only and calls f for it; those
// that f does not change are dropped again.
func (t *Table) eachAway(f func(Ref) bool) {
	b := t.store
	t.scanAway(func(hash uint64, key []uint64, h *row.Heap, stored, val []byte) bool {
		b.key = append(b.key[:0], stored...)
		ref := t.admitted(hash, key, h, val)
		if b.err != nil {
			return false
		}
		more := f(ref)
		if r := t.rec(ref); r[t.meta]&(flagLive|b.dirty|b.captured) == flagLive {
			t.evict(ref, r)
		}
		return more
	})
}

// scanAway calls f for every key that is in the store only, and what it has there.
func (t *Table) scanAway(f func(hash uint64, key []uint64, h *row.Heap, stored, val []byte) bool) {
	key := make([]uint64, t.kw)
	var h row.Heap
	err := t.scan(func(k, val []byte) (bool, error) {
		h.Reset()
		rest, err := t.spec.Key.ReadBytes(key, k[groupAt+1:], &h)
		if err != nil || len(rest) > 0 { // a leaf of the key before
			return true, err
		}
		hash := t.spec.Key.Hash(key, &h)
		if t.held(hash, key, &h) {
			return true, nil
		}
		t.store.ghost = None
		return f(hash, key, &h, k, val), nil
	})
	if err != nil {
		t.store.fail(err)
	}
}

// EachKey calls f with every key, which is valid until f returns. Of keys that are in the store only nothing else is read. f must not change the
// table.
func (t *Table) EachKey(f func(key []uint64, h *row.Heap) bool) {
	for id := range t.next {
		if r := t.rec(Ref(id)); r[t.meta]&flagLive != 0 && !f(r[:t.kw], &t.heap) {
			return
		}
	}
	if t.store != nil && t.store.away > 0 {
		t.scanAway(func(_ uint64, key []uint64, h *row.Heap, _, _ []byte) bool { return f(key, h) })
	}
}

// held says that the key has a record, even if it is removed.
func (t *Table) held(hash uint64, key []uint64, h *row.Heap) bool {
	tag := hash >> 32
	seg := t.index.segment(tag)
	mask := uint64(len(seg) - 2)
	for i := tag & mask; seg[i] != 0; i = (i + 1) & mask {
		if seg[i]>>32 == tag && t.matches(Ref(uint32(seg[i])-1), key, h) {
			return true
		}
	}
	return false
}
