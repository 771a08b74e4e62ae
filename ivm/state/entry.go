package state

import "github.com/vegadb/vega-flight/ivm/row"

// Len is the number of distinct entries of a key.
func (t *Table) Len(ref Ref) int { return int(t.rec(ref)[t.meta+metaCount] & countMask) }

// Total is the sum of the weights of a key's entries.
func (t *Table) Total(ref Ref) int64 { return int64(t.rec(ref)[t.meta+metaTotal]) }

// Add adds a weight to an entry of a key: an entry is there as long as its
// weight is not 0. It gives the weight before and after.
func (t *Table) Add(ref Ref, e []uint64, h *row.Heap, w int64) (before, after int64) {
	r := t.rec(ref)
	if t.store != nil {
		t.dirty(ref, r)
	}
	if w == 0 {
		w := t.Weight(ref, e, h)
		return w, w
	}
	m := r[t.meta:]
	hint := t.hints.take(ref)
	switch m[metaCount] >> heightShift {
	case 0:
		return t.addSmall(m, e, h, w)
	case 1:
		return t.addLeaf(r, m, e, h, w, hint)
	}
	return t.addTree(r, m, e, h, w, hint)
}

// addSmall adds to a key with no entries or one in its record.
func (t *Table) addSmall(m []uint64, e []uint64, h *row.Heap, w int64) (before, after int64) {
	if m[metaCount] == 0 {
		m[metaTotal] = uint64(w)
		if t.inline {
			m[metaCount] = 1
			t.putEntry(m[metaArea:metaArea+t.ew], e, h)
			return 0, w
		}
		m[metaCount] = 1<<heightShift | 1
		m[metaArea] = t.newLeaf(0, w != 1)
		t.insertAt(&m[metaArea], 0, 0, e, h, w)
		return 0, w
	}
	before = int64(m[metaTotal])
	only := m[metaArea : metaArea+t.ew]
	if t.cmp(only, e, h) == 0 {
		after = before + w
		m[metaTotal] = uint64(after)
		if after == 0 {
			m[metaCount] = 0
			if t.vars {
				t.spec.Entry.Free(only, &t.heap)
			}
			clear(only)
		}
		return before, after
	}
	leaf := t.newLeaf(0, before != 1)
	b := t.block(leaf)
	copy(b, only)
	if ws := t.weights(leaf); ws != nil {
		ws[0] = uint64(before)
	}
	clear(only)
	m[metaCount] = 1 << heightShift
	m[metaArea] = leaf
	before, after, dn, _ := t.leafAdd(&m[metaArea], 1, t.alone(), e, h, w, true, -1)
	m[metaCount] += uint64(1 + dn)
	m[metaTotal] += uint64(w)
	return before, after
}

// addLeaf adds to a key whose entries are one leaf.
func (t *Table) addLeaf(r, m []uint64, e []uint64, h *row.Heap, w int64, hint int) (before, after int64) {
	n := int(m[metaCount] & countMask)
	before, after, dn, full := t.leafAdd(&m[metaArea], n, t.alone(), e, h, w, true, hint)
	if full {
		t.plant(m, n)
		return t.addTree(r, m, e, h, w, -1)
	}
	m[metaCount] += uint64(dn)
	m[metaTotal] += uint64(w)
	if dn < 0 && n <= 2 {
		t.unleaf(m, n-1)
	}
	return before, after
}

// unleaf takes the last entry back into the record.
func (t *Table) unleaf(m []uint64, n int) {
	leaf := m[metaArea]
	if n == 1 {
		if !t.inline {
			return
		}
		b := t.block(leaf)
		copy(m[metaArea:], b[:t.ew])
	} else {
		m[metaArea] = 0
	}
	t.freeLeaf(leaf)
	m[metaCount] = uint64(n)
}

// Weight is the weight of an entry, 0 if it is not there.
func (t *Table) Weight(ref Ref, e []uint64, h *row.Heap) int64 {
	r := t.here(ref)
	m := r[t.meta:]
	leaf, n := m[metaArea], int(m[metaCount]&countMask)
	switch height := int(m[metaCount] >> heightShift); height {
	case 0:
		if n == 0 || t.cmp(m[metaArea:metaArea+t.ew], e, h) != 0 {
			return 0
		}
		return int64(m[metaTotal])
	case 1:
	default:
		in := t.node(uint32(leaf))
		for ; height > 2; height-- {
			in = t.node(uint32(slotOf(in, t.child(in, height, e, h))[slotRef]))
		}
		s := slotOf(in, t.child(in, 2, e, h))
		leaf, n = t.resident(r, s), int(uint32(s[slotCount]))
	}
	pos, found := t.search(t.block(leaf), n, e, h, false)
	if !found {
		return 0
	}
	if ws := t.weights(leaf); ws != nil {
		return int64(ws[pos])
	}
	return 1
}

// Clear drops all entries of a key.
func (t *Table) Clear(ref Ref) {
	r := t.rec(ref)
	if t.store != nil {
		t.dirty(ref, r)
		t.buryLeaves(r)
	}
	t.dropEntries(r)
}

func (t *Table) dropEntries(r []uint64) {
	m := r[t.meta:]
	n := int(m[metaCount] & countMask)
	switch height := int(m[metaCount] >> heightShift); height {
	case 0:
		t.freeRows(m[metaArea:], n)
	case 1:
		t.freeRows(t.block(m[metaArea]), n)
		t.freeLeaf(m[metaArea])
	default:
		t.fell(uint32(m[metaArea]), height)
	}
	clear(m[metaCount:])
}
