package flightsql

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// batches is a source of rows that are in memory already.
type batches struct {
	schema *arrow.Schema
	rest   []arrow.RecordBatch
	now    arrow.RecordBatch
}

// newBatches takes the batches given.
func newBatches(schema *arrow.Schema, list ...arrow.RecordBatch) *batches {
	return &batches{schema: schema, rest: list}
}

func (b *batches) Schema() *arrow.Schema          { return b.schema }
func (b *batches) RecordBatch() arrow.RecordBatch { return b.now }
func (b *batches) Err() error                     { return nil }

func (b *batches) Next() bool {
	if b.now != nil {
		b.now.Release()
		b.now = nil
	}
	if len(b.rest) == 0 {
		return false
	}
	b.now, b.rest = b.rest[0], b.rest[1:]
	return true
}

func (b *batches) Close() error {
	for b.Next() {
	}
	return nil
}

// chain is a source that runs a query once for each row of parameters, one after the other.
type chain struct {
	first  source // open
	schema *arrow.Schema
	next   func() (source, error) // nil, nil at the end
	err    error
}

func (c *chain) Schema() *arrow.Schema          { return c.schema }
func (c *chain) RecordBatch() arrow.RecordBatch { return c.first.RecordBatch() }

func (c *chain) Next() bool {
	for c.err == nil && c.first != nil {
		if c.first.Next() {
			return true
		}
		if c.err = c.first.Err(); c.err != nil {
			return false
		}
		if c.err = c.first.Close(); c.err != nil {
			return false
		}
		var following source
		if following, c.err = c.next(); c.err != nil {
			c.first = nil
			return false
		}
		c.first = following
	}
	return false
}

func (c *chain) Err() error { return c.err }

func (c *chain) Close() error {
	if c.first == nil {
		return nil
	}
	return c.first.Close()
}
