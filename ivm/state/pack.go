package state

import (
	"cmp"
	"slices"
)

// Pack puts into the keys what Fill took. Entries of keys that have none yet are sorted and packed into blocks.
func (t *Table) Pack() {
	f := t.filling
	if f == nil {
		return
	}
	t.filling = nil
	if int(t.next) > 4*f.rows+1024 {
		t.packFew(f)
		return
	}
	starts := make([]uint32, t.next+1)
	for i := range f.pieces {
		for _, r := range f.pieces[i].refs {
			starts[r+1]++
		}
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	order := make([]uint32, f.rows)
	for k := range f.pieces {
		for i, r := range f.pieces[k].refs {
			order[starts[r]] = uint32(k<<pieceShift | i)
			starts[r]++
		}
	}
	from := uint32(0)
	for r, to := range starts[:t.next] { // each is now where the next one began
		if from < to {
			t.packKey(f, Ref(r), order[from:to])
			from = to
		}
	}
}

// packFew packs few rows into a table of many keys.
func (t *Table) packFew(f *filling) {
	order := make([]uint32, 0, f.rows)
	for k := range f.pieces {
		for i := range f.pieces[k].refs {
			order = append(order, uint32(k<<pieceShift|i))
		}
	}
	of := func(i uint32) Ref { return f.pieces[i>>pieceShift].refs[i&(pieceRows-1)] }
	slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(of(a), of(b)) })
	for from := 0; from < len(order); {
		ref, to := of(order[from]), from+1
		for to < len(order) && of(order[to]) == ref {
			to++
		}
		t.packKey(f, ref, order[from:to])
		from = to
	}
}

// packKey adds the rows of a key.
func (t *Table) packKey(f *filling, ref Ref, order []uint32) {
	r := t.rec(ref)
	m := r[t.meta:]
	if len(order) == 1 && m[metaCount] == 0 && t.inline && t.store == nil {
		if w := f.weight(order[0]); w != 0 {
			m[metaCount], m[metaTotal] = 1, uint64(w)
			copy(m[metaArea:metaArea+t.ew], f.entry(t, order[0]))
		}
		return
	}
	places := f.sorted(t, order)
	if m[metaCount] != 0 {
		for _, p := range places {
			e := f.entry(t, p.row)
			t.Add(ref, e, &t.heap, f.weight(p.row))
			t.freeRows(e, 1)
		}
		return
	}
	if t.store != nil {
		t.dirty(ref, r)
	}
	t.pack(m, places, f)
}

// sorted are the rows of a key in the order of entries.
func (f *filling) sorted(t *Table, order []uint32) []place {
	f.places = slices.Grow(f.places[:0], len(order))
	ordered, last, varies := true, uint64(0), uint64(0)
	for k, i := range order {
		word := t.first(f.entry(t, i))
		f.places = append(f.places, place{word, i})
		if k > 0 {
			ordered = ordered && word > last
			varies |= word ^ last
		}
		last = word
	}
	ps := f.places
	if ordered || t.ew == 0 {
		return ps
	}
	whole := func(a, b place) int {
		switch {
		case a.word < b.word:
			return -1
		case a.word > b.word:
			return 1
		case t.alike(a.word):
			return 0
		}
		return t.cmp(f.entry(t, a.row), f.entry(t, b.row), &t.heap)
	}
	bytes := 0
	for v := varies; v != 0; v >>= 8 {
		if v&0xff != 0 {
			bytes++
		}
	}
	if len(ps) < 24*bytes {
		slices.SortFunc(ps, whole)
		return ps
	}
	f.radix(varies)
	ps = f.places
	for from := 0; from < len(ps); {
		to := from + 1
		for to < len(ps) && ps[to].word == ps[from].word {
			to++
		}
		if to-from > 1 && !t.alike(ps[from].word) {
			slices.SortFunc(ps[from:to], whole)
		}
		from = to
	}
	return ps
}

// first is what orders an entry by itself, as far as it goes.
func (t *Table) first(e []uint64) uint64 {
	if t.ew == t.en {
		return 0
	}
	return e[t.en] & t.mask0
}

// alike says that entries whose first word is this one are equal: there is nothing else in them, and none is NULL.
func (t *Table) alike(word uint64) bool { return t.ew == t.en+1 && word != 0 }

// radix sorts places by the bytes of their words that vary.
func (f *filling) radix(varies uint64) {
	f.spare = slices.Grow(f.spare[:0], len(f.places))[:len(f.places)]
	for shift := 0; shift < 64; shift += 8 {
		if varies>>shift&0xff == 0 {
			continue
		}
		var starts [257]uint32
		for _, p := range f.places {
			starts[p.word>>shift&0xff+1]++
		}
		for i := 1; i < len(starts); i++ {
			starts[i] += starts[i-1]
		}
		for _, p := range f.places {
			b := p.word >> shift & 0xff
			f.spare[starts[b]] = p
			starts[b]++
		}
		f.places, f.spare = f.spare, f.places
	}
}
