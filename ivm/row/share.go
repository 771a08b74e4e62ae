package row

import (
	"bytes"
	"encoding/binary"
	"math"
)

// A shared heap keeps equal long values once. Each has a header before it: how often it was put, and its hash. An index finds it: open
// addressing in segments by the hash's high bits, which grow one by one; a slot is hash<<32 | length, then the ref.
//
// Looking for values that are never there twice is dear and for nothing: when not most of a field's are found the heap stops looking for
// them for a while, and puts what comes without a place in the index.
type shared struct {
	segments [shareSegments]shareSegment
	words    int // of all segments
	sights   [shareSights]sight
}

// sight is whether values of a field are looked for.
type sight struct {
	tried int // since it began to look or stopped
	met   int // that were there
	blind bool
}

type shareSegment struct {
	slots []uint64
	used  int
}

const (
	shareSegments = 256
	shareSights   = 16
	shareFrom     = 32 // bytes: shorter values are not worth their header
	shareHeader   = 8
	shareUnlisted = 1 << 31 // in the header's number: it is not in the index
	shareLook     = 1 << 12
	shareBlind    = 1 << 16
)

// Share makes an empty heap keep equal long values once.
func (h *Heap) Share() { h.shared = &shared{} }

func shares(n int) bool { return n >= shareFrom && n <= largest-shareHeader }

// header is that of a value.
func (h *Heap) header(ref uint64) []byte {
	at := int(ref & (chunkSize - 1))
	return h.chunks[ref>>chunkBits][at-shareHeader : at : at]
}

// putIn is Put of a value of one of several fields.
func (h *Heap) putIn(field int, b []byte) uint64 {
	if h.shared == nil || !shares(len(b)) {
		ref, dst := h.Alloc(len(b))
		copy(dst, b)
		return ref
	}
	s := h.shared
	at := &s.sights[field%shareSights]
	if at.look(); at.blind {
		return h.putNew(b, 1|shareUnlisted, 0)
	}
	hash := uint32(HashBytes(b))
	seg := s.room(hash)
	mask := len(seg.slots)/2 - 1
	want := uint64(hash)<<32 | uint64(len(b))
	i := int(hash) & mask
	for ; seg.slots[2*i+1] != 0; i = (i + 1) & mask {
		if seg.slots[2*i] != want {
			continue
		}
		ref := seg.slots[2*i+1]
		if !bytes.Equal(h.Get(ref, len(b)), b) {
			continue
		}
		head := h.header(ref)
		if n := binary.LittleEndian.Uint32(head); n < math.MaxInt32 {
			binary.LittleEndian.PutUint32(head, n+1)
			at.met++
			return ref
		}
	}
	ref := h.putNew(b, 1, hash)
	seg.slots[2*i], seg.slots[2*i+1] = want, ref
	seg.used++
	return ref
}

func (h *Heap) putNew(b []byte, n, hash uint32) uint64 {
	ref, dst := h.Alloc(len(b) + shareHeader)
	binary.LittleEndian.PutUint32(dst, n)
	binary.LittleEndian.PutUint32(dst[4:], hash)
	copy(dst[shareHeader:], b)
	return ref + shareHeader
}

// freeShared is Free of a value that was put by putIn and has a header.
func (h *Heap) freeShared(ref uint64, n int) {
	head := h.header(ref)
	count := binary.LittleEndian.Uint32(head)
	switch count {
	case 1:
		h.shared.remove(binary.LittleEndian.Uint32(head[4:]), ref)
	case 1 | shareUnlisted:
	default:
		binary.LittleEndian.PutUint32(head, count-1)
		return
	}
	h.release(ref-shareHeader, n+shareHeader)
}

// look decides whether it is worth looking.
func (s *sight) look() {
	s.tried++
	switch {
	case s.blind && s.tried >= shareBlind:
		s.blind, s.tried, s.met = false, 0, 0
	case !s.blind && s.tried >= shareLook:
		s.blind = s.met < shareLook*3/4
		s.tried, s.met = 0, 0
	}
}

// room is the segment of a hash, with room for one more.
func (s *shared) room(hash uint32) *shareSegment {
	seg := &s.segments[hash>>24]
	if 4*(seg.used+1) > 3*(len(seg.slots)/2) {
		old := seg.slots
		seg.slots = make([]uint64, max(16, 2*len(old)))
		s.words += len(seg.slots) - len(old)
		mask := len(seg.slots)/2 - 1
		for k := 0; k < len(old); k += 2 {
			if old[k+1] == 0 {
				continue
			}
			i := int(old[k]>>32) & mask
			for seg.slots[2*i+1] != 0 {
				i = (i + 1) & mask
			}
			seg.slots[2*i], seg.slots[2*i+1] = old[k], old[k+1]
		}
	}
	return seg
}

// remove takes a value out of the index and closes the gap.
func (s *shared) remove(hash uint32, ref uint64) {
	seg := &s.segments[hash>>24]
	slots, mask := seg.slots, len(seg.slots)/2-1
	i := int(hash) & mask
	for slots[2*i+1] != ref {
		i = (i + 1) & mask
	}
	for j := i; ; {
		j = (j + 1) & mask
		if slots[2*j+1] == 0 {
			break
		}
		if home := int(slots[2*j]>>32) & mask; (j-home)&mask >= (j-i)&mask {
			slots[2*i], slots[2*i+1] = slots[2*j], slots[2*j+1]
			i = j
		}
	}
	slots[2*i], slots[2*i+1] = 0, 0
	if seg.used--; seg.used == 0 {
		s.words -= len(slots)
		seg.slots = nil
	}
}

// bytes is the memory of the index.
func (s *shared) bytes() int {
	if s == nil {
		return 0
	}
	return 8 * s.words
}
