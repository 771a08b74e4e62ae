package state

// Window is how many keys are worth warming at once: so many cache misses can be under way.
const Window = 32

// warmth is how far the reads for one key have come.
type warmth struct {
	height uint64
	root   uint64 // of what is left to go down
	block  []uint64
	want   uint64
	from   int // entries of the leaf among which the place is
	n      int
}

// hints are where Warm has found the places of rows, for the Adds that follow in the same order. What is there decides: a hint may be
// of a leaf that has changed since, or of a key that has gone.
type hints struct {
	refs    [Window]Ref
	at      [Window]int32
	next, n int
}

// take is the hint for a key, or -1.
func (h *hints) take(ref Ref) int {
	if h.next == h.n {
		return -1
	}
	k := h.next
	h.next++
	if h.refs[k] != ref {
		h.n = h.next // the Adds are others
		return -1
	}
	return int(h.at[k])
}

// Warm reads what Add of rows to the keys is going to read, one step for all keys before the next, so that their cache
// misses overlap; it changes nothing. rows has one entry for each key. Without rows, it reads what First and Last are
// going to. Call it for Window keys at a time, or as many as there will be, just before they are needed.
func (t *Table) Warm(refs []Ref, rows []uint64) {
	if t.ew == 0 {
		return
	}
	for len(refs) > Window {
		k := Window
		if rows == nil {
			t.warm(refs[:k], nil)
		} else {
			t.warm(refs[:k], rows[:k*t.ew])
			rows = rows[k*t.ew:]
		}
		refs = refs[k:]
	}
	t.warm(refs, rows)
}

func (t *Table) warm(refs []Ref, rows []uint64) {
	var all [Window]warmth
	at := all[:len(refs)]
	down := false
	for i, ref := range refs {
		m := t.rec(ref)[t.meta:]
		x := &at[i]
		x.height, x.root, x.n = m[metaCount]>>heightShift, m[metaArea], int(uint32(m[metaCount]))
		down = down || x.height > 1
	}
	for down {
		down = false
		for i := range at {
			x := &at[i]
			if x.height < 2 {
				continue
			}
			in := t.node(uint32(x.root))
			k := 0
			if rows != nil {
				k = separated(in[1:1+in[0]], rows[i*t.ew+t.en]&t.mask0)
			}
			s := slotOf(in, k)
			x.height--
			x.root, x.n = s[slotRef], int(uint32(s[slotCount]))
			down = down || x.height > 1
		}
	}
	sum := uint64(0)
	for i := range at {
		x := &at[i]
		if x.height == 0 || x.root>>classShift&0xff == classDisk {
			x.n = 0
			continue
		}
		x.block = t.block(x.root)
		if rows == nil && x.n > 0 {
			sum += x.block[0] + x.block[x.n*t.ew-1]
		}
	}
	if rows != nil {
		sum = t.approach(at, rows)
		t.hints.next, t.hints.n = 0, len(refs)
		copy(t.hints.refs[:], refs)
		for i := range at {
			t.hints.at[i] = int32(at[i].from)
		}
	}
	t.warmed = sum
}

// approach does the binary searches in the leaves, by the entries' first words, a step of each at a time.
func (t *Table) approach(at []warmth, rows []uint64) (sum uint64) {
	most, ew := 0, t.ew
	for i := range at {
		x := &at[i]
		x.want = rows[i*ew+t.en] & t.mask0
		most = max(most, x.n)
		if x.n > 0 {
			x.block = x.block[t.en : x.n*ew] // of each entry, its first word comes first
		}
	}
	for ; most > 1; most -= most >> 1 {
		for i := range at {
			x := &at[i]
			if x.n < 2 {
				continue
			}
			half := x.n >> 1
			word := x.block[(x.from+half)*ew] & t.mask0
			step := 0
			if word <= x.want {
				step = half
			}
			x.from += step
			sum += word
			x.n -= half
		}
	}
	for i := range at { // an insertion and a removal move what is behind
		x := &at[i]
		for o := x.from * ew; o < len(x.block); o += 8 {
			sum += x.block[o]
		}
	}
	return sum
}

// separated is the last of some separators, but for the first, that is not above a first word.
func separated(separators []uint64, word uint64) int {
	lo, n := 0, len(separators)
	for n > 1 {
		half := n >> 1
		if separators[lo+half] <= word {
			lo += half
		}
		n -= half
	}
	return lo
}
