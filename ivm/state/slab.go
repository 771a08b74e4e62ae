package state

// An arena has the memory of a table's leaves and inner nodes: pages of one size
// that never move, each cut into blocks of one size by a slab. A page whose
// blocks are all free goes back to the arena and may serve another slab: while
// keys grow they pass through all sizes of leaves, and would leave memory behind
// in each.
type arena struct {
	pages [][]uint64
	meta  []page
	spare []uint32 // free pages that have memory
	bare  []uint32 // and those that have none
	used  int      // words of the blocks in use
}

type page struct {
	next, prev uint32 // in the slab's list of pages with room; 1 + number
	free       uint32 // 1 + first free block, whose first word is 1 + the next one
	bump       uint32 // blocks that were ever used
	live       uint32
	full       bool // and so not in the list
}

// A slab gives out blocks of some words. A block is page<<blockBits | place in it.
type slab struct {
	words uint32
	per   uint32 // blocks a page
	head  uint32 // 1 + first page with room
}

const (
	pageWords = 1 << 13
	blockBits = 12
	blockMask = 1<<blockBits - 1
)

func (s *slab) init(words int) {
	s.words = uint32(max(words, 1))
	s.per = min(uint32(max(pageWords/int(s.words), 1)), blockMask)
}

func (a *arena) block(s *slab, id uint32) []uint64 {
	o := (id & blockMask) * s.words
	return a.pages[id>>blockBits][o : o+s.words : o+s.words]
}

func (a *arena) alloc(s *slab) uint32 {
	if s.head == 0 {
		a.open(s)
	}
	p := s.head - 1
	m := &a.meta[p]
	i := m.bump
	if m.free != 0 {
		i = m.free - 1
		m.free = uint32(a.pages[p][i*s.words])
	} else {
		m.bump++
	}
	m.live++
	a.used += int(s.words)
	if m.free == 0 && m.bump == s.per {
		a.unlink(s, p)
		m.full = true
	}
	return p<<blockBits | i
}

// open gives the slab one more page.
func (a *arena) open(s *slab) {
	var p uint32
	size := max(pageWords, int(s.words)) // a row may be larger than a page
	switch {
	case size == pageWords && len(a.spare) > 0:
		p = a.spare[len(a.spare)-1]
		a.spare = a.spare[:len(a.spare)-1]
	case len(a.bare) > 0:
		p = a.bare[len(a.bare)-1]
		a.bare = a.bare[:len(a.bare)-1]
		a.pages[p] = make([]uint64, size)
	default:
		p = uint32(len(a.pages))
		a.pages = append(a.pages, make([]uint64, size))
		a.meta = append(a.meta, page{})
	}
	a.meta[p] = page{}
	a.link(s, p)
}

func (a *arena) link(s *slab, p uint32) {
	a.meta[p].next, a.meta[p].prev = s.head, 0
	if s.head != 0 {
		a.meta[s.head-1].prev = p + 1
	}
	s.head = p + 1
}

func (a *arena) unlink(s *slab, p uint32) {
	m := &a.meta[p]
	if m.prev != 0 {
		a.meta[m.prev-1].next = m.next
	} else {
		s.head = m.next
	}
	if m.next != 0 {
		a.meta[m.next-1].prev = m.prev
	}
}

func (a *arena) free(s *slab, id uint32) {
	p, i := id>>blockBits, id&blockMask
	m := &a.meta[p]
	a.pages[p][i*s.words] = uint64(m.free)
	m.free = i + 1
	m.live--
	a.used -= int(s.words)
	if m.full {
		m.full = false
		a.link(s, p)
	}
	if m.live == 0 && (m.prev != 0 || m.next != 0) { // the slab has another page with room
		a.unlink(s, p)
		if len(a.pages[p]) == pageWords && len(a.spare) < 8+len(a.pages)/16 {
			a.spare = append(a.spare, p)
		} else {
			a.pages[p] = nil
			a.bare = append(a.bare, p)
		}
	}
}

func (a *arena) bytes() int {
	n := 48 * len(a.pages)
	for _, p := range a.pages {
		n += 8 * len(p)
	}
	return n
}
