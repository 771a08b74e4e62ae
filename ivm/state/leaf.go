package state

import "github.com/vegadb/vega-flight/ivm/row"

// A leaf is a sorted block of entries: rows one behind the other and, in
// weighted classes only, their weights behind the last place for a row. Its ref
// is flags | class<<32 | block; how many entries it has is known to who holds
// the ref.
const (
	classShift = 32
	classDisk  = 0xff // the leaf is in the store only; the block is not used

	leafDirtyA = 1 << 48
	leafDirtyB = 1 << 49
	leafStored = 1 << 50
	leafUsed   = 1 << 51
	leafFlags  = 0xffff << 48
)

const leafWords = 192 // of the rows of the largest leaf: measured, a third better for random changes than 384

// leafCaps are the capacities of leaves of entries of ew words.
func leafCaps(ew int) []int {
	most := min(max(leafWords/max(ew, 1), 8), 128)
	caps := []int{2, 3}
	for c := 4; c < most; c *= 2 {
		caps = append(caps, c)
		if c+c/2 < most {
			caps = append(caps, c+c/2)
		}
	}
	return append(caps, most, most+most/2, 2*most)
}

// most is how many entries a leaf of a tree has at most; a key's only leaf may
// have twice as many, because a tree's first node is as large as that.
func (t *Table) most() int  { return t.caps[len(t.caps)-3] }
func (t *Table) alone() int { return t.caps[len(t.caps)-1] }

// capFor is the index of the smallest capacity that has n entries.
func (t *Table) capFor(n int) int {
	for i, c := range t.caps {
		if c >= n {
			return i
		}
	}
	return len(t.caps) - 1
}

func (t *Table) block(ref uint64) []uint64 {
	return t.arena.block(&t.slabs[ref>>classShift&0xff], uint32(ref))
}

func (t *Table) newLeaf(ci int, weighted bool) uint64 {
	class := 2 * ci
	if weighted {
		class++
	}
	return uint64(class)<<classShift | uint64(t.arena.alloc(&t.slabs[class]))
}

func (t *Table) freeLeaf(ref uint64) {
	if class := ref >> classShift & 0xff; class != classDisk {
		t.arena.free(&t.slabs[class], uint32(ref))
	}
}

// weights are a leaf's, or nil if all are 1.
func (t *Table) weights(ref uint64) []uint64 {
	class := int(ref >> classShift & 0xff)
	if class&1 == 0 {
		return nil
	}
	return t.block(ref)[t.caps[class>>1]*t.ew:]
}

// cmp orders an entry of the table and one from outside.
func (t *Table) cmp(a, b []uint64, h *row.Heap) int {
	if t.vars {
		return t.cmpVars(a, b, h)
	}
	a, b = a[:t.ew], b[:t.ew]
	for i := t.en; i < len(a); i++ {
		if a[i] != b[i] {
			if a[i] < b[i] {
				return -1
			}
			return 1
		}
	}
	return row.CompareWords(a[:t.en], b[:t.en])
}

func (t *Table) cmpVars(a, b []uint64, h *row.Heap) int {
	at := t.en
	for _, i := range t.spec.Entry.Vars {
		o := t.spec.Entry.Off[i]
		if c := row.CompareWords(a[at:o], b[at:o]); c != 0 {
			return c
		}
		if c := row.CompareVar(a[o], a[o+1], &t.heap, b[o], b[o+1], h); c != 0 {
			return c
		}
		at = o + 2
	}
	if c := row.CompareWords(a[at:t.ew], b[at:t.ew]); c != 0 {
		return c
	}
	return row.CompareWords(a[:t.en], b[:t.en])
}

// search is the place of the first of n entries that is not less than e, and
// whether it is e. It looks at the last first if it is the key's last: new entries often go there.
func (t *Table) search(b []uint64, n int, e []uint64, h *row.Heap, last bool) (pos int, found bool) {
	ew, en := t.ew, t.en
	if ew == 0 { // all entries are the same
		return 0, n > 0
	}
	e0 := e[en] & t.mask0
	lo, hi := 0, n
	if last && n > 0 {
		if c := t.cmp(b[(n-1)*ew:n*ew], e, h); c <= 0 {
			if c == 0 {
				return n - 1, true
			}
			return n, false
		}
		hi = n - 1
	}
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		o := m * ew
		switch x := b[o+en] & t.mask0; {
		case x < e0:
			lo = m + 1
		case x > e0:
			hi = m
		default:
			c := t.cmp(b[o:o+ew], e, h)
			if c == 0 {
				return m, true
			}
			if c < 0 {
				lo = m + 1
			} else {
				hi = m
			}
		}
	}
	return lo, false
}

