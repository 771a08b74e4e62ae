package main

// pairs is the joins. A customer and its orders are one record behind one look-up: what changes of customers gives is found with the
// orders as they were, then the orders' changes with the customers as they are.
type pairs struct {
	shape   shape
	keys    *numbers
	groups  []pairGroup
	orders  runs // of each group: ids, then amounts
	was     []pairGroup
	touched []int32
	found   [lookahead]int32
	now     int32

	totals *totals // of W2b
}

type shape uint8

const (
	joined   shape = iota // region, id, amt
	padded                // id, cid, amt, region, whether region is NULL
	totalled              // region, sum
)

type pairGroup struct {
	key, region int64
	at          uint32
	n           int32
	stamp       int32
	class       uint8
	there       bool // the customer
}

func newPairs(s shape) *pairs { return &pairs{shape: s, keys: newNumbers(), totals: newTotals()} }

const firstClass64 = 5 // the smallest run holds 2^4 orders

func (f *pairs) group(key int64) int32 {
	at := f.keys.of(key)
	if int(at) == len(f.groups) {
		f.groups = append(f.groups, pairGroup{key: key, class: firstClass64, at: f.orders.take(firstClass64)})
	}
	return at
}

func (f *pairs) apply(batch []record, out *deltas) {
	f.now++
	f.was, f.touched = f.was[:0], f.touched[:0]
	f.totals.begin()
	for i := range batch {
		r := &batch[i]
		if r.tag == 0 {
			continue
		}
		at := f.group(r.a)
		g := &f.groups[at]
		if g.stamp != f.now {
			g.stamp = f.now
			f.was, f.touched = append(f.was, *g), append(f.touched, at)
		}
		g.there = r.w > 0
		if g.there {
			g.region = r.b
		}
	}
	for i, at := range f.touched {
		g, was := &f.groups[at], &f.was[i]
		if g.there == was.there && g.region == was.region {
			continue
		}
		half := uint32(1) << (g.class - 1)
		ids := f.orders.words[g.at : g.at+uint32(g.n)]
		amounts := f.orders.words[g.at+half : g.at+half+uint32(g.n)]
		for j, id := range ids {
			f.emit(out, was, id, amounts[j], -1)
			f.emit(out, g, id, amounts[j], 1)
		}
	}
	for rest := batch; len(rest) > 0; {
		part := rest[:min(len(rest), lookahead)]
		rest = rest[len(part):]
		for i := range part {
			if part[i].tag == 0 {
				f.found[i] = f.group(part[i].b)
			}
		}
		for i := range part {
			r := &part[i]
			if r.tag != 0 {
				continue
			}
			g := &f.groups[f.found[i]]
			f.change(g, r)
			f.emit(out, g, r.a, r.c, int64(r.w))
		}
	}
	if f.shape == totalled && out != nil {
		f.totals.emit(out)
	}
}

func (f *pairs) change(g *pairGroup, r *record) {
	half := uint32(1) << (g.class - 1)
	if r.w < 0 {
		words := f.orders.words[g.at : g.at+2*half]
		ids := words[:g.n]
		for i, id := range ids {
			if id == r.a {
				g.n--
				ids[i] = ids[g.n]
				words[half+uint32(i)] = words[half+uint32(g.n)]
				return
			}
		}
		panic("an order goes that is not there")
	}
	if uint32(g.n) == half {
		at := f.orders.take(g.class + 1)
		copy(f.orders.words[at:], f.orders.words[g.at:g.at+half])
		copy(f.orders.words[at+2*half:], f.orders.words[g.at+half:g.at+2*half])
		f.orders.leave(g.at, g.class)
		g.at, g.class = at, g.class+1
		half *= 2
	}
	f.orders.words[g.at+uint32(g.n)] = r.a
	f.orders.words[g.at+half+uint32(g.n)] = r.c
	g.n++
}

func (f *pairs) emit(out *deltas, g *pairGroup, id, amount, w int64) {
	switch f.shape {
	case joined:
		if g.there {
			row := out.row()
			_ = row[3]
			row[0], row[1], row[2], row[3] = w, g.region, id, amount
		}
	case padded:
		row := out.row()
		_ = row[5]
		row[0], row[1], row[2], row[3], row[4], row[5] = w, id, g.key, amount, 0, 1
		if g.there {
			row[4], row[5] = g.region, 0
		}
	case totalled:
		if g.there {
			f.totals.add(g.region, w, w*amount)
		}
	}
}

// totals is the sums of W2b by region.
type totals struct {
	regions *numbers
	all     []total
	before  []total
	moved   []int32
	now     int32
}

type total struct {
	region, n, s int64
	stamp        int32
}

func newTotals() *totals { return &totals{regions: newNumbers()} }

func (t *totals) begin() {
	t.now++
	t.before, t.moved = t.before[:0], t.moved[:0]
}

func (t *totals) add(region, n, s int64) {
	at := t.regions.of(region)
	if int(at) == len(t.all) {
		t.all = append(t.all, total{region: region})
	}
	x := &t.all[at]
	if x.stamp != t.now {
		t.before, t.moved = append(t.before, *x), append(t.moved, at)
		x.stamp = t.now
	}
	x.n += n
	x.s += s
}

// take adds what another's batch has changed.
func (t *totals) take(o *totals) {
	for i, at := range o.moved {
		is, was := &o.all[at], &o.before[i]
		t.add(is.region, is.n-was.n, is.s-was.s)
	}
}

func (t *totals) emit(out *deltas) {
	for i, at := range t.moved {
		is, was := &t.all[at], &t.before[i]
		if is.n == was.n && is.s == was.s {
			continue
		}
		if was.n > 0 {
			row := out.row()
			row[0], row[1], row[2] = -1, was.region, was.s
		}
		if is.n > 0 {
			row := out.row()
			row[0], row[1], row[2] = 1, is.region, is.s
		}
	}
}
