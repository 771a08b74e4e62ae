package state

// used is how many bytes the table uses of what it has taken.
func (t *Table) used() int {
	n := 8*t.stride*(t.live) + t.index.bytes() + 8*t.arena.used + t.heap.Size()
	if t.store != nil {
		n += 8 * t.stride * t.store.ghosts
	}
	return n
}

// Used is how many bytes of [Table.Bytes] are in use; what Trim bounds.
func (t *Table) Used() int { return t.used() }

// Trim drops keys and blocks that the store has as they are, those that were not
// used lately first, until no more than budget bytes are in use; they are read
// again when they are asked for. It does nothing while a checkpoint is in
// flight ([Store.Settle]). Refs and slices of the table end with it.
func (t *Table) Trim(budget int) {
	b := t.store
	if b == nil {
		return
	}
	if b.s.flight != nil || t.used() <= budget || t.next == 0 {
		return
	}
	budget -= budget / 8 // so that it is not called for every row
	evicted := 0
	for range 2 * t.next {
		if b.hand >= t.next {
			b.hand = 0
		}
		ref := Ref(b.hand)
		b.hand++
		r := t.rec(ref)
		f := r[t.meta]
		if f&flagLive == 0 {
			continue
		}
		height := 0
		if t.ew > 0 {
			height = int(r[t.meta+metaCount] >> heightShift)
		}
		// The inner nodes of a tall tree stay: they are a fiftieth of it, and made only by reading all of it.
		if f&(flagUsed|b.dirty) != 0 || f&flagStored == 0 || height > 2 {
			r[t.meta] = f &^ flagUsed
			if height > 1 {
				t.dropLeaves(uint32(r[t.meta+metaArea]), height)
			}
		} else {
			t.evict(ref, r)
			evicted++
		}
		if evicted&1023 == 1023 || height > 1 || f&flagUsed != 0 {
			if t.used() <= budget {
				break
			}
		}
	}
	t.index.shrink()
}

// evict forgets a key that the store has as it is.
func (t *Table) evict(ref Ref, r []uint64) {
	t.index.remove(r[t.meta]>>32, uint32(ref)+1)
	t.live--
	t.store.away++
	t.freeRecord(ref, r)
}

// dropLeaves drops the leaves of a tree that the store has and that were not used lately.
func (t *Table) dropLeaves(id uint32, height int) {
	in := t.node(id)
	for i := range int(in[0]) {
		s := slotOf(in, i)
		if height > 2 {
			t.dropLeaves(uint32(s[slotRef]), height-1)
			continue
		}
		switch f := s[slotRef]; {
		case f&leafUsed != 0:
			s[slotRef] = f &^ leafUsed
		case f>>classShift&0xff != classDisk && f&leafStored != 0 && f&(leafDirtyA|leafDirtyB) == 0:
			t.dropLeaf(s)
		}
	}
}

func (t *Table) dropLeaf(s []uint64) {
	t.freeRows(t.block(s[slotRef]), int(uint32(s[slotCount])))
	t.freeLeaf(s[slotRef])
	s[slotRef] = s[slotRef]&leafFlags&^leafUsed | classDisk<<classShift
}
