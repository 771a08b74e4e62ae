package state

import "github.com/vegadb/vega-flight/ivm/row"

// A key with more entries than a leaf holds has a counted B+ tree: inner nodes
// have up to fan slots, each with a child, how many entries and which sum of
// weights are below it, and a separator.
//
// A separator is the masked first word of the least entry that was below the
// child when it was made. Entries may go, so it may be too low, which is
// harmless; where it equals the first word of what is looked for, the child's
// least entry decides. Slot 0's is not looked at.
const (
	fan        = 48
	slotWords  = 3
	slotRef    = 0 // leaf's ref at height 2, else flags | inner block
	slotCount  = 1 // leaf's number in the store<<32 | entries
	slotTotal  = 2
	slots      = 1 + fan // an inner node is the number of slots, their separators, and they
	innerWords = slots + fan*slotWords
)

func (t *Table) node(id uint32) []uint64 { return t.arena.block(&t.nodes, id) }
func (t *Table) newNode() uint32         { return t.arena.alloc(&t.nodes) }
func (t *Table) freeNode(id uint32)      { t.arena.free(&t.nodes, id) }

func slotOf(in []uint64, i int) []uint64 {
	o := slots + slotWords*i
	return in[o : o+slotWords : o+slotWords]
}

// child is the slot that e belongs to.
func (t *Table) child(in []uint64, height int, e []uint64, h *row.Heap) int {
	e0 := e[t.en] & t.mask0
	lo, hi := 1, int(in[0]) // the first slot in [1, n) whose entries are all greater
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if sep := in[1+m]; sep < e0 || sep == e0 && t.cmp(t.least(slotOf(in, m), height-1), e, h) <= 0 {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo - 1
}

// least is the least entry below a slot whose child has the height.
func (t *Table) least(s []uint64, height int) []uint64 {
	for ; height > 1; height-- {
		s = slotOf(t.node(uint32(s[slotRef])), 0)
	}
	if t.store != nil {
		return t.block(t.resident(t.store.at, s))
	}
	return t.block(s[slotRef])
}

// plant makes a tree of a key whose only leaf is full.
func (t *Table) plant(m []uint64, n int) {
	i := t.newNode()
	in := t.node(i)
	in[0] = 1
	s := slotOf(in, 0)
	s[slotRef] = m[metaArea] &^ leafFlags
	s[slotCount] = t.newLeafID() | uint64(n)
	s[slotTotal] = m[metaTotal]
	in[1] = t.block(m[metaArea])[t.en] & t.mask0
	t.touch(s)
	m[metaArea] = uint64(i)
	m[metaCount] = 2<<heightShift | uint64(n)
	t.splitAt(in, 0, n/2)
}

// addTree adds to a key that has a tree.
func (t *Table) addTree(r, m []uint64, e []uint64, h *row.Heap, w int64, hint int) (before, after int64) {
	height := int(m[metaCount] >> heightShift)
	in := t.node(uint32(m[metaArea]))
	if in[0] == fan {
		i := t.newNode()
		top := t.node(i)
		top[0] = 1
		s := slotOf(top, 0)
		s[slotRef], s[slotCount], s[slotTotal], top[1] = m[metaArea], m[metaCount]&countMask, m[metaTotal], in[1]
		t.touch(s)
		t.splitInner(top, 0)
		height++
		in = top
		m[metaArea] = uint64(i)
		m[metaCount] += 1 << heightShift
	}
	before, after, dn := t.addInner(r, in, height, e, h, w, hint)
	m[metaCount] += uint64(dn)
	m[metaTotal] += uint64(w)
	for dn < 0 && height >= 2 && in[0] == 1 {
		s := slotOf(in, 0)
		old := uint32(m[metaArea])
		height--
		if height == 1 {
			t.resident(r, s)
			t.buryLeaf(r, s)
			m[metaArea] = s[slotRef] &^ leafFlags
		} else {
			m[metaArea] = uint64(uint32(s[slotRef]))
			in = t.node(uint32(m[metaArea]))
		}
		m[metaCount] -= 1 << heightShift
		t.freeNode(old)
	}
	return before, after
}

// addInner adds below an inner node that has room for one more slot.
func (t *Table) addInner(r, in []uint64, height int, e []uint64, h *row.Heap, w int64, hint int) (before, after int64, dn int) {
	i := t.child(in, height, e, h)
	s := slotOf(in, i)
	if height == 2 {
		t.resident(r, s)
		var full bool
		n := int(uint32(s[slotCount]))
		if before, after, dn, full = t.leafAdd(&s[slotRef], n, t.most(), e, h, w, i+1 == int(in[0]), hint); full {
			t.splitLeaf(in, i, e, h)
			i = t.child(in, height, e, h)
			s = slotOf(in, i)
			n = int(uint32(s[slotCount]))
			before, after, dn, _ = t.leafAdd(&s[slotRef], n, t.most(), e, h, w, false, -1)
		}
		t.count(s, dn, w)
		if dn < 0 {
			t.mendLeaves(r, in, i, n-1)
		}
		return before, after, dn
	}
	c := t.node(uint32(s[slotRef]))
	if c[0] == fan {
		t.splitInner(in, i)
		i = t.child(in, height, e, h)
		s = slotOf(in, i)
		c = t.node(uint32(s[slotRef]))
	}
	before, after, dn = t.addInner(r, c, height-1, e, h, w, hint)
	t.count(s, dn, w)
	if dn < 0 {
		t.mendInners(in, i, int(c[0]))
	}
	return before, after, dn
}

func (t *Table) count(s []uint64, dn int, w int64) {
	s[slotCount] += uint64(dn)
	s[slotTotal] += uint64(w)
	t.touch(s)
}

// openSlot makes room for slot i and gives it, cleared.
func openSlot(in []uint64, i int) []uint64 {
	n := int(in[0])
	copy(in[1+i+1:1+n+1], in[1+i:1+n])
	copy(in[slots+slotWords*(i+1):slots+slotWords*(n+1)], in[slots+slotWords*i:slots+slotWords*n])
	in[0]++
	s := slotOf(in, i)
	clear(s)
	return s
}

func closeSlot(in []uint64, i int) {
	n := int(in[0])
	copy(in[1+i:], in[1+i+1:1+n])
	copy(in[slots+slotWords*i:], in[slots+slotWords*(i+1):slots+slotWords*n])
	in[0]--
}

// splitLeaf splits a full leaf: in the middle, or near the end at which entries come.
func (t *Table) splitLeaf(in []uint64, i int, e []uint64, h *row.Heap) {
	s := slotOf(in, i)
	n := int(uint32(s[slotCount]))
	old := t.block(s[slotRef])
	at := n / 2
	if pos, _ := t.search(old, n, e, h, true); pos == n {
		at = n - max(n/8, 1)
	} else if pos == 0 {
		at = max(n/8, 1)
	}
	t.splitAt(in, i, at)
}

// splitAt leaves at entries in the leaf of slot i and puts the others into a new one.
func (t *Table) splitAt(in []uint64, i, at int) {
	s := slotOf(in, i)
	n := int(uint32(s[slotCount]))
	old, ws := t.block(s[slotRef]), t.weights(s[slotRef])
	right := t.newLeaf(t.capFor(min(n-at+1, t.most())), ws != nil)
	b := t.block(right)
	copy(b, old[at*t.ew:n*t.ew])
	moved := int64(n - at)
	if ws != nil {
		to := t.weights(right)
		copy(to, ws[at:n])
		moved = 0
		for _, w := range to[:n-at] {
			moved += int64(w)
		}
	}
	if ci := t.capFor(min(at+1, t.most())); t.caps[ci] < t.caps[s[slotRef]>>classShift&0xff>>1] {
		t.resize(&s[slotRef], at, ci, false)
	}
	s[slotCount] -= uint64(n - at)
	s[slotTotal] -= uint64(moved)
	t.touch(s)
	s = openSlot(in, i+1)
	s[slotRef] = right
	s[slotCount] = t.newLeafID() | uint64(n-at)
	s[slotTotal] = uint64(moved)
	in[1+i+1] = b[t.en] & t.mask0
	t.touch(s)
}

// splitInner splits the full inner node of slot i.
func (t *Table) splitInner(in []uint64, i int) {
	s := slotOf(in, i)
	left := t.node(uint32(s[slotRef]))
	id := t.newNode()
	right := t.node(id)
	const at = fan / 2
	copy(right[1:], left[1+at:1+fan])
	copy(right[slots:], left[slots+slotWords*at:])
	left[0], right[0] = at, fan-at
	var n, total uint64
	for j := range fan - at {
		n += uint64(uint32(slotOf(right, j)[slotCount]))
		total += slotOf(right, j)[slotTotal]
	}
	s[slotCount] -= n
	s[slotTotal] -= total
	flags := s[slotRef] & leafFlags
	s = openSlot(in, i+1)
	s[slotRef], s[slotCount], s[slotTotal], in[1+i+1] = flags|uint64(id), n, total, right[1]
}

// mendLeaves removes an empty leaf, or puts a small one together with its neighbour.
func (t *Table) mendLeaves(r, in []uint64, i, n int) {
	if n == 0 {
		s := slotOf(in, i)
		t.freeLeaf(s[slotRef])
		t.buryLeaf(r, s)
		closeSlot(in, i)
		return
	}
	if n > t.most()/4 || in[0] == 1 {
		return
	}
	if i+1 == int(in[0]) {
		i--
	}
	a, b := slotOf(in, i), slotOf(in, i+1)
	na, nb := int(uint32(a[slotCount])), int(uint32(b[slotCount]))
	if na+nb > t.most()*5/8 || a[slotRef]>>classShift&0xff == classDisk || b[slotRef]>>classShift&0xff == classDisk {
		return
	}
	wa, wb := t.weights(a[slotRef]), t.weights(b[slotRef])
	t.resize(&a[slotRef], na, t.capFor(min(na+nb+1, t.most())), wa != nil || wb != nil)
	copy(t.block(a[slotRef])[na*t.ew:], t.block(b[slotRef])[:nb*t.ew])
	if ws := t.weights(a[slotRef]); ws != nil {
		for j := range nb {
			ws[na+j] = 1
			if wb != nil {
				ws[na+j] = wb[j]
			}
		}
	}
	a[slotCount] += uint64(nb)
	a[slotTotal] += b[slotTotal]
	t.touch(a)
	t.freeLeaf(b[slotRef])
	t.buryLeaf(r, b)
	closeSlot(in, i+1)
}

func (t *Table) mendInners(in []uint64, i, n int) {
	if n == 0 {
		t.freeNode(uint32(slotOf(in, i)[slotRef]))
		closeSlot(in, i)
		return
	}
	if n > fan/4 || in[0] == 1 {
		return
	}
	if i+1 == int(in[0]) {
		i--
	}
	a, b := slotOf(in, i), slotOf(in, i+1)
	ca, cb := t.node(uint32(a[slotRef])), t.node(uint32(b[slotRef]))
	if ca[0]+cb[0] > fan*5/8 {
		return
	}
	na, nb := int(ca[0]), int(cb[0])
	copy(ca[1+na:], cb[1:1+nb])
	ca[1+na] = in[1+i+1] // slot 0's own may have become too high
	copy(ca[slots+slotWords*na:], cb[slots:slots+slotWords*nb])
	ca[0] += cb[0]
	a[slotCount] += uint64(uint32(b[slotCount]))
	a[slotTotal] += b[slotTotal]
	a[slotRef] |= b[slotRef] & leafFlags
	t.freeNode(uint32(b[slotRef]))
	closeSlot(in, i+1)
}

// fell frees an inner node and all below it.
func (t *Table) fell(id uint32, height int) {
	in := t.node(id)
	for i := range int(in[0]) {
		s := slotOf(in, i)
		if height > 2 {
			t.fell(uint32(s[slotRef]), height-1)
			continue
		}
		if s[slotRef]>>classShift&0xff == classDisk {
			continue
		}
		t.freeRows(t.block(s[slotRef]), int(uint32(s[slotCount])))
		t.freeLeaf(s[slotRef])
	}
	t.freeNode(id)
}
