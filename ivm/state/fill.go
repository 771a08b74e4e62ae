package state

import (
	"slices"

	"github.com/vegadb/vega-flight/ivm/zset"
)

// filling is entries that have come for a table and are not in its keys yet. They lie in pieces that never move; long values are in
// the table's heap already.
type filling struct {
	pieces []piece
	rows   int
	places []place // of one key
	spare  []place
}

type piece struct {
	n       int
	refs    []Ref
	words   []uint64
	weights []int64 // nil: all are 1
}

// place is a row of a filling and the first word that orders it.
type place struct {
	word uint64
	row  uint32
}

const (
	pieceShift = 16
	pieceRows  = 1 << pieceShift

	fillWords = 1 << 26 // of rows that are kept aside before they are packed
)

// Fill is Load in pieces: the keys are there at once, the entries not before Pack. Until then entries may be neither read
// nor changed, and refs must stay.
func (t *Table) Fill(keys, entries *zset.Batch, refs []Ref) []Ref {
	refs = t.UpsertAll(keys, refs)
	t.FillRefs(refs, entries)
	return refs
}

// FillRefs is Fill where the refs are known.
func (t *Table) FillRefs(refs []Ref, entries *zset.Batch) {
	if t.filling == nil {
		t.filling = &filling{}
	}
	f := t.filling
	for from := 0; from < len(refs); {
		k := len(f.pieces) - 1
		if k < 0 || f.pieces[k].n == pieceRows {
			if f.rows*t.ew >= fillWords {
				t.Pack()
				t.filling = f
				*f = filling{places: f.places, spare: f.spare}
			}
			p := piece{}
			if k = len(f.pieces); k > 0 { // there are many rows: it will be full
				p.refs, p.words = make([]Ref, 0, pieceRows), make([]uint64, 0, pieceRows*t.ew)
			}
			f.pieces = append(f.pieces, p)
		}
		n := min(len(refs)-from, pieceRows-f.pieces[k].n)
		f.pieces[k].refs = append(f.pieces[k].refs, refs[from:from+n]...)
		t.fillPiece(&f.pieces[k], entries, from, n)
		f.rows += n
		from += n
	}
}

// fillPiece adds n of the entries to the rows of a piece.
func (t *Table) fillPiece(p *piece, entries *zset.Batch, from, n int) {
	w := t.ew
	had := p.n
	p.n += n
	words := entries.Words[from*w : (from+n)*w]
	if p.words = append(p.words, words...); t.vars {
		for i := range n {
			t.spec.Entry.Copy(p.words[(had+i)*w:(had+i+1)*w], &t.heap, words[i*w:i*w+w], entries.Heap)
		}
	}
	weights := entries.Weights[from : from+n]
	if p.weights == nil && slices.ContainsFunc(weights, func(x int64) bool { return x != 1 }) {
		p.ones(had)
	}
	if p.weights != nil {
		p.weights = append(p.weights, weights...)
	}
}

// ones makes the weights of n rows of weight 1.
func (p *piece) ones(n int) {
	p.weights = make([]int64, n, max(n, pieceRows))
	for i := range p.weights {
		p.weights[i] = 1
	}
}

func (f *filling) entry(t *Table, i uint32) []uint64 {
	o := int(i&(pieceRows-1)) * t.ew
	return f.pieces[i>>pieceShift].words[o : o+t.ew : o+t.ew]
}

func (f *filling) weight(i uint32) int64 {
	if ws := f.pieces[i>>pieceShift].weights; ws != nil {
		return ws[i&(pieceRows-1)]
	}
	return 1
}

func (f *filling) setWeight(i uint32, w int64) {
	p := &f.pieces[i>>pieceShift]
	if p.weights == nil {
		p.ones(p.n)
	}
	p.weights[i&(pieceRows-1)] = w
}
