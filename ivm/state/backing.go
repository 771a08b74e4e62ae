package state

import (
	"encoding/binary"

	"github.com/vegadb/vega-flight/ivm/zset"
)

// backing is what a table over a store knows beside its memory.
//
// A change is marked in the record, and in the slots from a tree's root to the
// leaf, by the dirty bit of the current generation, and the record is listed. A
// capture takes the list and turns to the other bit: from then on a record with
// the captured bit is written to the checkpoint either when the checkpoint's
// turn comes to it (Drain) or just before it is changed, whichever is first.
// So a checkpoint has every key as it was when it was captured, and the
// pipeline never waits for it.
type backing struct {
	s      *Store
	prefix []byte // of all its keys in the store, without the group
	from   int    // the first of its groups
	to     int    // and behind the last
	name   string

	parted  bool     // it has not all groups
	leading *leading // what decides a key's group, if it is not the whole key

	dirty, captured         uint64 // the bits of the generations in records
	leafDirty, leafCaptured uint64 // and in slots
	list                    []Ref  // records with the dirty bit, more than once if they were removed meanwhile
	tombs                   []byte // operations that remove leaves, for the next checkpoint
	away                    int    // keys that are in the store only
	ghosts                  int    // records of removed keys that the store still has
	ghost                   Ref    // the one that the last lookup met, or None
	at                      []uint64
	hand                    uint32 // of Trim's clock
	leaves                  uint32 // numbers of leaves that were given
	key, val                []byte
	scratch                 *zset.Batch
	given                   *filling
	part                    *part // what the checkpoint in flight has of the table
	err                     error
}

// Err is the first error of the store that the table met; its content is not to be used then.
func (t *Table) Err() error {
	if t.store == nil {
		return nil
	}
	return t.store.err
}

func (b *backing) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// dirty is called before a record is changed.
func (t *Table) dirty(ref Ref, r []uint64) {
	t.store.at = r
	if r[t.meta]&t.store.dirty == 0 {
		t.makeDirty(ref, r)
	}
}

func (t *Table) makeDirty(ref Ref, r []uint64) {
	b := t.store
	if r[t.meta]&b.captured != 0 {
		t.write(b.s.flight, ref, r)
	}
	r[t.meta] |= b.dirty
	b.list = append(b.list, ref)
}

// touch marks a slot as changed.
func (t *Table) touch(s []uint64) {
	if t.store != nil {
		s[slotRef] |= t.store.leafDirty
	}
}

// newLeafID is a number for a leaf, in its place in a slot.
func (t *Table) newLeafID() uint64 {
	if t.store == nil {
		return 0
	}
	t.store.leaves++
	return uint64(t.store.leaves) << 32
}

// buryLeaf removes a leaf from the next checkpoint.
func (t *Table) buryLeaf(r, s []uint64) {
	if t.store != nil && s[slotRef]&leafStored != 0 {
		b := t.store
		b.key = t.appendLeafKey(t.appendKey(b.key[:0], r), s)
		b.tombs = appendDelete(b.tombs, b.key)
	}
}

// buryLeaves removes all leaves of a record.
func (t *Table) buryLeaves(r []uint64) {
	if t.ew == 0 {
		return
	}
	m := r[t.meta:]
	if height := int(m[metaCount] >> heightShift); height > 1 {
		t.buryBelow(r, uint32(m[metaArea]), height)
	}
}

func (t *Table) buryBelow(r []uint64, id uint32, height int) {
	in := t.node(id)
	for i := range int(in[0]) {
		if s := slotOf(in, i); height > 2 {
			t.buryBelow(r, uint32(s[slotRef]), height-1)
		} else {
			t.buryLeaf(r, s)
		}
	}
}

// removeStored removes a key of a table over a store. If the store has the key,
// the record stays as a ghost until a checkpoint without it is written: the
// store must not be asked for the key before.
func (t *Table) removeStored(ref Ref, r []uint64) (freed bool) {
	b := t.store
	if r[t.meta]&b.captured != 0 {
		t.write(b.s.flight, ref, r)
	}
	t.buryLeaves(r)
	if r[t.meta]&flagStored == 0 {
		return false
	}
	t.dirty(ref, r)
	if t.spec.Entry != nil {
		t.dropEntries(r)
	}
	clear(r[t.kw:t.meta])
	r[t.meta] &^= flagLive
	b.ghosts++
	return true
}

// revive makes the ghost that the last lookup met a new key.
func (t *Table) revive() Ref {
	b := t.store
	ref := b.ghost
	r := t.rec(ref)
	b.ghosts--
	t.live++
	t.dirty(ref, r)
	r[t.meta] |= flagLive | flagUsed
	return ref
}

// appendKey appends the store's key of a record.
func (t *Table) appendKey(dst []byte, r []uint64) []byte {
	dst = append(dst, t.store.prefix...)
	dst = append(dst, byte(t.groupOf(r)))
	return t.spec.Key.AppendBytes(dst, r[:t.kw], &t.heap)
}

// appendLeafKey makes a leaf's key of its record's.
func (t *Table) appendLeafKey(key []byte, s []uint64) []byte {
	return binary.BigEndian.AppendUint32(key, uint32(s[slotCount]>>32))
}

// Operations of a checkpoint are bytes: lengths of key and value, the latter
// deleteOp for a removal, key, value.
const groupAt = 3 // place of the group in a key

const deleteOp = ^uint32(0)

func appendDelete(ops, key []byte) []byte {
	ops = binary.LittleEndian.AppendUint32(ops, uint32(len(key)))
	ops = binary.LittleEndian.AppendUint32(ops, deleteOp)
	return append(ops, key...)
}

func appendSet(ops, key, val []byte) []byte {
	ops = binary.LittleEndian.AppendUint32(ops, uint32(len(key)))
	ops = binary.LittleEndian.AppendUint32(ops, uint32(len(val)))
	return append(append(ops, key...), val...)
}

// nextOp reads the first operation; val is nil for a removal.
func nextOp(ops []byte) (key, val, rest []byte) {
	n, m := binary.LittleEndian.Uint32(ops), binary.LittleEndian.Uint32(ops[4:])
	key, rest = ops[8:8+n], ops[8+n:]
	if m != deleteOp {
		val, rest = rest[:m:m], rest[m:]
	}
	return key, val, rest
}
