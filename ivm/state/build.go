package state

import (
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Load adds many entries at once: row i of entries to the key in row i of keys.
// Entries of keys that have none yet are sorted and packed into blocks, which
// costs a fraction of adding them one by one. It gives the keys' refs.
func (t *Table) Load(keys, entries *zset.Batch, refs []Ref) []Ref {
	refs = t.UpsertAll(keys, refs)
	var l loader
	l.group(refs, t.next)
	for from := 0; from < len(l.order); {
		ref := refs[l.order[from]]
		to := from + 1
		for to < len(l.order) && refs[l.order[to]] == ref {
			to++
		}
		t.loadKey(ref, l.order[from:to], entries)
		from = to
	}
	return refs
}

// loader orders rows by key.
type loader struct {
	order []int32
}

// group orders the rows by ref, and those of a ref as they come.
func (l *loader) group(refs []Ref, most uint32) {
	l.order = make([]int32, len(refs))
	if int(most) > 4*len(refs)+1024 { // few rows for a large table
		for i := range l.order {
			l.order[i] = int32(i)
		}
		slices.SortStableFunc(l.order, func(a, b int32) int { return int(refs[a]) - int(refs[b]) })
		return
	}
	start := make([]int32, most+1)
	for _, r := range refs {
		start[r+1]++
	}
	for i := 1; i < len(start); i++ {
		start[i] += start[i-1]
	}
	for i, r := range refs {
		l.order[start[r]] = int32(i)
		start[r]++
	}
}

// loadKey adds the rows of a key.
func (t *Table) loadKey(ref Ref, order []int32, entries *zset.Batch) {
	r := t.rec(ref)
	m := r[t.meta:]
	if len(order) == 1 || m[metaCount] != 0 {
		for _, i := range order {
			t.Add(ref, entries.Row(int(i)), entries.Heap, entries.Weights[i])
		}
		return
	}
	if t.store != nil {
		t.dirty(ref, r)
	}
	w := t.ew
	less := func(a, b int32) int {
		return t.cmpOutside(entries.Words[int(a)*w:int(a)*w+w], entries.Words[int(b)*w:int(b)*w+w], entries.Heap)
	}
	if !slices.IsSortedFunc(order, less) {
		slices.SortFunc(order, less)
	}
	t.pack(m, order, entries)
}

// cmpOutside orders two entries from outside.
func (t *Table) cmpOutside(a, b []uint64, h *row.Heap) int {
	if !t.vars {
		return t.cmp(a, b, h)
	}
	at := t.en
	for _, i := range t.spec.Entry.Vars {
		o := t.spec.Entry.Off[i]
		if c := row.CompareWords(a[at:o], b[at:o]); c != 0 {
			return c
		}
		if c := row.CompareVar(a[o], a[o+1], h, b[o], b[o+1], h); c != 0 {
			return c
		}
		at = o + 2
	}
	if c := row.CompareWords(a[at:], b[at:]); c != 0 {
		return c
	}
	return row.CompareWords(a[:t.en], b[:t.en])
}

// pack makes the entries of a key that has none, from rows in order.
func (t *Table) pack(m []uint64, order []int32, entries *zset.Batch) {
	// Equal rows become one, in place: order and the first one's weight.
	n, w := 0, t.ew
	total := int64(0)
	for k := 0; k < len(order); {
		i := int(order[k])
		weight := entries.Weights[i]
		a := entries.Words[i*w : i*w+w]
		for k++; k < len(order); k++ {
			j := int(order[k])
			if t.cmpOutside(a, entries.Words[j*w:j*w+w], entries.Heap) != 0 {
				break
			}
			weight += entries.Weights[j]
		}
		if weight != 0 {
			entries.Weights[i] = weight
			order[n] = int32(i)
			n++
			total += weight
		}
	}
	order = order[:n]
	m[metaTotal] = uint64(total)
	switch {
	case n == 0:
	case n == 1 && t.inline:
		m[metaCount] = 1
		t.putEntry(m[metaArea:metaArea+w], entries.Row(int(order[0])), entries.Heap)
	case n <= t.alone():
		m[metaCount] = 1<<heightShift | uint64(n)
		m[metaArea], _ = t.packLeaf(order, entries)
	default:
		t.packTree(m, order, entries)
	}
}

func (t *Table) packLeaf(order []int32, entries *zset.Batch) (leaf uint64, total int64) {
	ones := true
	for _, i := range order {
		total += entries.Weights[i]
		ones = ones && entries.Weights[i] == 1
	}
	leaf = t.newLeaf(t.capFor(len(order)), !ones)
	b := t.block(leaf)
	for k, i := range order {
		t.putEntry(b[k*t.ew:(k+1)*t.ew], entries.Row(int(i)), entries.Heap)
	}
	if ws := t.weights(leaf); ws != nil {
		for k, i := range order {
			ws[k] = uint64(entries.Weights[i])
		}
	}
	return leaf, total
}

// grower builds a tree from its leaves, in order: nodes holds the open node of each height, from 2 on.
type grower struct {
	t     *Table
	nodes []uint32
}

// packed leaves are seven eighths full, so that the next entries do not split all of them.
const packedOf8 = 7

func (t *Table) packTree(m []uint64, order []int32, entries *zset.Batch) {
	g := grower{t: t}
	n := len(order)
	size := max(t.most()*packedOf8/8, 1)
	leaves := (n + size - 1) / size
	for k := range leaves {
		from, to := n*k/leaves, n*(k+1)/leaves
		leaf, total := t.packLeaf(order[from:to], entries)
		s := [slotWords]uint64{leaf, t.newLeafID() | uint64(to-from), uint64(total)}
		t.touch(s[:])
		g.add(0, t.block(leaf)[t.en]&t.mask0, s)
	}
	g.finish(m)
}

// add appends a slot to the open node of a level, 0 for the lowest.
func (g *grower) add(level int, sep uint64, s [slotWords]uint64) {
	if level == len(g.nodes) {
		g.nodes = append(g.nodes, g.t.newNode())
		g.t.node(g.nodes[level])[0] = 0
	}
	in := g.t.node(g.nodes[level])
	if in[0] == fan*packedOf8/8 {
		g.close(level)
		g.nodes[level] = g.t.newNode()
		in = g.t.node(g.nodes[level])
		in[0] = 0
	}
	i := int(in[0])
	in[0]++
	in[1+i] = sep
	copy(slotOf(in, i), s[:])
}

// close gives the open node of a level to the level above.
func (g *grower) close(level int) {
	in := g.t.node(g.nodes[level])
	s := [slotWords]uint64{slotRef: uint64(g.nodes[level])}
	for i := range int(in[0]) {
		c := slotOf(in, i)
		s[slotRef] |= c[slotRef] & leafFlags
		s[slotCount] += uint64(uint32(c[slotCount]))
		s[slotTotal] += c[slotTotal]
	}
	g.add(level+1, in[1], s)
}

// finish closes all and makes the uppermost node the root.
func (g *grower) finish(m []uint64) {
	for level := 0; level+1 < len(g.nodes); level++ {
		g.close(level)
	}
	top := g.nodes[len(g.nodes)-1]
	in := g.t.node(top)
	var n, total uint64
	for i := range int(in[0]) {
		n += uint64(uint32(slotOf(in, i)[slotCount]))
		total += slotOf(in, i)[slotTotal]
	}
	m[metaCount] = uint64(len(g.nodes)+1)<<heightShift | n
	m[metaTotal] = total
	m[metaArea] = uint64(top)
}
