package state

import (
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Open makes a table over a store with what its newest checkpoint has of it: of
// the whole table, or of a part of its key groups, which need not be a part that
// was written. Tables over one store must not overlap, and all are opened before
// the first Capture.
func Open(s *Store, name string, spec Spec, part Part) (_ *Table, err error) {
	defer func() { s.caught(recover(), &err) }()
	if part.To == 0 {
		part.To = Groups
	}
	n, err := s.tableNumber(name, spec)
	if err != nil {
		return nil, err
	}
	t := New(spec)
	t.store = &backing{s: s, from: part.From, to: part.To, ghost: None, dirty: flagDirtyA, captured: flagDirtyB, leafDirty: leafDirtyA, leafCaptured: leafDirtyB,
		name: name, parted: part.To-part.From < Groups, leading: spec.leading(),
		prefix: binary.BigEndian.AppendUint16([]byte{prefixData}, n)}
	if spec.Entry != nil {
		t.store.scratch = zset.New(spec.Entry)
	}
	if err := t.restore(part.Budget); err != nil {
		return nil, err
	}
	s.tables = append(s.tables, t)
	slices.SortStableFunc(s.tables, func(a, b *Table) int {
		if c := slices.Compare(a.store.prefix, b.store.prefix); c != 0 {
			return c
		}
		return a.store.from - b.store.from
	})
	return t, nil
}

// scan calls f for all that the store has of the table, until it says false.
func (t *Table) scan(f func(key, val []byte) (bool, error)) error {
	b := t.store
	bound := func(group int) []byte {
		k := append([]byte{}, b.prefix...)
		if group == Groups {
			k = binary.BigEndian.AppendUint16([]byte{prefixData}, binary.BigEndian.Uint16(k[1:])+1)
			return k
		}
		return append(k, byte(group))
	}
	it, err := b.s.db.NewIter(&pebble.IterOptions{LowerBound: bound(b.from), UpperBound: bound(b.to)})
	if err != nil {
		return fault.StateUnreadable.Wrap(err, "reading the checkpoint in %s", b.s.dir)
	}
	more := true
	for ok := it.First(); ok && more && err == nil; ok = it.Next() {
		more, err = f(it.Key(), it.Value())
	}
	if e := it.Close(); e != nil && err == nil {
		err = fault.StateUnreadable.Wrap(e, "reading the checkpoint in %s", b.s.dir)
	}
	return err
}

// restore fills an empty table; what is beyond the budget stays in the store.
func (t *Table) restore(budget int) error {
	b := t.store
	key := make([]uint64, t.kw)
	var h row.Heap
	var tree treeReader
	var at []uint64 // the record whose leaves come, nil if it is not kept
	known := false  // a record with a tree came before
	end := func() error {
		if at == nil {
			return nil
		}
		r := at
		at = nil
		return tree.finish(t, r)
	}
	fixed := t.spec.Key.Fixed()
	err := t.scan(func(k, val []byte) (bool, error) {
		kb := k[groupAt+1:]
		var rest []byte
		var err error
		if fixed && len(kb) >= 8*t.kw {
			rest = row.ReadWords(key, kb)
		} else {
			h.Reset()
			rest, err = t.spec.Key.ReadBytes(key, kb, &h)
		}
		if err != nil {
			return false, err
		}
		if len(rest) > 0 {
			if !known || len(rest) != 4 {
				return false, damaged("a leaf's key")
			}
			b.leaves = max(b.leaves, binary.BigEndian.Uint32(rest))
			if at == nil {
				return true, nil
			}
			return true, tree.leaf(t, rest, val, budget)
		}
		if err := end(); err != nil {
			return false, err
		}
		known = len(val) > 0 && val[0] == 1
		if budget > 0 && b.away > 0 || budget > 0 && t.used() > budget {
			b.away++
			return true, nil
		}
		hash := t.spec.Key.Hash(key, &h)
		ref, r := t.newRecord(hash)
		t.spec.Key.Copy(r[:t.kw], &t.heap, key, &h)
		t.index.insert(hash>>32, uint32(ref)+1)
		r[t.meta] = r[t.meta]&^flagUsed | flagStored
		isTree, err := t.readRecord(r, val)
		if isTree {
			at = r
		}
		return true, err
	})
	if err != nil {
		return err
	}
	return end()
}

// treeReader makes a key's tree from its leaves, which come in any order.
type treeReader struct {
	firsts *zset.Batch
	slots  [][slotWords]uint64
}

// leaf reads a leaf; beyond the budget only what has to be known of it.
func (x *treeReader) leaf(t *Table, id, val []byte, budget int) error {
	if len(id) != 4 {
		return damaged("a leaf's key")
	}
	s, err := t.readLeaf(binary.BigEndian.Uint32(id), val)
	if err != nil {
		return err
	}
	if x.firsts == nil {
		x.firsts = zset.New(t.spec.Entry)
	}
	x.firsts.Append(t.block(s[slotRef])[:t.ew], &t.heap, 1)
	if budget > 0 && t.used() > budget {
		t.dropLeaf(s[:])
	}
	x.slots = append(x.slots, s)
	return nil
}

func (x *treeReader) finish(t *Table, r []uint64) error {
	if len(x.slots) == 0 {
		return damaged("a tree")
	}
	order := make([]int32, len(x.slots))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return t.cmpOutside(x.firsts.Row(int(a)), x.firsts.Row(int(b)), x.firsts.Heap)
	})
	g := grower{t: t}
	for _, i := range order {
		g.add(0, x.firsts.Row(int(i))[t.en]&t.mask0, x.slots[i])
	}
	g.finish(r[t.meta:])
	x.firsts.Reset()
	x.slots = x.slots[:0]
	return nil
}

// cmpOutside orders two entries from outside.
func (t *Table) cmpOutside(a, b []uint64, h *row.Heap) int {
	if !t.vars {
		return t.cmp(a, b, h)
	}
	at := t.en
	for _, i := range t.spec.Entry.Vars {
		o := t.spec.Entry.Off[i]
		if c := row.CompareWords(a[at:o], b[at:o]); c != 0 {
			return c
		}
		if c := row.CompareVar(a[o], a[o+1], h, b[o], b[o+1], h); c != 0 {
			return c
		}
		at = o + 2
	}
	if c := row.CompareWords(a[at:], b[at:]); c != 0 {
		return c
	}
	return row.CompareWords(a[:t.en], b[:t.en])
}
