package state

import (
	"github.com/vegadb/vega-flight/ivm/row"
)

// Meta words of a record, behind key and payload. Tables without entries have the first only.
const (
	metaFlags = 0 // tag<<32 | flags; while free: 1 + next free record, flags 0
	metaCount = 1 // height<<56 | distinct entries
	metaTotal = 2 // sum of weights
	metaArea  = 3 // the only entry if height is 0, else the root's ref
)

const (
	flagLive   = 1 << iota
	flagDirtyA // changed since the last capture, or captured and not written yet; see dirty.go
	flagDirtyB
	flagStored // the store has a version of it
	flagUsed   // since the last trim
)

const (
	recordChunk = 1 << 13 // words
	inlineWords = 8       // entries of so many words lie in the record as long as there is one
	heightShift = 56
	countMask   = 1<<heightShift - 1
)

func (t *Table) rec(ref Ref) []uint64 {
	o := int(uint32(ref)&t.recMask) * t.stride
	return t.recs[uint32(ref)>>t.recShift][o : o+t.stride : o+t.stride]
}

// Key is the key of ref.
func (t *Table) Key(ref Ref) []uint64 { return t.rec(ref)[:t.kw:t.kw] }

// Payload is the payload of ref, to be written.
func (t *Table) Payload(ref Ref) []uint64 {
	r := t.rec(ref)
	if t.store != nil {
		t.dirty(ref, r)
	}
	return r[t.kw:t.meta:t.meta]
}

// Peek is the payload of ref, to be read only.
func (t *Table) Peek(ref Ref) []uint64 { return t.rec(ref)[t.kw:t.meta:t.meta] }

// Find is the key's ref.
func (t *Table) Find(key []uint64, h *row.Heap) (Ref, bool) {
	ref := t.find(t.spec.Key.Hash(key, h), key, h)
	return ref, ref != None
}

// Upsert is the key's ref, which is created if there is none.
func (t *Table) Upsert(key []uint64, h *row.Heap) (ref Ref, created bool) {
	hash := t.spec.Key.Hash(key, h)
	if ref = t.find(hash, key, h); ref != None {
		return ref, false
	}
	return t.create(hash, key, h), true
}

func (t *Table) find(hash uint64, key []uint64, h *row.Heap) Ref {
	tag := hash >> 32
	seg := t.index.segment(tag)
	mask := uint64(len(seg) - 2)
	for i := tag & mask; ; i = (i + 1) & mask {
		s := seg[i]
		if s>>32 == tag && s != 0 {
			if ref := Ref(uint32(s) - 1); t.matches(ref, key, h) {
				if t.store != nil {
					return t.met(ref)
				}
				return ref
			}
		} else if s == 0 {
			break
		}
	}
	if t.store != nil {
		return t.fetch(hash, key, h)
	}
	return None
}

// matches says that ref has the key.
func (t *Table) matches(ref Ref, key []uint64, h *row.Heap) bool {
	r := t.rec(ref)
	if t.kw == 2 {
		if r[1] != key[1] || r[0] != key[0] {
			return false
		}
		if len(t.spec.Key.Vars) == 0 {
			return true
		}
	}
	return t.spec.Key.Equal(r[:t.kw], &t.heap, key, h)
}

// create makes a record for a key that is not there.
func (t *Table) create(hash uint64, key []uint64, h *row.Heap) Ref {
	if t.store != nil && t.store.ghost != None {
		return t.revive()
	}
	ref, r := t.newRecord(hash)
	t.spec.Key.Copy(r[:t.kw], &t.heap, key, h)
	t.index.insert(hash>>32, uint32(ref)+1)
	if t.store != nil {
		t.dirty(ref, r)
	}
	return ref
}

func (t *Table) newRecord(hash uint64) (Ref, []uint64) {
	var ref Ref
	var r []uint64
	if t.freed != 0 {
		ref = Ref(t.freed - 1)
		r = t.rec(ref)
		t.freed = uint32(r[t.meta] >> 32)
		clear(r)
	} else {
		if int(t.next>>t.recShift) == len(t.recs) {
			t.recs = append(t.recs, make([]uint64, t.stride<<t.recShift))
		}
		ref = Ref(t.next)
		t.next++
		r = t.rec(ref)
	}
	r[t.meta] = hash&^tagMask | flagLive | flagUsed
	t.live++
	return ref, r
}

// Remove removes the key with its payload and entries.
func (t *Table) Remove(ref Ref) {
	r := t.rec(ref)
	t.live--
	if t.store != nil && t.removeStored(ref, r) {
		return
	}
	t.index.remove(r[t.meta]>>32, uint32(ref)+1)
	t.freeRecord(ref, r)
}

func (t *Table) freeRecord(ref Ref, r []uint64) {
	if t.spec.Entry != nil {
		t.dropEntries(r)
	}
	t.spec.Key.Free(r, &t.heap)
	r[t.meta] = uint64(t.freed) << 32
	t.freed = uint32(ref) + 1
}

// Each calls f for every key until it says false. f must not change which keys
// there are, but may remove the one it is given. Keys that are in the store only
// are read for it.
func (t *Table) Each(f func(Ref) bool) {
	for id := range t.next {
		if t.rec(Ref(id))[t.meta]&flagLive != 0 && !f(Ref(id)) {
			return
		}
	}
	if t.store != nil && t.store.away > 0 {
		t.eachAway(f)
	}
}
