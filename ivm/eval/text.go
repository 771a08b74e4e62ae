package eval

import (
	"bytes"
	"unicode/utf8"

	"github.com/vegadb/vega-flight/ivm/row"
)

// bytesAt are the bytes of a text, in buf if they are few; none for NULL.
func (v *vec) bytesAt(i int, buf *[row.Inline]byte) []byte {
	if v.isNullAt(i) {
		return nil
	}
	return row.VarBytes(v.lo[i], v.hi[i], v.heap, buf[:])
}

// textTest is a condition over two texts.
func textTest(f func(a, b []byte) bool) kernel {
	return func(dst, a, b *vec, n int, _ *mask) {
		clear(dst.bits[:words(n)])
		var p, q [row.Inline]byte
		for i := range n {
			if f(a.bytesAt(i, &p), b.bytesAt(i, &q)) {
				dst.bits.set(i)
			}
		}
	}
}

// textLength is the number of characters, or of bytes.
func textLength(inBytes bool) converter {
	return func(dst, a *vec, n int, _ *mask) {
		var buf [row.Inline]byte
		for i := range n {
			if inBytes {
				dst.lo[i] = uint64(uint32(a.lo[i]))
				continue
			}
			dst.lo[i] = uint64(utf8.RuneCount(a.bytesAt(i, &buf)))
		}
	}
}

// likePattern is a pattern of LIKE taken apart at its %; false where it has other signs.
func likePattern(pattern string) (parts [][]byte, ok bool) {
	for i := range len(pattern) {
		if c := pattern[i]; c == '_' || c == '\\' {
			return nil, false
		}
	}
	return bytes.Split([]byte(pattern), []byte("%")), true
}

// like matches a text against the parts between the %.
func like(s []byte, parts [][]byte) bool {
	if len(parts) == 1 {
		return bytes.Equal(s, parts[0])
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(s) < len(first)+len(last) || !bytes.HasPrefix(s, first) || !bytes.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, p := range parts[1 : len(parts)-1] {
		at := bytes.Index(s, p)
		if at < 0 {
			return false
		}
		s = s[at+len(p):]
	}
	return true
}

// textLike is LIKE with a pattern that is known.
func textLike(parts [][]byte, not bool) converter {
	return func(dst, a *vec, n int, _ *mask) {
		clear(dst.bits[:words(n)])
		var buf [row.Inline]byte
		for i := range n {
			if like(a.bytesAt(i, &buf), parts) != not {
				dst.bits.set(i)
			}
		}
	}
}

func hasPrefix(a, b []byte) bool { return bytes.HasPrefix(a, b) }
func hasSuffix(a, b []byte) bool { return bytes.HasSuffix(a, b) }
func hasPart(a, b []byte) bool   { return bytes.Contains(a, b) }
