package zset

import "github.com/vegadb/vega-flight/ivm/row"

// Batch is rows with their weights.
type Batch struct {
	Layout  *row.Layout
	Words   []uint64 // Layout.Words a row
	Weights []int64
	Heap    *row.Heap // of long values

	index  []uint32 // scratch of Consolidate
	hashes []uint64
	spread []spreadRow
}

// New makes an empty batch with a heap of its own.
func New(l *row.Layout) *Batch { return &Batch{Layout: l, Heap: new(row.Heap)} }

// Len is the number of rows.
func (b *Batch) Len() int { return len(b.Weights) }

// Row is the words of row i.
func (b *Batch) Row(i int) []uint64 {
	w := b.Layout.Words
	return b.Words[i*w : i*w+w : i*w+w]
}

// AppendRow appends a row of zero words, which is valid until the next append.
func (b *Batch) AppendRow(weight int64) []uint64 {
	w, n := b.Layout.Words, len(b.Words)
	b.Weights = append(b.Weights, weight)
	if n+w > cap(b.Words) {
		b.grow(w)
	}
	b.Words = b.Words[:n+w]
	r := b.Words[n : n+w : n+w]
	clear(r)
	return r
}

func (b *Batch) grow(w int) {
	grown := make([]uint64, len(b.Words), max(2*cap(b.Words), 64*w))
	copy(grown, b.Words)
	b.Words = grown
}

// Append appends a copy of a row whose long values are in from.
func (b *Batch) Append(r []uint64, from *row.Heap, weight int64) {
	w, n := b.Layout.Words, len(b.Words)
	b.Weights = append(b.Weights, weight)
	if n+w > cap(b.Words) {
		b.grow(w)
	}
	b.Words = b.Words[:n+w]
	if b.Layout.Fixed() {
		copy(b.Words[n:n+w], r)
		return
	}
	b.Layout.Copy(b.Words[n:n+w], b.Heap, r, from)
}

// AppendBatch appends copies of all rows of o, which has the same layout.
func (b *Batch) AppendBatch(o *Batch) {
	if b.Layout.Fixed() {
		b.Words = append(b.Words, o.Words...)
		b.Weights = append(b.Weights, o.Weights...)
		return
	}
	for i, w := range o.Weights {
		b.Append(o.Row(i), o.Heap, w)
	}
}

// Clone is a copy that shares nothing.
func (b *Batch) Clone() *Batch {
	c := New(b.Layout)
	c.AppendBatch(b)
	return c
}

// Take is the batch's content as a batch of its own; this one is empty then. Nothing is copied.
func (b *Batch) Take() *Batch {
	t := &Batch{Layout: b.Layout, Words: b.Words, Weights: b.Weights, Heap: b.Heap}
	b.Words, b.Weights, b.Heap = nil, nil, new(row.Heap)
	return t
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.Words, b.Weights = b.Words[:0], b.Weights[:0]
	if b.Heap != nil {
		b.Heap.Reset()
	}
}

// Negate turns what came into what went.
func (b *Batch) Negate() {
	for i, w := range b.Weights {
		b.Weights[i] = -w
	}
}
