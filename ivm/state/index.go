package state

// An index finds a record by its hash: open addressing in segments, which split
// in two when they are full, so that growing never stops the pipeline. A slot is
// tag<<32 | 1 + record, where the tag is the high half of the hash: its high bits
// choose the segment, so that keys of one group lie together and restoring them
// in the order of the store is local, its low bits the place. A segment's last word is
// used<<8 | depth; depth is how many high bits its tags have in common.
type index struct {
	dir   [][]uint64
	depth uint
	held  int // words
}

const (
	tagMask    = 1<<32 - 1
	segmentMin = 1 << 4
	segmentMax = 1 << 15
)

func (x *index) reset() {
	*x = index{dir: [][]uint64{make([]uint64, segmentMin+1)}, held: segmentMin + 1}
}

func (x *index) bytes() int { return 8*x.held + 24*len(x.dir) }

func (x *index) segment(tag uint64) []uint64 { return x.dir[tag>>(32-x.depth)] }

// insert adds a slot; the same may be there already.
func (x *index) insert(tag uint64, id uint32) {
	seg := x.segment(tag)
	meta := &seg[len(seg)-1]
	if used := *meta >> 8; used*8 >= uint64(len(seg)-1)*5 {
		x.grow(tag)
		x.insert(tag, id)
		return
	}
	*meta += 1 << 8
	put(seg, tag<<32|uint64(id))
}

func put(seg []uint64, slot uint64) {
	mask := uint64(len(seg) - 2)
	i := slot >> 32 & mask
	for seg[i] != 0 {
		i = (i + 1) & mask
	}
	seg[i] = slot
}

// grow makes room in the segment of tag.
func (x *index) grow(tag uint64) {
	old := x.segment(tag)
	size := len(old) - 1
	meta := old[size]
	depth := uint(meta & 0xff)
	if size < segmentMax || depth == 32 {
		seg := make([]uint64, 2*size+1)
		for _, s := range old[:size] {
			if s != 0 {
				put(seg, s)
			}
		}
		seg[2*size] = meta
		x.held += size
		x.replace(tag, depth, seg, seg)
		return
	}
	var half [2][]uint64
	half[0], half[1] = make([]uint64, size+1), make([]uint64, size+1)
	bit := 63 - depth
	for _, s := range old[:size] {
		if s != 0 {
			h := half[s>>bit&1]
			h[size] += 1 << 8
			put(h, s)
		}
	}
	half[0][size] |= uint64(depth + 1)
	half[1][size] |= uint64(depth + 1)
	x.held += size + 1
	if depth == x.depth {
		dir := make([][]uint64, 2*len(x.dir))
		for i := range dir {
			dir[i] = x.dir[i/2]
		}
		x.dir = dir
		x.depth++
	}
	x.replace(tag, depth, half[0], half[1])
}

// replace puts two segments in place of the one of tag, in the lower and the upper half of its places in the directory.
func (x *index) replace(tag uint64, depth uint, lower, upper []uint64) {
	n := 1 << (x.depth - depth)
	first := int(tag>>(32-x.depth)) &^ (n - 1)
	for i := range n {
		if i < (n+1)/2 {
			x.dir[first+i] = lower
		} else {
			x.dir[first+i] = upper
		}
	}
}

// remove takes the slot of a record away and closes the gap.
func (x *index) remove(tag uint64, id uint32) {
	seg := x.segment(tag)
	mask := uint64(len(seg) - 2)
	slot := tag<<32 | uint64(id)
	i := tag & mask
	for seg[i] != slot {
		i = (i + 1) & mask
	}
	x.removeAt(seg, i)
}

func (x *index) removeAt(seg []uint64, i uint64) {
	mask := uint64(len(seg) - 2)
	for j := i; ; {
		j = (j + 1) & mask
		s := seg[j]
		if s == 0 {
			break
		}
		if home := s >> 32 & mask; (j-home)&mask >= (j-i)&mask {
			seg[i] = s
			i = j
		}
	}
	seg[i] = 0
	seg[len(seg)-1] -= 1 << 8
}

// shrink gives memory back after many were removed.
func (x *index) shrink() {
	for d := 0; d < len(x.dir); {
		seg := x.dir[d]
		size := len(seg) - 1
		meta := seg[size]
		depth := uint(meta & 0xff)
		small := size
		for small > segmentMin && int(meta>>8)*4 < small {
			small /= 2
		}
		if small < size {
			moved := make([]uint64, small+1)
			for _, s := range seg[:size] {
				if s != 0 {
					put(moved, s)
				}
			}
			moved[small] = meta
			x.held += small - size
			x.replace(uint64(d)<<(32-x.depth), depth, moved, moved)
		}
		d += 1 << (x.depth - depth)
	}
}
