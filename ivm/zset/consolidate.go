package zset

import "github.com/vegadb/vega-flight/ivm/row"

// Consolidate makes each row appear once, where it came first, with the sum of
// its weights, and drops the rows whose sum is 0.
func (b *Batch) Consolidate() {
	n := b.Len()
	if n == 0 {
		return
	}
	if n == 1 {
		if b.Weights[0] == 0 {
			b.drop(0)
		}
		return
	}
	b.hashes = b.Layout.HashAll(b.hashes, b.Words, n, b.Heap)
	if n >= spreadFrom {
		b.consolidateSpread(n)
		return
	}
	bits := 4
	for 1<<bits < 2*n {
		bits++
	}
	if cap(b.index) < 1<<bits {
		b.index = make([]uint32, 1<<bits)
	}
	index := b.index[:1<<bits]
	clear(index)
	w, fixed := b.Layout.Words, b.Layout.Fixed()
	shift, mask := uint(64-bits), 1<<bits-1
	zero := false
	out := 0
	for i, hash := range b.hashes {
		r := b.Words[i*w : i*w+w]
		at := int(hash >> shift)
		for {
			s := index[at]
			if s == 0 {
				out++
				index[at] = uint32(out)
				if out != i+1 {
					copy(b.Words[(out-1)*w:out*w], r)
					b.Weights[out-1] = b.Weights[i]
					b.hashes[out-1] = hash
				}
				zero = zero || b.Weights[out-1] == 0
				break
			}
			if j := int(s - 1); b.hashes[j] == hash {
				q := b.Words[j*w : j*w+w]
				if row.EqualWords(q, r) || !fixed && b.Layout.Equal(q, b.Heap, r, b.Heap) {
					b.Weights[j] += b.Weights[i]
					zero = zero || b.Weights[j] == 0
					break
				}
			}
			at = (at + 1) & mask
		}
	}
	b.Words, b.Weights = b.Words[:out*w], b.Weights[:out]
	if zero {
		b.compact()
	}
}

// spreadFrom is the number of rows from which on the index would not fit the
// cache: measured, half the time at a million rows.
const spreadFrom = 1 << 17

// consolidateSpread goes through the rows by the first byte of their hashes, so
// that only a 256th of the index is in use at a time. Equal rows meet there, in
// order; the later ones give their weight to the first.
func (b *Batch) consolidateSpread(n int) {
	var starts [257]int
	for _, h := range b.hashes {
		starts[h>>56+1]++
	}
	for g := range 256 {
		starts[g+1] += starts[g]
	}
	if cap(b.spread) < n {
		b.spread = make([]spreadRow, n)
	}
	rows := b.spread[:n]
	for i, h := range b.hashes {
		at := &starts[h>>56]
		rows[*at] = spreadRow{h, i}
		*at++
	}
	w := b.Layout.Words
	for from := 0; from < n; {
		to := from
		for g := rows[from].hash >> 56; to < n && rows[to].hash>>56 == g; {
			to++
		}
		part := rows[from:to]
		bits := 4
		for 1<<bits < 2*len(part) {
			bits++
		}
		if cap(b.index) < 1<<bits {
			b.index = make([]uint32, 1<<bits)
		}
		index := b.index[:1<<bits]
		clear(index)
		shift, mask := uint(64-bits), 1<<bits-1
		for k, r := range part {
			for at := int(r.hash << 8 >> shift); ; at = (at + 1) & mask {
				s := index[at]
				if s == 0 {
					index[at] = uint32(k + 1)
					break
				}
				if o := part[s-1]; o.hash == r.hash && b.Layout.Equal(b.Words[o.row*w:], b.Heap, b.Words[r.row*w:], b.Heap) {
					b.Weights[o.row] += b.Weights[r.row]
					b.Weights[r.row] = 0
					break
				}
			}
		}
		from = to
	}
	b.compact()
}

type spreadRow struct {
	hash uint64
	row  int
}

// drop cuts the batch to its first n rows.
func (b *Batch) drop(n int) {
	b.Words, b.Weights = b.Words[:n*b.Layout.Words], b.Weights[:n]
}

// compact removes the rows of weight 0.
func (b *Batch) compact() {
	w, out := b.Layout.Words, 0
	for i, weight := range b.Weights {
		if weight == 0 {
			continue
		}
		if out != i {
			copy(b.Words[out*w:out*w+w], b.Words[i*w:i*w+w])
			b.Weights[out] = weight
		}
		out++
	}
	b.drop(out)
}
