package row

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestSharedHeap puts and frees values of which some are equal, and in between so many that none is there twice that it stops looking.
func TestSharedHeap(t *testing.T) {
	var h Heap
	h.Share()
	type held struct {
		ref  uint64
		text string
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var all []held
	check := func(x held) {
		if got := h.Get(x.ref, len(x.text)); string(got) != x.text {
			t.Fatalf("%q, want %q", got, x.text)
		}
	}
	for range 6 {
		for _, few := range []bool{true, false} {
			for range 40_000 {
				if len(all) > 0 && rng.IntN(5) < 2 {
					i := rng.IntN(len(all))
					check(all[i])
					h.Free(all[i].ref, len(all[i].text))
					all[i] = all[len(all)-1]
					all = all[:len(all)-1]
					continue
				}
				n := 13 + rng.IntN(100)
				if rng.IntN(1000) == 0 {
					n = largest - 20 + rng.IntN(40)
				}
				b := bytes.Repeat([]byte{byte('a' + rng.IntN(3))}, n)
				if !few {
					for i := range min(n, 24) {
						b[i] = byte(rng.IntN(256))
					}
				}
				all = append(all, held{h.Put(b), string(b)})
			}
		}
		for _, x := range all {
			check(x)
		}
	}
	for _, x := range all {
		check(x)
		h.Free(x.ref, len(x.text))
	}
	if h.Size() != 0 {
		t.Errorf("%d bytes are in use at the end", h.Size())
	}
	text := []byte(strings.Repeat("equal", 20))
	h.Reset()
	one, two := h.Put(text), h.Put(text)
	if one != two {
		t.Error("equal values are kept apart after a reset")
	}
	size := h.Size()
	for range 1000 {
		h.Put(text)
	}
	if h.Size() != size {
		t.Errorf("a thousand more take %d bytes", h.Size()-size)
	}
}

// TestSharedHeapOfOneHash has values of which the index sees one hash.
func TestSharedHeapOfOneHash(t *testing.T) {
	var h Heap
	h.Share()
	s := h.shared
	refs := []uint64{}
	for i := range uint64(20) {
		seg := s.room(7)
		mask := len(seg.slots)/2 - 1
		at := 7 & mask
		for seg.slots[2*at+1] != 0 {
			at = (at + 1) & mask
		}
		seg.slots[2*at], seg.slots[2*at+1] = 7<<32|40, i+1
		seg.used++
		refs = append(refs, i+1)
	}
	for len(refs) > 0 {
		i := (len(refs) * 7) % len(refs)
		s.remove(7, refs[i])
		refs = append(refs[:i], refs[i+1:]...)
		n := 0
		for k := 1; k < len(s.segments[0].slots); k += 2 {
			if s.segments[0].slots[k] != 0 {
				n++
			}
		}
		if n != len(refs) {
			t.Fatalf("%d values are in the index, want %d", n, len(refs))
		}
	}
}
