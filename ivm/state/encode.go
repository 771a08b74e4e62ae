package state

import (
	"encoding/binary"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// A record's value is a byte, 0 or the number 1 for a key with a tree, the
// payload, and unless there is a tree its entries. Entries, also of a leaf, are
// 2*n, or 2*n+1 and then n weights if not all are 1, and n rows.

// appendRecord appends the value of a record.
func (t *Table) appendRecord(dst []byte, r []uint64) []byte {
	tree := t.ew > 0 && r[t.meta+metaCount]>>heightShift > 1
	if tree {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
	}
	dst = row.AppendWords(dst, r[t.kw:t.meta])
	if t.spec.Entry == nil || tree {
		return dst
	}
	m := r[t.meta:]
	n := int(m[metaCount] & countMask)
	if m[metaCount]>>heightShift == 1 {
		return t.appendEntries(dst, t.block(m[metaArea]), t.weights(m[metaArea]), n)
	}
	var ws []uint64
	if m[metaTotal] != 1 {
		ws = m[metaTotal : metaTotal+1]
	}
	return t.appendEntries(dst, m[metaArea:], ws, n)
}

func (t *Table) appendEntries(dst []byte, b, ws []uint64, n int) []byte {
	if n == 0 {
		return append(dst, 0)
	}
	if ws == nil {
		dst = binary.AppendUvarint(dst, uint64(n)*2)
	} else {
		dst = binary.AppendUvarint(dst, uint64(n)*2+1)
		for _, w := range ws[:n] {
			dst = binary.AppendVarint(dst, int64(w))
		}
	}
	if !t.vars {
		return row.AppendWords(dst, b[:n*t.ew])
	}
	for i := range n {
		dst = t.spec.Entry.AppendBytes(dst, b[i*t.ew:(i+1)*t.ew], &t.heap)
	}
	return dst
}

func damaged(what string) error {
	return fault.StateUnreadable.Newf("the bytes of %s in a checkpoint are damaged", what)
}

// readEntries reads entries into the table's scratch batch.
func (t *Table) readEntries(p []byte) (*zset.Batch, error) {
	b := t.store.scratch
	b.Reset()
	head, k := binary.Uvarint(p)
	n := int(head >> 1)
	if k <= 0 || head>>1 > uint64(len(p)) {
		return b, damaged("entries")
	}
	p = p[k:]
	b.Words, _ = t.spec.Entry.Grow(b.Words, n)
	for range n {
		w := int64(1)
		if head&1 != 0 {
			if w, k = binary.Varint(p); k <= 0 {
				return b, damaged("entries")
			}
			p = p[k:]
		}
		b.Weights = append(b.Weights, w)
	}
	if !t.vars {
		if len(p) != 8*n*t.ew {
			return b, damaged("entries")
		}
		row.ReadWords(b.Words, p)
		return b, nil
	}
	for i := range n {
		var err error
		if p, err = t.spec.Entry.ReadBytes(b.Row(i), p, b.Heap); err != nil {
			return b, err
		}
	}
	if len(p) != 0 {
		return b, damaged("entries")
	}
	return b, nil
}

// given makes a filling of rows in order.
func (t *Table) given(b *zset.Batch) (*filling, []place) {
	f := t.store.given
	if f == nil {
		f = &filling{pieces: make([]piece, 1)}
		t.store.given = f
	}
	p := &f.pieces[0]
	*p = piece{words: p.words[:0]}
	t.fillPiece(p, b, 0, b.Len())
	f.places = f.places[:0]
	for i := range b.Len() {
		f.places = append(f.places, place{t.first(f.entry(t, uint32(i))), uint32(i)})
	}
	return f, f.places
}

// readRecord fills a record from its value; tree says that its leaves are still to come.
func (t *Table) readRecord(r []uint64, p []byte) (tree bool, err error) {
	n := 1 + 8*t.spec.Payload
	if len(p) < n {
		return false, damaged("a record")
	}
	row.ReadWords(r[t.kw:t.meta], p[1:n])
	if tree = p[0] == 1; tree || t.spec.Entry == nil {
		return tree, nil
	}
	m := r[t.meta:]
	if len(p) == n+1 && p[n] == 0 {
		return false, nil
	}
	if t.inline && !t.vars && len(p) == n+1+8*t.ew && p[n] == 2 { // one entry of weight 1
		row.ReadWords(m[metaArea:metaArea+t.ew], p[n+1:])
		m[metaCount], m[metaTotal] = 1, 1
		return false, nil
	}
	b, err := t.readEntries(p[n:])
	if err != nil {
		return false, err
	}
	f, places := t.given(b)
	t.pack(m, places, f)
	return false, nil
}

// readLeaf makes a leaf, and what belongs into its slot, from its value.
func (t *Table) readLeaf(id uint32, p []byte) (s [slotWords]uint64, err error) {
	b, err := t.readEntries(p)
	if err != nil {
		return s, err
	}
	if b.Len() == 0 || b.Len() > t.most() {
		return s, damaged("a leaf")
	}
	f, places := t.given(b)
	leaf, total := t.packLeaf(places, f)
	return [slotWords]uint64{leaf | leafStored | leafUsed, uint64(id)<<32 | uint64(b.Len()), uint64(total)}, nil
}