// near is search, begun at a hint: the last of the entries whose first words are not above e's, or the first entry.
func (t *Table) near(b []uint64, n int, e []uint64, h *row.Heap, last bool, hint int) (pos int, found bool) {
	if hint < 0 || hint >= n {
		return t.search(b, n, e, h, last)
	}
	e0, o := e[t.en]&t.mask0, hint*t.ew
	switch x := b[o+t.en] & t.mask0; {
	case x < e0 && (hint+1 == n || b[o+t.ew+t.en]&t.mask0 > e0):
		return hint + 1, false
	case x == e0 && t.cmp(b[o:o+t.ew], e, h) == 0:
		return hint, true
	case x > e0 && hint == 0:
		return 0, false
	}
	return t.search(b, n, e, h, last)
}

// leafAdd adds a weight to an entry of the leaf at *ref, which has n. It does nothing if there are most and one more would come.
func (t *Table) leafAdd(ref *uint64, n, most int, e []uint64, h *row.Heap, w int64, last bool, hint int) (before, after int64, dn int, full bool) {
	b := t.block(*ref)
	pos, found := t.near(b, n, e, h, last, hint)
	if !found {
		if n >= most {
			return 0, 0, 0, true
		}
		t.insertAt(ref, n, pos, e, h, w)
		return 0, w, 1, false
	}
	before = 1
	ws := t.weights(*ref)
	if ws != nil {
		before = int64(ws[pos])
	}
	after = before + w
	switch {
	case after == 0:
		t.deleteAt(ref, n, pos)
		return before, 0, -1, false
	case ws != nil:
		ws[pos] = uint64(after)
	case after != 1:
		t.resize(ref, n, int(*ref>>classShift&0xff)>>1, true)
		t.weights(*ref)[pos] = uint64(after)
	}
	return before, after, 0, false
}

func (t *Table) insertAt(ref *uint64, n, pos int, e []uint64, h *row.Heap, w int64) {
	class := int(*ref >> classShift & 0xff)
	ci := class >> 1
	if n == t.caps[ci] {
		t.resize(ref, n, ci+1, w != 1)
	} else if w != 1 && class&1 == 0 {
		t.resize(ref, n, ci, true)
	}
	b, ew := t.block(*ref), t.ew
	copy(b[(pos+1)*ew:(n+1)*ew], b[pos*ew:n*ew])
	t.putEntry(b[pos*ew:pos*ew+ew], e, h)
	if ws := t.weights(*ref); ws != nil {
		copy(ws[pos+1:n+1], ws[pos:n])
		ws[pos] = uint64(w)
	}
}

func (t *Table) putEntry(dst, e []uint64, h *row.Heap) {
	if t.vars {
		t.spec.Entry.Copy(dst, &t.heap, e, h)
		return
	}
	copy(dst, e[:len(dst)])
}

func (t *Table) deleteAt(ref *uint64, n, pos int) {
	b, ew := t.block(*ref), t.ew
	if t.vars {
		t.spec.Entry.Free(b[pos*ew:pos*ew+ew], &t.heap)
	}
	copy(b[pos*ew:], b[(pos+1)*ew:n*ew])
	if ws := t.weights(*ref); ws != nil {
		copy(ws[pos:], ws[pos+1:n])
	}
	n--
	if ci := int(*ref>>classShift&0xff) >> 1; n > 0 && ci > 1 && n*3 < t.caps[ci] {
		t.resize(ref, n, t.capFor(n+n/2), false)
	}
}

// resize moves a leaf of n entries to another class: weighted if asked for or needed.
func (t *Table) resize(ref *uint64, n, ci int, weighted bool) {
	old, ws := t.block(*ref), t.weights(*ref)
	if !weighted && ws != nil {
		for _, w := range ws[:n] {
			weighted = weighted || w != 1
		}
	}
	moved := t.newLeaf(ci, weighted)
	copy(t.block(moved), old[:n*t.ew])
	if to := t.weights(moved); to != nil {
		if ws != nil {
			copy(to, ws[:n])
		} else {
			for i := range to[:n] {
				to[i] = 1
			}
		}
	}
	t.freeLeaf(*ref)
	*ref = *ref&leafFlags | moved
}

// freeRows gives back the long values of n rows.
func (t *Table) freeRows(b []uint64, n int) {
	if t.vars {
		for i := range n {
			t.spec.Entry.Free(b[i*t.ew:], &t.heap)
		}
	}
}
