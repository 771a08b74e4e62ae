package state

// Window is how many keys are worth warming at once: so many cache misses can be under way.
const Window = 32

// warmth is how far the reads for one key have come.
type warmth struct {
	height uint64
	root   uint64 // of what is left to go down
	block  []uint64
	from   int // entries of the leaf among which the place is
	n      int
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
	}
	t.warmed = sum
}

// approach does the binary searches in the leaves, by the entries' first words, a step of each at a time.
func (t *Table) approach(at []warmth, rows []uint64) (sum uint64) {
	for more := true; more; {
		more = false
		for i := range at {
			x := &at[i]
			if x.n < 2 {
				continue
			}
			half := x.n >> 1
			word := x.block[(x.from+half)*t.ew+t.en] & t.mask0
			if word <= rows[i*t.ew+t.en]&t.mask0 {
				x.from += half
			}
			sum += word
			x.n -= half
			more = true
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
