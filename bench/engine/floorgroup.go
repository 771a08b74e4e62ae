package main

// sums is W1: count and sum by key.
type sums struct {
	keys    *numbers
	groups  []sum
	was     []sum // of touched groups, before the batch
	touched []int32
	now     int32
}

type sum struct {
	key, n, s int64
	stamp     int32
}

func newSums() *sums { return &sums{keys: newNumbers()} }

func (f *sums) apply(batch []record, out *deltas) {
	f.now++
	f.was, f.touched = f.was[:0], f.touched[:0]
	for i := range batch {
		r := &batch[i]
		at := f.keys.of(r.b)
		if int(at) == len(f.groups) {
			f.groups = append(f.groups, sum{key: r.b})
		}
		g := &f.groups[at]
		if g.stamp != f.now {
			f.was, f.touched = append(f.was, *g), append(f.touched, at)
			g.stamp = f.now
		}
		w := int64(r.w)
		g.n += w
		g.s += w * r.c
	}
	for i, at := range f.touched {
		g, was := &f.groups[at], &f.was[i]
		if g.n == was.n && g.s == was.s {
			continue
		}
		if was.n > 0 {
			row := out.row()
			row[0], row[1], row[2], row[3] = -1, was.key, was.n, was.s
		}
		if g.n > 0 {
			row := out.row()
			row[0], row[1], row[2], row[3] = 1, g.key, g.n, g.s
		}
	}
}

// profiles is W1b: the values of each group are kept, in no order; groups are so small that a look at all of them is cheap.
type profiles struct {
	keys    *numbers
	groups  []profileGroup
	values  runs
	was     []profile
	touched []int32
	found   [lookahead]int32
	now     int32
}

type profileGroup struct {
	key, s int64
	at     uint32
	n      int32
	stamp  int32
	class  uint8
}

// profile is what is shown of a group.
type profile struct{ n, s, least, most, distinct int64 }

func newProfiles() *profiles { return &profiles{keys: newNumbers()} }

func (f *profiles) show(g *profileGroup) profile {
	if g.n == 0 {
		return profile{}
	}
	values := f.values.words[g.at : g.at+uint32(g.n)]
	p := profile{n: int64(g.n), s: g.s, least: values[0], most: values[0]}
	var seen [2]uint64
	for _, v := range values {
		p.least, p.most = min(p.least, v), max(p.most, v)
		m := uint64(v % 100)
		seen[m>>6&1] |= 1 << (m & 63)
	}
	p.distinct = int64(ones(seen[0]) + ones(seen[1]))
	return p
}

func (f *profiles) apply(batch []record, out *deltas) {
	f.now++
	f.was, f.touched = f.was[:0], f.touched[:0]
	for rest := batch; len(rest) > 0; {
		part := rest[:min(len(rest), lookahead)]
		rest = rest[len(part):]
		for i := range part {
			at := f.keys.of(part[i].b)
			if int(at) == len(f.groups) {
				f.groups = append(f.groups, profileGroup{key: part[i].b, class: 3, at: f.values.take(3)})
			}
			f.found[i] = at
		}
		for i, at := range f.found[:len(part)] {
			g := &f.groups[at]
			if g.stamp != f.now {
				g.stamp = f.now
				f.was, f.touched = append(f.was, f.show(g)), append(f.touched, at)
			}
			f.change(g, part[i].c, part[i].w)
		}
	}
	for i, at := range f.touched {
		g, was := &f.groups[at], &f.was[i]
		is := f.show(g)
		if is == *was {
			continue
		}
		if was.n > 0 {
			was.put(out.row(), -1, g.key)
		}
		if is.n > 0 {
			is.put(out.row(), 1, g.key)
		}
	}
}

func (p *profile) put(row []int64, w, key int64) {
	_ = row[6]
	row[0], row[1], row[2], row[3], row[4], row[5], row[6] = w, key, p.n, p.s, p.least, p.most, p.distinct
}

func (f *profiles) change(g *profileGroup, v int64, w int32) {
	if w < 0 {
		g.s -= v
		values := f.values.words[g.at : g.at+uint32(g.n)]
		for i, x := range values {
			if x == v {
				g.n--
				values[i] = values[g.n]
				return
			}
		}
		panic("a value goes that is not there")
	}
	if g.n == 1<<g.class {
		at := f.values.take(g.class + 1)
		copy(f.values.words[at:], f.values.words[g.at:g.at+uint32(g.n)])
		f.values.leave(g.at, g.class)
		g.at, g.class = at, g.class+1
	}
	f.values.words[g.at+uint32(g.n)] = v
	g.n++
	g.s += v
}
