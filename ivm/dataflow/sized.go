package dataflow

import (
	"slices"

	"github.com/vegadb/vega-flight/ivm/zset"
)

// sized is an operator that knows, once it is loaded, about how many rows it is to emit. A content is large: to copy it again and again
// while it grows costs as much as to make it.
type sized interface {
	emits() int
}

// roomFor makes room for what an operator is to emit.
func roomFor(op Operator, out *zset.Batch) {
	if s, ok := op.(sized); ok {
		n := s.emits()
		out.Words, out.Weights = slices.Grow(out.Words, n*out.Layout.Words), slices.Grow(out.Weights, n)
	}
}

// emitBeside has the shards emit side by side into one batch, each into a part of it that has the room that it asks for.
func (s *sharded) emitBeside(out *zset.Batch, emit func(i int, out *zset.Batch) error) error {
	sizes := make([]int, len(s.parts))
	err := s.each(aloneRows+1, nil, func(i int, _ *zset.Batch) error {
		sizes[i] = s.parts[i].(sized).emits()
		return nil
	})
	if err != nil {
		return err
	}
	total, w := 0, out.Layout.Words
	for _, n := range sizes {
		total += n
	}
	words, weights := slices.Grow(out.Words[:0], total*w)[:total*w], slices.Grow(out.Weights[:0], total)[:total]
	parts, at := make([]*zset.Batch, len(s.parts)), 0
	for i, n := range sizes {
		to := at + n
		parts[i] = &zset.Batch{Layout: out.Layout, Heap: out.Heap, Words: words[at*w : at*w : to*w], Weights: weights[at:at:to]}
		at = to
	}
	if err := s.each(aloneRows+1, nil, func(i int, _ *zset.Batch) error { return emit(i, parts[i]) }); err != nil {
		return err
	}
	for i, p := range parts {
		if p.Len() > sizes[i] { // it has grown out of its place
			words, weights = nil, nil
		}
	}
	out.Words, out.Weights = words[:0], weights[:0]
	for _, p := range parts { // what lies there already stays where it is; behind what is shorter it moves up
		out.AppendBatch(p)
	}
	return nil
}
