package row

import (
	"encoding/binary"
	"math/bits"
)

// A Heap holds bytes that are addressed by refs: size classes over large
// chunks, so that the collector sees a few byte slices, whatever is in them. It
// is not safe for concurrent use. The zero Heap is empty and ready.
type Heap struct {
	chunks [][]byte
	bump   int // index of the chunk that is being filled
	at     int // its next free byte
	free   [classes]uint64
	spare  []uint32 // numbers of dedicated chunks that were freed
	again  int      // the first so many chunks are from before a Reset
	live   int      // bytes in use, rounded to classes
	held   int      // bytes of chunks
	shared *shared  // nil: equal values are kept apart
}

const (
	chunkBits = 20
	chunkSize = 1 << chunkBits
	chunkMin  = 1 << 12
	largest   = chunkSize / 8 // longer values have a chunk of their own
	classes   = 64
)

// classOf is the size class of n bytes and its size: 16 bytes, then four steps
// each doubling.
func classOf(n int) (class, size int) {
	if n <= 16 {
		return 0, 16
	}
	e := bits.Len(uint(n-1)) - 1 // 2^e < n <= 2^(e+1)
	step := 1 << (e - 2)         // a quarter of 2^e
	q := (n - 1 - 1<<e) / step   // 0..3
	return (e-4)*4 + q + 1, 1<<e + (q+1)*step
}

// Put copies b and gives its ref, which is never 0.
func (h *Heap) Put(b []byte) uint64 {
	return h.putIn(0, b)
}

// Alloc makes room for n bytes, whose content is undefined.
func (h *Heap) Alloc(n int) (ref uint64, dst []byte) {
	if n > largest {
		return h.dedicated(n)
	}
	class, size := classOf(n)
	h.live += size
	if ref = h.free[class]; ref != 0 {
		b := h.chunks[ref>>chunkBits][ref&(chunkSize-1):]
		h.free[class] = binary.LittleEndian.Uint64(b)
		return ref, b[:n]
	}
	if len(h.chunks) == 0 || h.at+size > len(h.chunks[h.bump]) {
		h.nextChunk(size)
	}
	ref = uint64(h.bump)<<chunkBits | uint64(h.at)
	dst = h.chunks[h.bump][h.at : h.at+n : h.at+size]
	h.at += size
	return ref, dst
}

// nextChunk finds a chunk with room: after a Reset those that are there, else a new one.
func (h *Heap) nextChunk(size int) {
	for i := h.bump + 1; i < h.again; i++ {
		if len(h.chunks[i]) >= size {
			h.bump, h.at = i, 0
			return
		}
	}
	n := min(max(chunkMin, h.held), chunkSize)
	for n < size+16 {
		n *= 2
	}
	h.bump, h.at = len(h.chunks), 0
	if h.bump == 0 {
		h.at = 16 // no value has the ref 0
	}
	h.chunks = append(h.chunks, make([]byte, n))
	h.held += n
}

func (h *Heap) dedicated(n int) (uint64, []byte) {
	if len(h.chunks) == 0 {
		h.nextChunk(16)
	}
	b := make([]byte, n)
	h.live += n
	h.held += n
	if k := len(h.spare); k > 0 {
		i := h.spare[k-1]
		h.spare = h.spare[:k-1]
		h.chunks[i] = b
		return uint64(i) << chunkBits, b
	}
	h.chunks = append(h.chunks, b)
	return uint64(len(h.chunks)-1) << chunkBits, b
}

// Get is the n bytes at ref; they are the heap's own.
func (h *Heap) Get(ref uint64, n int) []byte {
	at := int(ref & (chunkSize - 1))
	return h.chunks[ref>>chunkBits][at : at+n : at+n]
}

// Free gives the n bytes at ref back.
func (h *Heap) Free(ref uint64, n int) {
	if h.shared != nil && shares(n) {
		h.freeShared(ref, n)
		return
	}
	h.release(ref, n)
}

// release gives back what Alloc has given.
func (h *Heap) release(ref uint64, n int) {
	if n > largest {
		i := ref >> chunkBits
		h.chunks[i] = nil
		h.spare = append(h.spare, uint32(i))
		h.live -= n
		h.held -= n
		return
	}
	class, size := classOf(n)
	h.live -= size
	binary.LittleEndian.PutUint64(h.chunks[ref>>chunkBits][ref&(chunkSize-1):], h.free[class])
	h.free[class] = ref
}

// Reset frees everything and keeps the chunks for what comes.
func (h *Heap) Reset() {
	if len(h.chunks) == 0 {
		return
	}
	share := h.shared
	if share != nil {
		share = &shared{}
	}
	kept := h.chunks[:0]
	h.held = 0
	for _, c := range h.chunks {
		if c != nil && len(c) <= chunkSize && (len(c)&(len(c)-1) == 0) && len(c) >= chunkMin {
			kept = append(kept, c)
			h.held += len(c)
		}
	}
	clear(h.chunks[len(kept):])
	*h = Heap{chunks: kept, at: 16, again: len(kept), held: h.held, spare: h.spare[:0], shared: share}
}

// Size is how many bytes are in use, each value rounded to its class.
func (h *Heap) Size() int { return h.live + h.shared.bytes() }

// Held is how many bytes the heap has from Go.
func (h *Heap) Held() int { return h.held + h.shared.bytes() }
