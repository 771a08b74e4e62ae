package stream

import (
	"context"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Summariser is a [Source] that can also run a query over a table's rows at a snapshot. An error before the first row means that the
// content is read instead.
type Summariser interface {
	Summary(ctx context.Context, r Reading, at int64, q Summing, take func(*zset.Batch) error) error
	// Relation is the text of what a summary reads: a table's rows at a snapshot, with columns of the names that a summary has for them. It is an
	// error when that is not what the content would be.
	Relation(ctx context.Context, r Reading, at int64) (string, error)
	// Size is about how many rows the table has; negative: that is not known.
	Size(ctx context.Context, r Reading) int64
}

// Summing is a query over a table. Its text reads the table's columns by the names c0, c1 and so on, in the reading's order.
type Summing struct {
	Of     func(relation string) string // the query over a relation
	Layout *row.Layout                  // of its rows
}

// contents are a member's sources as its graph is loaded from them.
type contents struct {
	ctx context.Context
	m   *member
	at  place
	was *kept // what counts of the sources there; nil: all
}

// reading is what is read of a source, and at which snapshot; false: nothing of it.
func (c *contents) reading(i int) (Reading, int64, bool) {
	in := c.m.inputs[i]
	r, from := in.reading, c.at.frontier
	if in.stream {
		from = c.at.published
	}
	r.After = c.m.after
	return r, from, r.After < from || c.m.after <= 0
}

func (c *contents) Rows(i int, take func(*zset.Batch) error) error {
	r, from, some := c.reading(i)
	if !some {
		return nil
	}
	take = c.counted(take)
	if in := c.m.inputs[i]; in.reading.Position >= 0 && r.After > 0 {
		return c.inOrder(r, from, take)
	}
	x := c.missing(i)
	if x == nil {
		return c.m.c.Source.Content(c.ctx, r, from, take)
	}
	if err := c.m.c.Source.Content(c.ctx, r, from, func(b *zset.Batch) error { return take(x.without(b)) }); err != nil {
		return err
	}
	more, err := x.more(from)
	if err != nil || more.Len() == 0 {
		return err
	}
	return take(more)
}

// missing is what an input's content is not to be as it is in the source; nil: nothing.
func (c *contents) missing(i int) *missing {
	if c.was == nil || c.was.missing[i] == nil || len(c.was.missing[i].changes) == 0 {
		return nil
	}
	return c.was.missing[i]
}

// inOrder gives the changes that a content comes of all at once: what of them is late is seen when they are put in order.
func (c *contents) inOrder(r Reading, at int64, take func(*zset.Batch) error) error {
	all := zset.New(r.Layout)
	if err := c.m.c.Source.Content(c.ctx, r, at, func(b *zset.Batch) error { all.AppendBatch(b); return nil }); err != nil || all.Len() == 0 {
		return err
	}
	return take(all)
}

func (c *contents) Summary(q *dataflow.Summary, take func(*zset.Batch) error) error {
	s, ok := c.m.c.Source.(Summariser)
	r, from, some := c.reading(q.Source)
	if !ok || !some {
		return fault.NotYetSupported.Newf("the rows of %s are to be read", r.Name)
	}
	return s.Summary(c.ctx, r, from, Summing{q.Of, q.Layout}, c.counted(take))
}

func (c *contents) Size(i int) int64 {
	if s, ok := c.m.c.Source.(Summariser); ok {
		return s.Size(c.ctx, c.m.inputs[i].reading)
	}
	return 0
}

func (c *contents) counted(take func(*zset.Batch) error) func(*zset.Batch) error {
	return func(b *zset.Batch) error {
		c.m.figures.read(b.Len())
		return take(b)
	}
}
