package state

import (
	"github.com/vegadb/vega-flight/ivm/zset"
)

// ahead is how many keys of a batch are looked up together: each step of a
// lookup is done for all of them before the next, so that their cache misses overlap.
const ahead = 64

// UpsertAll is Upsert of every row of b; refs is reused.
func (t *Table) UpsertAll(b *zset.Batch, refs []Ref) []Ref {
	refs = t.hashAll(b, refs)
	w := t.kw
	for from := 0; from < len(refs); from += ahead {
		to := min(from+ahead, len(refs))
		t.lookup(b, from, refs[from:to])
		for i := from; i < to; i++ { // what they lie in is in the cache now
			if refs[i] != None {
				continue
			}
			key := b.Words[i*w : i*w+w] // may have come since the look-up, or lie behind one with the same tag
			if refs[i] = t.find(t.hashes[i], key, b.Heap); refs[i] == None {
				refs[i] = t.create(t.hashes[i], key, b.Heap)
			}
		}
	}
	return refs
}

// FindAll is Find of every row of b, with None where the key is not there.
func (t *Table) FindAll(b *zset.Batch, refs []Ref) []Ref {
	refs = t.hashAll(b, refs)
	w := t.kw
	for from := 0; from < len(refs); from += ahead {
		to := min(from+ahead, len(refs))
		t.lookup(b, from, refs[from:to])
		for i := from; i < to; i++ {
			if refs[i] == None {
				refs[i] = t.find(t.hashes[i], b.Words[i*w:i*w+w], b.Heap)
			}
		}
	}
	return refs
}

// hashAll hashes the keys of a batch, and makes room for their refs.
func (t *Table) hashAll(b *zset.Batch, refs []Ref) []Ref {
	n := b.Len()
	t.hashes = t.spec.Key.HashAll(t.hashes, b.Words, n, b.Heap)
	if cap(refs) < n {
		refs = make([]Ref, n, n+n/4)
	}
	return refs[:n]
}

// lookup finds keys of a batch, from one on, that lie in the first place whose tag is theirs; for the others it says None.
func (t *Table) lookup(b *zset.Batch, from int, part []Ref) {
	hashes := t.hashes[from : from+len(part)]
	for i, hash := range hashes {
		part[i] = t.candidate(hash >> 32)
	}
	w := t.kw
	words := b.Words[from*w : (from+len(part))*w]
	if w == 2 && t.store == nil && t.spec.Key.Fixed() { // null bits and a word: the most frequent key
		for i, ref := range part {
			if ref != None {
				o := int(uint32(ref)&t.recMask) * t.stride
				if r := t.recs[uint32(ref)>>t.recShift][o : o+2]; r[1] != words[2*i+1] || r[0] != words[2*i] {
					part[i] = None
				}
			}
		}
		return
	}
	for i, ref := range part {
		if ref == None {
			continue
		}
		if !t.matches(ref, words[i*w:i*w+w], b.Heap) {
			part[i] = None
		} else if t.store != nil {
			part[i] = t.met(ref)
		}
	}
}

// candidate is the record of the first slot with the tag.
func (t *Table) candidate(tag uint64) Ref {
	seg := t.index.segment(tag)
	mask := uint64(len(seg) - 2)
	for i := tag & mask; ; i = (i + 1) & mask {
		s := seg[i]
		if s>>32 == tag && s != 0 {
			return Ref(uint32(s) - 1)
		}
		if s == 0 {
			return None
		}
	}
}

// AddAll is Add of entry i to refs[i], for each i.
func (t *Table) AddAll(refs []Ref, entries *zset.Batch) {
	for from := 0; from < len(refs); from += Window {
		to := min(from+Window, len(refs))
		t.Warm(refs[from:to], entries.Words[from*t.ew:to*t.ew])
		for i := from; i < to; i++ {
			t.Add(refs[i], entries.Row(i), entries.Heap, entries.Weights[i])
		}
	}
}
