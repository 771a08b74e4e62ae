package state

// A slab has blocks of one size in chunks that never move.
type slab struct {
	chunks [][]uint64
	words  int // of a block
	shift  uint
	next   uint32
	freed  uint32 // 1 + first free block; a free block's first word is 1 + the next one
}

const slabChunk = 1 << 13 // words

func (s *slab) init(words int) {
	s.words = words
	for (1<<(s.shift+1))*words <= slabChunk {
		s.shift++
	}
}

func (s *slab) reset() { s.chunks, s.next, s.freed = nil, 0, 0 }

func (s *slab) block(i uint32) []uint64 {
	o := int(i&(1<<s.shift-1)) * s.words
	return s.chunks[i>>s.shift][o : o+s.words : o+s.words]
}

func (s *slab) alloc() uint32 {
	if s.freed != 0 {
		i := s.freed - 1
		s.freed = uint32(s.block(i)[0])
		return i
	}
	if int(s.next>>s.shift) == len(s.chunks) {
		s.chunks = append(s.chunks, make([]uint64, s.words<<s.shift))
	}
	s.next++
	return s.next - 1
}

func (s *slab) free(i uint32) {
	s.block(i)[0] = uint64(s.freed)
	s.freed = i + 1
}

func (s *slab) bytes() int { return len(s.chunks) * (8*s.words<<s.shift + 24) }
