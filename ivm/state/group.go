package state

import (
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
)

// Groups is how many key groups there are. A key's group is the upper byte of the
// hash of the fields that Spec.Group names. Who spreads rows over the parts of
// several tables hashes rows of just these fields: so rows and keys that agree in
// them are in the same part of each table, however many parts there are.
const Groups = 256

// Shard is the part, of n, that keys with the hash belong to. Parts are ranges
// of key groups, which are what moves when n changes.
func Shard(hash uint64, n int) int { return Group(hash) * n >> 8 }

// Group is the key group of a hash.
func Group(hash uint64) int { return int(hash >> 56) }

// Part is which part of a table's keys a Table has, and how much of it may be in memory.
type Part struct {
	From, To int // key groups, To not included; 0, 0 is all
	Budget   int // bytes; 0 is no bound
}

// PartOf is part i of n, as [Shard] counts.
func PartOf(i, n int) Part {
	first := func(i int) int { return (i*Groups + n - 1) / n }
	return Part{From: first(i), To: first(i + 1)}
}

// Hash is what [Group] and [Shard] tell a key's place by.
func (s Spec) Hash(key []uint64, h *row.Heap) uint64 {
	if l := s.leading(); l != nil {
		return l.hash(key, h)
	}
	return s.Key.Hash(key, h)
}

// leading makes rows of the first fields of a key.
type leading struct {
	layout *row.Layout
	from   int    // word of the key where its fields begin
	mask   uint64 // of the last word of null bits
	row    []uint64
}

// leading is nil when the whole key decides.
func (s Spec) leading() *leading {
	if s.Group == 0 || s.Group == len(s.Key.Types) {
		return nil
	}
	l := &leading{layout: row.NewLayout(s.Key.Types[:s.Group]...), from: s.Key.Nulls, mask: ^uint64(0)}
	if n := uint(s.Group & 63); n != 0 {
		l.mask = 1<<n - 1
	}
	l.row = make([]uint64, l.layout.Words)
	return l
}

func (l *leading) hash(key []uint64, h *row.Heap) uint64 {
	n := l.layout.Nulls
	copy(l.row[:n], key)
	l.row[n-1] &= l.mask
	copy(l.row[n:], key[l.from:])
	return l.layout.Hash(l.row, h)
}

// groupOf is the key group of a record.
func (t *Table) groupOf(r []uint64) int {
	if l := t.store.leading; l != nil {
		return Group(l.hash(r, &t.heap))
	}
	return Group(r[t.meta])
}

// groupIn is the key group of a key with the hash, which has to be one of the
// part's: a key of another part would be written where nobody looks for it.
func (t *Table) groupIn(hash uint64, key []uint64, h *row.Heap) int {
	b := t.store
	g := Group(hash)
	if b.leading != nil {
		g = Group(b.leading.hash(key, h))
	}
	if g < b.from || g >= b.to {
		b.fail(fault.InternalError.Newf("the key (%s) of group %d is looked for in the groups %d to %d of the table %s",
			t.spec.Key.Format(key, h), g, b.from, b.to-1, b.name))
	}
	return g
}
