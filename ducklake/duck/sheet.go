package duck

/*
#include <stdlib.h>
*/
import "C"

import (
	"unsafe"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// SheetRows is the most rows that one chunk has.
const SheetRows = 2048

// Sheet is one chunk that a [Slot] writes.
type Sheet struct {
	Rows    int // to be set; at most SheetRows
	columns []CellWriter
	arena   arena
}

// Column is the i-th column's vector. It is valid until the slot's function returns.
func (s *Sheet) Column(i int) *CellWriter { return &s.columns[i] }

func (s *Sheet) open(chunk ddb.DataChunk, types []*sqlType) {
	s.Rows = 0
	for i := range s.columns {
		raw := ddb.DataChunkGetVector(chunk, ddb.IdxT(i))
		if w := &s.columns[i]; types[i].children == nil && w.target != nil {
			w.target.raw, w.target.data, w.target.validity = raw, ddb.VectorGetData(raw), nil
		} else {
			*w = newCellWriter(newTarget(raw, types[i]), &s.arena)
		}
	}
}

// CellWriter writes one vector: the values of a column, or those inside its lists and structs.
type CellWriter struct {
	target   *target
	arena    *arena
	children []CellWriter
}

func newCellWriter(t *target, a *arena) CellWriter {
	w := CellWriter{target: t, arena: a}
	for _, c := range t.children {
		w.children = append(w.children, newCellWriter(c, a))
	}
	return w
}

// Data is the vector's memory: fixed-width values, or lists' places.
func (w *CellWriter) Data() unsafe.Pointer { return w.target.data }

// SetNull makes a value NULL, and all that is in it.
func (w *CellWriter) SetNull(i int) { w.target.setNull(i) }

// SetBytes writes a text or blob.
func (w *CellWriter) SetBytes(i int, b []byte) {
	s := cell[stringT](w.target, i)
	if len(b) <= inlined {
		*s = stringT{length: uint32(len(b))}
		copy(unsafe.Slice(&s.prefix[0], inlined), b)
		return
	}
	p := w.arena.put(b)
	s.length = uint32(len(b))
	copy(s.prefix[:], b)
	*(*unsafe.Pointer)(unsafe.Pointer(&s.rest)) = p
}

// Child is the writer of what is in the values: the elements of a list or array; the keys (0) and values (1) of a MAP; the i-th
// field of a STRUCT; the tags (0) and the members (from 1 on) of a UNION.
func (w *CellWriter) Child(i int) *CellWriter { return &w.children[i] }

// SetList makes room for n elements in the list (or map) i and returns the position of the first in Child.
func (w *CellWriter) SetList(i, n int) (int, error) {
	first, err := w.target.extend(n)
	if err != nil {
		return 0, err
	}
	*cell[listEntry](w.target, i) = listEntry{offset: uint64(first), length: uint64(n)}
	return first, nil
}

// arena keeps the texts of a slot in memory that is not Go's, so that DuckDB's vectors may point to them, without a call into C
// for each. It forgets them one turn late: a statement that stays open still has the last chunk of the turn before.
type arena struct {
	turns [2]pool
	turn  int
}

func (a *arena) put(b []byte) unsafe.Pointer { return a.turns[a.turn].put(b) }

func (a *arena) next() {
	a.turn ^= 1
	a.turns[a.turn].reset()
}

func (a *arena) free() {
	for i := range a.turns {
		a.turns[i].free()
	}
}

// pool is blocks of memory that are filled one after the other.
type pool struct {
	blocks []block
	at     int // the one that is being filled
	used   int
}

type block struct {
	p    unsafe.Pointer
	size int
}

const blockSize = 1 << 18

func (p *pool) put(b []byte) unsafe.Pointer {
	for p.at < len(p.blocks) && p.blocks[p.at].size-p.used < len(b) {
		p.at, p.used = p.at+1, 0
	}
	if p.at == len(p.blocks) {
		size := max(blockSize, len(b))
		p.blocks = append(p.blocks, block{C.malloc(C.size_t(size)), size})
	}
	at := unsafe.Add(p.blocks[p.at].p, p.used)
	copy(unsafe.Slice((*byte)(at), len(b)), b)
	p.used += len(b)
	return at
}

// reset forgets the texts; of the memory it keeps a few blocks.
func (p *pool) reset() {
	kept := p.blocks[:0]
	for _, b := range p.blocks {
		if len(kept) < 8 && b.size == blockSize {
			kept = append(kept, b)
		} else {
			C.free(b.p)
		}
	}
	p.blocks, p.at, p.used = kept, 0, 0
}

func (p *pool) free() {
	for _, b := range p.blocks {
		C.free(b.p)
	}
	*p = pool{}
}
