package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
)

// fingerprintFormat changes when plans that are written alike no longer keep the same state.
const fingerprintFormat = 3

// Fingerprint names the plan by what it means: equal ones keep the same state. Names of results and places in the text are no part of it.
func (p *Plan) Fingerprint() string {
	s := newSharing()
	s.number(p.Root)
	x := &meaning{}
	x.int(fingerprintFormat)
	for _, t := range s.sources {
		x.text(t.String())
		x.bool(t.AppendOnly)
		x.bool(t.Unbounded)
		x.text(t.Watermark)
		x.int(int(t.DelayMicros))
	}
	for _, f := range s.order {
		x.text(f.key)
		columns := slices.SortedFunc(maps.Keys(f.columns), func(a, b string) int { return f.columns[a] - f.columns[b] })
		x.texts(columns)
	}
	shared := map[Node]int{}
	var walk func(n Node)
	walk = func(n Node) {
		if c, ok := n.(*Shared); ok {
			at, again := shared[c]
			if !again {
				at = len(shared)
				shared[c] = at
			}
			if x.int(-1 - at); again {
				return
			}
		}
		part := s.parts[n]
		x.int(part.of.id)
		x.ints(part.columns)
		for _, c := range n.Inputs() {
			walk(c)
		}
	}
	walk(p.Root)
	sum := sha256.Sum256(x.b)
	return hex.EncodeToString(sum[:16])
}
