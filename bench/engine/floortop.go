package main

import "math/bits"

func ones(x uint64) int { return bits.OnesCount64(x) }

// tops is W4: the rows of a group in order, in leaves of up to 64.
type tops struct {
	keys    *numbers
	groups  []topGroup
	was     []top
	touched []int32
	found   [lookahead]int32
	now     int32
}

const (
	leafRows = 64
	shown    = 3
)

// place orders rows: the largest value first, then the smallest id.
type place struct {
	v  uint64 // the value, inverted and biased
	id int64
}

func (p place) before(q place) bool { return p.v < q.v || p.v == q.v && p.id < q.id }

func placeOf(v, id int64) place { return place{^(uint64(v) ^ 1<<63), id} }

func (p place) value() int64 { return int64(^p.v ^ 1<<63) }

type leaf struct {
	n    int
	rows [leafRows]place
}

type topGroup struct {
	key    int64
	stamp  int32
	firsts []place // of each leaf; what is smaller than the second's belongs to the first
	leaves []*leaf
}

type top struct {
	n    int
	rows [shown]place
}

func newTops() *tops { return &tops{keys: newNumbers()} }

func (f *tops) apply(batch []record, out *deltas) {
	f.now++
	f.was, f.touched = f.was[:0], f.touched[:0]
	for rest := batch; len(rest) > 0; {
		part := rest[:min(len(rest), lookahead)]
		rest = rest[len(part):]
		for i := range part {
			at := f.keys.of(part[i].b)
			if int(at) == len(f.groups) {
				f.groups = append(f.groups, topGroup{key: part[i].b, leaves: []*leaf{{}}, firsts: []place{{}}})
			}
			f.found[i] = at
		}
		for i, at := range f.found[:len(part)] {
			g := &f.groups[at]
			if g.stamp != f.now {
				g.stamp = f.now
				f.was, f.touched = append(f.was, g.top()), append(f.touched, at)
			}
			if p := placeOf(part[i].c, part[i].a); part[i].w > 0 {
				g.insert(p)
			} else {
				g.remove(p)
			}
		}
	}
	for i, at := range f.touched {
		g := &f.groups[at]
		is, was := g.top(), &f.was[i]
		if is == *was {
			continue
		}
		is.emit(out, g.key, 1, was)
		was.emit(out, g.key, -1, &is)
	}
}

// emit gives the rows that other does not have.
func (t *top) emit(out *deltas, key, w int64, other *top) {
next:
	for _, p := range t.rows[:t.n] {
		for _, q := range other.rows[:other.n] {
			if p == q {
				continue next
			}
		}
		row := out.row()
		row[0], row[1], row[2], row[3] = w, key, p.id, p.value()
	}
}

func (g *topGroup) top() (t top) {
	for _, l := range g.leaves {
		t.n += copy(t.rows[t.n:], l.rows[:l.n])
		if t.n == shown {
			return t
		}
	}
	return t
}

// leafOf is the number of the leaf in which a place is or would be.
func (g *topGroup) leafOf(p place) int {
	lo, n := 0, len(g.firsts)
	for n > 1 {
		half := n / 2
		if !p.before(g.firsts[lo+half]) {
			lo += half
		}
		n -= half
	}
	return lo
}

// rank is the number of rows before p.
func (l *leaf) rank(p place) int {
	lo, n := 0, l.n
	for n > 0 {
		half := n / 2
		if l.rows[lo+half].before(p) {
			lo += half + 1
			n -= half + 1
		} else {
			n = half
		}
	}
	return lo
}

func (g *topGroup) insert(p place) {
	i := g.leafOf(p)
	l := g.leaves[i]
	if l.n == leafRows {
		right := &leaf{n: leafRows / 2}
		l.n = leafRows - copy(right.rows[:], l.rows[leafRows/2:])
		g.leaves, g.firsts = append(g.leaves, nil), append(g.firsts, place{})
		copy(g.leaves[i+2:], g.leaves[i+1:])
		copy(g.firsts[i+2:], g.firsts[i+1:])
		g.leaves[i+1], g.firsts[i+1] = right, right.rows[0]
		if !p.before(right.rows[0]) {
			l = right
		}
	}
	at := l.rank(p)
	copy(l.rows[at+1:l.n+1], l.rows[at:l.n])
	l.rows[at] = p
	l.n++
}

func (g *topGroup) remove(p place) {
	i := g.leafOf(p)
	l := g.leaves[i]
	at := l.rank(p)
	if at == l.n || l.rows[at] != p {
		panic("a row goes that is not there")
	}
	copy(l.rows[at:l.n-1], l.rows[at+1:l.n])
	l.n--
	if l.n == 0 && len(g.leaves) > 1 {
		g.leaves, g.firsts = append(g.leaves[:i], g.leaves[i+1:]...), append(g.firsts[:i], g.firsts[i+1:]...)
	}
}
