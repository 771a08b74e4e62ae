package dataflow

import (
	"context"
	"math/bits"
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// sums stand for the rows of a join's side of which only sums and counts are asked for: of each key there is the number of rows and, for
// each field, the number of its values and their sum. A change goes on as it is; where the rows of a key are wanted there are others
// instead, as many of them and with the same sums, which are few:
//
//	one row with each field's sum, and then rows of zeros, and of NULLs, with the weights that the numbers want
//
// Whoever reads the output sees the fields' sums, counts and the other side's rows as often as they are there, and nothing else.
type sums struct {
	layout *row.Layout // the fields, wide enough for their sums
	from   []cell      // where they are in the side's rows

	rows, loose *zset.Batch

	words   []uint64 // of one key's rows
	weights []int64
	ends    []int64
}

// wideType has room for the sums of an integer or a decimal of one word; ok is false for other types.
func wideType(t row.Type) (wide row.Type, ok bool) {
	switch {
	case wordInteger(t):
		return row.Type{Kind: row.Int128}, true
	case t.Kind == row.Decimal && t.Words() == 1:
		return row.Type{Kind: row.Decimal, Width: 38, Scale: t.Scale}, true
	}
	return t, false
}

func newSums(l *row.Layout, fields []int) *sums {
	s := &sums{}
	types := make([]row.Type, len(fields))
	for i, f := range fields {
		types[i], _ = wideType(l.Types[f])
		s.from = append(s.from, cellOf(l, f))
	}
	s.layout = row.NewLayout(types...)
	s.rows, s.loose = zset.New(s.layout), zset.New(s.layout)
	return s
}

// payload is how many words a key has.
func (s *sums) payload() int { return 1 + 3*len(s.from) }

// widen makes the fields' rows of the side's.
func (s *sums) widen(to, from *zset.Batch) *zset.Batch {
	n, w := from.Len(), s.layout.Words
	to.Words = slices.Grow(to.Words[:0], n*w)[:n*w]
	clear(to.Words)
	to.Weights = append(to.Weights[:0], from.Weights...)
	for i := range n {
		r, d := from.Row(i), to.Words[i*w:i*w+w]
		for k, c := range s.from {
			if r[c.null]>>c.bit&1 != 0 {
				d[k>>6] |= 1 << (uint(k) & 63)
				continue
			}
			v := r[c.src]
			d[s.layout.Off[k]] = v
			if c.kind.Kind != row.Uint64 {
				d[s.layout.Off[k]+1] = uint64(int64(v) >> 63)
			}
		}
	}
	return to
}

// add adds a row to a key's numbers.
func (s *sums) add(p, r []uint64, weight int64) {
	w := uint64(weight)
	p[0] += w
	for k := range s.from {
		if r[k>>6]>>(uint(k)&63)&1 != 0 {
			continue
		}
		lo, hi := r[s.layout.Off[k]], r[s.layout.Off[k]+1]
		h, l := bits.Mul64(lo, w)
		h += hi*w - uint64(weight>>63)&lo
		s.put(p, k, w, l, h)
	}
}

// put adds values of field k, and their sum.
func (s *sums) put(p []uint64, k int, n, lo, hi uint64) {
	q := p[1+3*k : 4+3*k]
	q[0] += n
	var carry uint64
	q[1], carry = bits.Add64(q[1], lo, 0)
	q[2], _ = bits.Add64(q[2], hi, carry)
}

// block are rows that stand for those of a key with the numbers p. They are valid until the next call.
func (s *sums) block(p []uint64) (words []uint64, weights []int64, n int) {
	total := int64(p[0])
	s.ends = append(s.ends[:0], min(1, total), total)
	for k := range s.from {
		if c := int64(p[1+3*k]); c > 1 && c < total {
			s.ends = append(s.ends, c)
		}
	}
	slices.Sort(s.ends)
	s.words, s.weights = s.words[:0], s.weights[:0]
	w, from := s.layout.Words, int64(0)
	for i, to := range s.ends {
		if to == from && i > 0 {
			continue
		}
		at := len(s.words)
		s.words = slices.Grow(s.words, w)[:at+w]
		d := s.words[at:]
		clear(d)
		for k := range s.from {
			switch q := p[1+3*k : 4+3*k]; {
			case int64(q[0]) < to:
				d[k>>6] |= 1 << (uint(k) & 63)
			case n == 0:
				d[s.layout.Off[k]], d[s.layout.Off[k]+1] = q[1], q[2]
			}
		}
		s.weights = append(s.weights, to-from)
		from = to
		n++
	}
	return s.words, s.weights, n
}

// summary is what gives the numbers of a side's keys.
func (j *keyJoin) summary(input int) *Summary { return j.sides[input].summary }

func (j *keyJoin) summaryKey(input int) *projection { return j.sides[input].summed }

// sum takes numbers of keys in.
func (j *keyJoin) sum(_ context.Context, _ *Epoch, input int, rows *zset.Batch) error {
	return j.sides[input].sum(rows, j.rules[input][unmatched])
}

func (s *side) sum(rows *zset.Batch, keepLoose bool) error {
	all := viewOf(&zset.Batch{Layout: s.computed.Layout}, &s.computed)
	s.summed.all(all, rows)
	n, l := len(s.computed.Layout.Types), rows.Layout
	p := make([]uint64, s.sums.payload())
	for i := range rows.Len() {
		r := rows.Row(i)
		clear(p)
		p[0] = r[l.Off[n]]
		for k := range s.sums.from {
			total := r[l.Off[n+2+2*k]:] // 0 where it is NULL
			s.sums.put(p, k, r[l.Off[n+1+2*k]], total[0], total[1])
		}
		key := all.Row(i)
		if s.isLoose(key) {
			if keepLoose {
				words, weights, _ := s.sums.block(p)
				s.pending.Words, s.pending.Weights = append(s.pending.Words, words...), append(s.pending.Weights, weights...)
			}
			continue
		}
		ref, _ := s.table.Upsert(key, rows.Heap)
		q := s.table.Payload(ref)
		q[0] += p[0]
		for k := range s.sums.from {
			s.sums.put(q, k, p[1+3*k], p[2+3*k], p[3+3*k])
		}
	}
	return s.table.Err()
}
