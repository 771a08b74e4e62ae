package main

import (
	"fmt"
	"math/bits"
)

// The floor: each workload maintained by code written for it alone, without an engine. It says what the machine and the language give.
// Numbers lie in slices without pointers; groups are numbered in the order in which they come and never leave; long batches are
// looked up first and then applied, so that the memory works on many rows at once.

// floor maintains one part of a workload: the rows whose key falls into it.
type floor interface {
	apply(batch []record, out *deltas)
}

// deltas is rows of words, each behind its weight. It grows by pieces, so that nothing is moved.
type deltas struct {
	width int // words of a row, with its weight
	full  [][]int64
	words []int64
}

const pieceWords = 1 << 18

func newDeltas(columns int) *deltas { return &deltas{width: columns + 1} }

// row is the next row.
func (d *deltas) row() []int64 {
	n := len(d.words)
	if n+d.width > cap(d.words) {
		if n > 0 {
			d.full = append(d.full, d.words)
		}
		d.words = make([]int64, 0, pieceWords/d.width*d.width)
		n = 0
	}
	d.words = d.words[:n+d.width]
	return d.words[n : n+d.width : n+d.width]
}

// held is the bytes that it has from Go.
func (d *deltas) held() int {
	n := cap(d.words)
	for _, p := range d.full {
		n += cap(p)
	}
	return 8 * n
}

func (d *deltas) pieces() [][]int64 { return append(d.full, d.words) }

// numbers gives each key a number, densely from 0.
type numbers struct {
	slots []numbered
	shift uint
	n     int
}

type numbered struct {
	key int64
	at  int32 // the number, plus 1
}

func newNumbers() *numbers { return &numbers{slots: make([]numbered, 1<<10), shift: 64 - 10} }

func spread(key int64) uint64 { return uint64(key) * 0x9e3779b97f4a7c15 }

// of is a key's number; the key is new if it is n before the call.
func (m *numbers) of(key int64) int32 {
	mask := len(m.slots) - 1
	for i := int(spread(key) >> m.shift); ; i = (i + 1) & mask {
		s := &m.slots[i]
		if s.at == 0 {
			if 2*m.n >= len(m.slots) {
				m.grow()
				return m.of(key)
			}
			m.n++
			s.key, s.at = key, int32(m.n)
			return int32(m.n - 1)
		}
		if s.key == key {
			return s.at - 1
		}
	}
}

func (m *numbers) grow() {
	old := m.slots
	m.slots = make([]numbered, 4*len(old))
	m.shift = uint(64 - bits.TrailingZeros(uint(len(m.slots))))
	mask := len(m.slots) - 1
	for _, s := range old {
		if s.at == 0 {
			continue
		}
		i := int(spread(s.key) >> m.shift)
		for m.slots[i].at != 0 {
			i = (i + 1) & mask
		}
		m.slots[i] = s
	}
}

// runs is lists of a few numbers each, in one slice. Capacities are powers of two; runs that were left are used again.
type runs struct {
	words []int64
	free  [32][]uint32
}

func (r *runs) take(class uint8) uint32 {
	if f := r.free[class]; len(f) > 0 {
		r.free[class] = f[:len(f)-1]
		return f[len(f)-1]
	}
	at := uint32(len(r.words))
	for range 1 << class {
		r.words = append(r.words, 0)
	}
	return at
}

func (r *runs) leave(at uint32, class uint8) { r.free[class] = append(r.free[class], at) }

const lookahead = 1024 // records that are looked up before they are applied

func newFloor(w *workload) (func() floor, int, error) {
	switch w.name {
	case "w1":
		return func() floor { return newSums() }, 3, nil
	case "w1b":
		return func() floor { return newProfiles() }, 6, nil
	case "w2":
		return func() floor { return newPairs(joined) }, 3, nil
	case "w2b":
		return func() floor { return newPairs(totalled) }, 2, nil
	case "w3":
		return func() floor { return newPairs(padded) }, 5, nil
	case "w4":
		return func() floor { return newTops() }, 3, nil
	}
	return nil, 0, fmt.Errorf("there is no floor for %s", w.name)
}
