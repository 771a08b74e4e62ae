package dataflow

import (
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

var markType = row.Type{Kind: row.Bool}

// PairLayout is that of the rows that a join's predicate sees: the left's fields, then the right's.
func PairLayout(left, right *row.Layout) *row.Layout {
	return row.NewLayout(slices.Concat(left.Types, right.Types)...)
}

// assembler makes a join's output rows out of the words of its inputs' rows.
type assembler struct {
	layout *row.Layout
	words  int
	parts  [2]part
	mark   []int // output fields that are the mark
	markAt []int // their words
}

// part says where one side's fields go. Neighbouring fields move as one run of words and one run of null bits.
type part struct {
	runs   []run
	bits   []run
	vars   []run // Var fields: their first words there and here
	absent []uint64
	words  int // of the side's row
	nulls  int
}

type run struct{ to, from, n int }

// newAssembler puts together output, positions in the fields of left, right and, if there is one, the mark; nil is all of them.
func newAssembler(left, right *row.Layout, mark bool, output []int) *assembler {
	var fields []row.Type
	sides := [2]*row.Layout{left, right}
	for _, l := range sides {
		if l != nil {
			fields = append(fields, l.Types...)
		}
	}
	if mark {
		fields = append(fields, markType)
	}
	if output == nil {
		for i := range fields {
			output = append(output, i)
		}
	}
	types := make([]row.Type, len(output))
	for i, f := range output {
		types[i] = fields[f]
	}
	a := &assembler{layout: row.NewLayout(types...)}
	a.words = a.layout.Words
	first := 0
	for s, l := range sides {
		if l == nil {
			continue
		}
		p := &a.parts[s]
		p.words, p.nulls = l.Words, l.Nulls
		p.absent = make([]uint64, a.layout.Nulls)
		for i, f := range output {
			if f < first || f >= first+len(l.Types) {
				continue
			}
			p.field(a.layout, i, l, f-first)
		}
		first += len(l.Types)
	}
	for i, f := range output {
		if mark && f == len(fields)-1 {
			a.mark = append(a.mark, i)
			a.markAt = append(a.markAt, a.layout.Off[i])
		}
	}
	return a
}

func (p *part) field(to *row.Layout, i int, from *row.Layout, j int) {
	p.absent[i>>6] |= 1 << (uint(i) & 63)
	n := to.Types[i].Words()
	p.runs = extendRun(p.runs, to.Off[i], from.Off[j], n)
	if k := len(p.bits) - 1; k >= 0 && i&63 != 0 && j&63 != 0 && p.bits[k].to+p.bits[k].n == i && p.bits[k].from+p.bits[k].n == j {
		p.bits[k].n++
	} else {
		p.bits = append(p.bits, run{i, j, 1})
	}
	if to.Types[i].Var() {
		p.vars = append(p.vars, run{to: to.Off[i], from: from.Off[j]})
	}
}

func extendRun(runs []run, to, from, n int) []run {
	if k := len(runs) - 1; k >= 0 && runs[k].to+runs[k].n == to && runs[k].from+runs[k].n == from {
		runs[k].n += n
		return runs
	}
	return append(runs, run{to, from, n})
}

// put moves the fields of one side's row into an output row whose null bits of that side are clear.
func (p *part) put(dst, src []uint64) {
	for _, r := range p.runs {
		d, s := dst[r.to:r.to+r.n], src[r.from:r.from+r.n]
		for i := range d {
			d[i] = s[i]
		}
	}
	if p.nulls == 1 {
		if src[0] == 0 {
			return
		}
		for _, b := range p.bits {
			dst[b.to>>6] |= src[0] >> uint(b.from) & (1<<uint(b.n) - 1) << (uint(b.to) & 63)
		}
		return
	}
	for _, b := range p.bits {
		dst[b.to>>6] |= src[b.from>>6] >> (uint(b.from) & 63) & (1<<uint(b.n) - 1) << (uint(b.to) & 63)
	}
}

// long copies the long values of a row that was put to the output's heap.
func (p *part) long(dst []uint64, hd *row.Heap, hs *row.Heap) {
	for _, v := range p.vars {
		if n := uint32(dst[v.to]); n > row.Inline {
			dst[v.to+1] = hd.Put(hs.Get(dst[v.to+1], int(n)))
		}
	}
}

// rows grows out by n rows, whose words are undefined, and gives them.
func (a *assembler) rows(out *zset.Batch, n int) []uint64 {
	at := len(out.Words)
	if at+n*a.words > cap(out.Words) {
		out.Words = slices.Grow(out.Words, max(n*a.words, at))
		out.Weights = slices.Grow(out.Weights, max(n, len(out.Weights)))
	}
	out.Words = out.Words[:at+n*a.words]
	return out.Words[at:]
}

// pairs appends the row r of side s together with each of n rows of the other side; weights nil is 1 each. A long value of r
// is copied once.
func (a *assembler) pairs(out *zset.Batch, s int, r []uint64, h *row.Heap, w int64, others []uint64, n int, weights []int64, ho *row.Heap) {
	mine, theirs := &a.parts[s], &a.parts[1-s]
	dst := a.rows(out, n)
	first := dst[:a.words]
	clear(first)
	mine.put(first, r)
	if mine.vars != nil {
		mine.long(first, out.Heap, h)
	}
	for i := 1; i < n; i++ {
		copy(dst[i*a.words:][:a.words], first)
	}
	wo := theirs.words
	for i := range n {
		d := dst[i*a.words:][:a.words]
		theirs.put(d, others[i*wo:][:wo])
		if theirs.vars != nil {
			theirs.long(d, out.Heap, ho)
		}
	}
	if weights == nil {
		for range n {
			out.Weights = append(out.Weights, w)
		}
		return
	}
	for _, x := range weights[:n] {
		out.Weights = append(out.Weights, w*x)
	}
}

// verdict is whether a row has a partner. unknown is that of a mark which is NULL.
type verdict uint8

const (
	unmatched verdict = iota
	matched
	unknown
)

// solo appends rows of side s without a partner: padded, or with the mark. Each weight is multiplied by by.
func (a *assembler) solo(out *zset.Batch, s int, rows []uint64, n int, weights []int64, by int64, h *row.Heap, mark verdict) {
	mine := &a.parts[s]
	dst := a.rows(out, n)
	clear(dst)
	for i := range n {
		d := dst[i*a.words:][:a.words]
		copy(d, a.parts[1-s].absent)
		mine.put(d, rows[i*mine.words:][:mine.words])
		if mine.vars != nil {
			mine.long(d, out.Heap, h)
		}
		for k, f := range a.mark {
			if mark == unknown {
				d[f>>6] |= 1 << (uint(f) & 63)
			} else {
				d[a.markAt[k]] = uint64(mark)
			}
		}
	}
	for i := range n {
		w := by
		if weights != nil {
			w *= weights[i]
		}
		out.Weights = append(out.Weights, w)
	}
}
