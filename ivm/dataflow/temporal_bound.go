package dataflow

import (
	"github.com/vegadb/vega-flight/ivm/state"
)

// Bound is a comparison with a time that follows the clock. A row whose field is NULL, or a time that is NULL, does not hold.
type Bound struct {
	Field    int  // of one word
	Below    bool // Field < At: rows come in as the time passes; else Field > At: they go out
	OrEqual  bool
	Monotone bool // At never goes back
	At       func(now int64) (word uint64, ok bool, err error)
}

// bound is a Bound and the rows in its order.
type bound struct {
	Bound
	entry *projection // its field, then those of all bounds, then the row
	table *state.Table
	op    transform
	at    int // word of its field in any table's entries
	cell  cell
	was   moment
	is    moment
	row   []uint64
}

// moment is a bound's time: the least field word that holds, or that does not. It is in the first table's payload.
type moment struct {
	word uint64 // transformed
	ok   bool
	all  bool // beyond every word
}

// moment computes a bound's time.
func (b *bound) moment(now int64) (moment, error) {
	w, ok, err := b.At(now)
	if err != nil || !ok {
		return moment{}, err
	}
	m := moment{word: b.op.word(w), ok: true}
	if b.Below == b.OrEqual { // Field <= At is Field < At + 1, Field > At is Field >= At + 1
		if m.word++; m.word == 0 {
			m.all = true
		}
	}
	return m, nil
}

// holds says that a field word v, transformed, holds at m.
func (b *bound) holds(m *moment, v uint64) bool {
	switch {
	case !m.ok:
		return false
	case m.all:
		return b.Below
	case b.Below:
		return v < m.word
	}
	return v >= m.word
}

// between is the range of words whose rows differ between two moments, the last included.
func (b *bound) between() (from, to uint64, any bool) {
	switch {
	case b.was == b.is:
		return 0, 0, false
	case b.was.ok != b.is.ok:
		return 0, ^uint64(0), true
	}
	x, y := b.was, b.is
	if x.all || !y.all && y.word < x.word {
		x, y = y, x
	}
	if y.all {
		return x.word, ^uint64(0), true
	}
	return x.word, y.word - 1, true
}

func (m *moment) save(p []uint64) {
	p[0], p[1] = 0, m.word
	if m.ok {
		p[0] |= 1
	}
	if m.all {
		p[0] |= 2
	}
}

func (m *moment) restore(p []uint64) { *m = moment{word: p[1], ok: p[0]&1 != 0, all: p[0]&2 != 0} }
