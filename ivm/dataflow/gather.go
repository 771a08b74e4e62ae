package dataflow

import (
	"context"

	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// gatheredWords is how much of a content is kept to be loaded by key group: enough for thousands of rows of each, so that what is
// remembered of a group's keys stays in the cache while they are taken in.
const gatheredWords = 1 << 22

// gathered is rows of a content that wait to be loaded.
type gathered struct {
	groups [state.Groups][]*zset.Batch // of each input
	words  int
	sums   []bool // of each input: they are of a summary
}

func newGathered(inputs int) *gathered { return &gathered{sums: make([]bool, inputs)} }

// gather keeps rows of an input by their key group.
func (s *sharded) gather(ctx context.Context, input int, rows *zset.Batch) error {
	if s.gathered == nil {
		s.gathered = newGathered(len(s.routers))
	}
	if err := s.hash(ctx, input, rows); err != nil {
		return err
	}
	s.spread(input, rows, s.routers[input].hashes, s.routers[input].failed)
	return nil
}

// spread keeps rows by their hashes; those that failed have none.
func (s *sharded) spread(input int, rows *zset.Batch, hashes []uint64, failed []int) {
	g, at := s.gathered, 0
	for i, w := range rows.Weights {
		to := 0 // of what has no key, as route says
		if len(failed) > 0 && failed[0] == i {
			failed = failed[1:]
		} else {
			to = state.Group(hashes[at])
			at++
		}
		if g.groups[to] == nil {
			g.groups[to] = make([]*zset.Batch, len(s.routers))
		}
		b := g.groups[to][input]
		if b == nil {
			b = zset.New(rows.Layout)
			g.groups[to][input] = b
		}
		b.Append(rows.Row(i), rows.Heap, w)
	}
	g.words += len(rows.Words) + len(rows.Weights)
}

// settle gives the shards what was gathered for them, group by group.
func (s *sharded) settle(ctx context.Context, e *Epoch) error {
	g := s.gathered
	if g == nil || g.words == 0 {
		return nil
	}
	g.words = 0
	n := len(s.parts)
	return s.each(aloneRows+1, nil, func(i int, _ *zset.Batch) error {
		mine := *e
		for k := range g.groups {
			if k*n>>8 != i {
				continue
			}
			for input, b := range g.groups[k] {
				if b == nil || b.Len() == 0 {
					continue
				}
				var err error
				if g.sums[input] {
					err = s.parts[i].(summarised).sum(ctx, &mine, input, b)
				} else {
					err = s.parts[i].(Loader).Load(ctx, &mine, input, b)
				}
				if err != nil {
					return err
				}
				b.Reset()
			}
		}
		return nil
	})
}
