package state

import (
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Load adds many entries at once: row i of entries to the key in row i of keys.
// Entries of keys that have none yet are sorted and packed into blocks, which
// costs a fraction of adding them one by one. It gives the keys' refs.
func (t *Table) Load(keys, entries *zset.Batch, refs []Ref) []Ref {
	refs = t.Fill(keys, entries, refs)
	t.Pack()
	return refs
}

// pack makes the entries of a key that has none, from rows in order.
func (t *Table) pack(m []uint64, places []place, f *filling) {
	// Equal rows become one, in place: the first one's weight.
	n := 0
	total := int64(0)
	for k := 0; k < len(places); {
		first := places[k]
		weight := f.weight(first.row)
		a := f.entry(t, first.row)
		same := k + 1
		for ; same < len(places) && places[same].word == first.word; same++ {
			b := f.entry(t, places[same].row)
			if !t.alike(first.word) && t.cmp(a, b, &t.heap) != 0 {
				break
			}
			weight += f.weight(places[same].row)
			t.freeRows(b, 1)
		}
		if weight == 0 {
			t.freeRows(a, 1)
		} else {
			if same > k+1 {
				f.setWeight(first.row, weight)
			}
			places[n] = first
			n++
			total += weight
		}
		k = same
	}
	places = places[:n]
	m[metaTotal] = uint64(total)
	switch {
	case n == 0:
	case n == 1 && t.inline:
		m[metaCount] = 1
		copy(m[metaArea:metaArea+t.ew], f.entry(t, places[0].row))
	case n <= t.alone():
		m[metaCount] = 1<<heightShift | uint64(n)
		m[metaArea], _ = t.packLeaf(places, f)
	default:
		t.packTree(m, places, f)
	}
}

func (t *Table) packLeaf(places []place, f *filling) (leaf uint64, total int64) {
	ones := true
	for _, p := range places {
		w := f.weight(p.row)
		total += w
		ones = ones && w == 1
	}
	leaf = t.newLeaf(t.capFor(len(places)), !ones)
	b := t.block(leaf)
	for k, p := range places {
		copy(b[k*t.ew:(k+1)*t.ew], f.entry(t, p.row))
	}
	if ws := t.weights(leaf); ws != nil {
		for k, p := range places {
			ws[k] = uint64(f.weight(p.row))
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

func (t *Table) packTree(m []uint64, places []place, f *filling) {
	g := grower{t: t}
	n := len(places)
	size := max(t.most()*packedOf8/8, 1)
	leaves := (n + size - 1) / size
	for k := range leaves {
		from, to := n*k/leaves, n*(k+1)/leaves
		leaf, total := t.packLeaf(places[from:to], f)
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
