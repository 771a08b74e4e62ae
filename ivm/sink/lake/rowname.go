package lake

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// rowName stands for a row's content: 128 bits of a hash that nobody can find two rows for.
type rowName [2]uint64

// namer names the rows of one view.
type namer struct {
	layout *row.Layout
	secret [16]byte
	plain  *row.Plain

	bytes []byte
}

func newNamer(l *row.Layout, uuid string) *namer {
	n := &namer{layout: l, plain: row.NewPlain(l)}
	sum := sha256.Sum256([]byte("rows of the result of " + uuid))
	copy(n.secret[:], sum[:])
	return n
}

// shared says that different rows may have one name: those that differ in NaNs or the sign of a zero.
func (n *namer) shared() bool { return n.plain.Some() }

// exact says that the lake gives all rows of the batch back as they are, whatever rows lie beside them: a file may have another zero in the
// place of one, and who takes a row back takes any that has its name.
func (n *namer) exact(b *zset.Batch) bool { return n.plain.Exact(b.Words, b.Len()) }

// name names a row.
func (n *namer) name(r []uint64, h *row.Heap) rowName {
	r, h = n.plain.Of(r, h)
	n.bytes = n.layout.AppendBytes(append(n.bytes[:0], n.secret[:]...), r, h)
	sum := sha256.Sum256(n.bytes)
	return rowName{binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])}
}
