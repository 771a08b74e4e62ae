package row

import (
	"encoding/binary"

	"github.com/vegadb/vega-flight/fault"
)

// AppendBytes appends a row as bytes that do not need its heap: the words that
// are of fixed size, little-endian, and long values with their length in front.
// The bytes of different rows differ, and none is the beginning of another's.
func (l *Layout) AppendBytes(dst []byte, r []uint64, h *Heap) []byte {
	if len(l.Vars) == 0 {
		return AppendWords(dst, r[:l.Words])
	}
	at := 0
	for _, i := range l.Vars {
		o := l.Off[i]
		dst = AppendWords(dst, r[at:o])
		dst = binary.AppendUvarint(dst, uint64(uint32(r[o])))
		dst = AppendVar(dst, r[o], r[o+1], h)
		at = o + 2
	}
	return AppendWords(dst, r[at:l.Words])
}

// AppendWords appends words, little-endian.
func AppendWords(dst []byte, words []uint64) []byte {
	for _, w := range words {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}

// ReadWords reads words, and gives what is behind them or nil if there are not enough.
func ReadWords(dst []uint64, b []byte) []byte {
	if len(b) < 8*len(dst) {
		return nil
	}
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return b[8*len(dst):]
}

// ReadBytes reads a row that AppendBytes wrote, its long values into h, and gives what is behind it.
func (l *Layout) ReadBytes(dst []uint64, b []byte, h *Heap) ([]byte, error) {
	short := func() ([]byte, error) {
		return nil, fault.InternalError.Newf("the bytes of a row of %s are cut short", l)
	}
	at := 0
	for _, i := range l.Vars {
		o := l.Off[i]
		if len(b) < 8*(o-at) {
			return short()
		}
		b = ReadWords(dst[at:o], b)
		n, k := binary.Uvarint(b)
		if k <= 0 || uint64(len(b)-k) < n {
			return short()
		}
		b = b[k:]
		dst[o], dst[o+1] = PutVar(b[:n], h)
		b = b[n:]
		at = o + 2
	}
	if len(b) < 8*(l.Words-at) {
		return short()
	}
	return ReadWords(dst[at:l.Words], b), nil
}
