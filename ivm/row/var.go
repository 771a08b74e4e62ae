package row

import (
	"bytes"
	"encoding/binary"
)

// Inline is the length of the longest value that lies in its two words.
const Inline = 12

// PutVar is the two words of b, whose bytes go to h if they are many.
func PutVar(b []byte, h *Heap) (w0, w1 uint64) {
	n := len(b)
	if n > Inline {
		return uint64(binary.BigEndian.Uint32(b))<<32 | uint64(n), h.Put(b)
	}
	if n >= 8 {
		w0 = uint64(binary.BigEndian.Uint32(b))<<32 | uint64(n)
		return w0, binary.BigEndian.Uint64(b[n-8:]) << (uint(Inline-n) * 8)
	}
	var p [Inline]byte
	copy(p[:], b)
	return uint64(binary.BigEndian.Uint32(p[:]))<<32 | uint64(n), binary.BigEndian.Uint64(p[4:])
}

// VarBytes are the bytes of two words, those of a short value in buf[:0].
func VarBytes(w0, w1 uint64, h *Heap, buf []byte) []byte {
	n := uint32(w0)
	if n > Inline {
		return h.Get(w1, int(n))
	}
	at := len(buf[:0])
	buf = binary.BigEndian.AppendUint32(buf[:at], uint32(w0>>32))
	buf = binary.BigEndian.AppendUint64(buf, w1)
	return buf[:n]
}

// AppendVar appends the bytes of two words to dst.
func AppendVar(dst []byte, w0, w1 uint64, h *Heap) []byte {
	n := uint32(w0)
	if n > Inline {
		return append(dst, h.Get(w1, int(n))...)
	}
	at := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(w0>>32))
	dst = binary.BigEndian.AppendUint64(dst, w1)
	return dst[:at+int(n)]
}

// EqualVar compares two values that may be long.
func EqualVar(a0, a1 uint64, ha *Heap, b0, b1 uint64, hb *Heap) bool {
	if a0 != b0 {
		return false
	}
	n := uint32(a0)
	if n <= Inline {
		return a1 == b1
	}
	return a1 == b1 && ha == hb || bytes.Equal(ha.Get(a1, int(n)), hb.Get(b1, int(n)))
}

// CompareVar orders values by their bytes.
func CompareVar(a0, a1 uint64, ha *Heap, b0, b1 uint64, hb *Heap) int {
	if x, y := a0>>32, b0>>32; x != y {
		if x < y {
			return -1
		}
		return 1
	}
	n, m := uint32(a0), uint32(b0)
	if n <= Inline && m <= Inline {
		if a1 != b1 {
			if a1 < b1 {
				return -1
			}
			return 1
		}
		return int(n) - int(m) // the same bytes, padded: the shorter is a prefix
	}
	if n == m && a1 == b1 && ha == hb {
		return 0
	}
	var ba, bb [Inline]byte
	return bytes.Compare(VarBytes(a0, a1, ha, ba[:]), VarBytes(b0, b1, hb, bb[:]))
}
