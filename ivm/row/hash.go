package row

import (
	"encoding/binary"
	"math/bits"
)

// The multipliers of wyhash. They are part of checkpoints.
const (
	k0 = 0xa0761d6478bd642f
	k1 = 0xe7037ed1a0b428db
	k2 = 0x8ebc6af09c88c6e3
	k3 = 0x589965cc75374cc3
)

func mum(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// HashWords hashes words, the same everywhere and for ever.
func HashWords(w []uint64) uint64 {
	switch len(w) {
	case 2: // null bits and one word: the most frequent key
		return mum(mum(w[0]^k0, w[1]^k1)^k2, k3)
	case 3:
		return mum(mum(w[0]^k0, w[1]^k1)^w[2], k3)
	}
	h := uint64(len(w)) ^ k2
	for len(w) >= 2 {
		h = mum(w[0]^k0, w[1]^h)
		w = w[2:]
	}
	if len(w) == 1 {
		h = mum(w[0]^k0, h^k1)
	}
	return mum(h^k2, k3)
}

// HashBytes hashes bytes, the same everywhere and for ever.
func HashBytes(b []byte) uint64 {
	h := uint64(len(b)) ^ k2
	for len(b) >= 16 {
		h = mum(binary.LittleEndian.Uint64(b)^k0, binary.LittleEndian.Uint64(b[8:])^h)
		b = b[16:]
	}
	if len(b) > 0 {
		var p [16]byte
		copy(p[:], b)
		h = mum(binary.LittleEndian.Uint64(p[:])^k1, binary.LittleEndian.Uint64(p[8:])^h)
	}
	return mum(h^k2, k3)
}

// Hash hashes a row; equal rows have equal hashes, in whatever heaps they are.
func (l *Layout) Hash(r []uint64, h *Heap) uint64 {
	if len(l.Vars) == 0 {
		return HashWords(r[:l.Words])
	}
	return l.hashVar(r, h)
}

func (l *Layout) hashVar(r []uint64, h *Heap) uint64 {
	x := uint64(l.Words) ^ k2
	at := 0
	for _, i := range l.Vars {
		o := l.Off[i]
		for ; at < o; at++ {
			x = mum(r[at]^k0, x^k1)
		}
		w1 := r[o+1]
		if n := uint32(r[o]); n > Inline {
			w1 = HashBytes(h.Get(w1, int(n)))
		}
		x = mum(r[o]^k0, w1^x)
		at = o + 2
	}
	for ; at < l.Words; at++ {
		x = mum(r[at]^k0, x^k1)
	}
	return mum(x^k2, k3)
}

// HashAll hashes n rows into dst[:n], which is grown when it is short.
func (l *Layout) HashAll(dst []uint64, words []uint64, n int, h *Heap) []uint64 {
	if cap(dst) < n {
		dst = make([]uint64, n, n+n/4)
	}
	dst = dst[:n]
	w := l.Words
	switch {
	case len(l.Vars) > 0:
		for i := range dst {
			dst[i] = l.hashVar(words[i*w:i*w+w], h)
		}
	case w == 2:
		words = words[:2*n]
		for i := range dst {
			dst[i] = mum(mum(words[2*i]^k0, words[2*i+1]^k1)^k2, k3)
		}
	default:
		for i := range dst {
			dst[i] = HashWords(words[i*w : i*w+w])
		}
	}
	return dst
}
