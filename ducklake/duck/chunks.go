package duck

import (
	"context"
	"unsafe"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// Chunks is a running statement whose result is read chunk by chunk in DuckDB's own vectors, without Arrow between. Its
// connection is busy until Close.
//
// With a streaming buffer of one chunk, DuckDB runs a statement only as far as its result is asked for, so a statement over a
// [Slot] may stay open and be given rows again and again.
type Chunks struct {
	stmt    *Stmt
	res     *ddb.Result
	types   []*sqlType
	current ddb.DataChunk
	columns []Cells
	Rows    int
}

// Chunks starts the statement.
func (s *Stmt) Chunks(ctx context.Context, args ...any) (*Chunks, error) {
	c := s.conn
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	stop := c.watch(ctx)
	res, err := s.run(args)
	stop()
	if err != nil {
		c.give()
		return nil, withContext(ctx, err)
	}
	f := resultFrame(res)
	return &Chunks{stmt: s, res: res, types: f.types, columns: make([]Cells, len(f.types))}, nil
}

// Next makes the next chunk current; false at the end.
func (c *Chunks) Next(ctx context.Context) (bool, error) {
	c.drop()
	stop := c.stmt.conn.watch(ctx)
	chunk := ddb.FetchChunk(*c.res)
	stop()
	if chunk.Ptr == nil {
		if message := ddb.ResultError(c.res); message != "" {
			return false, withContext(ctx, c.stmt.conn.db.fail(message, c.stmt.sql))
		}
		return false, nil
	}
	c.current = chunk
	c.Rows = int(ddb.DataChunkGetSize(chunk))
	for i := range c.columns {
		c.columns[i].v.load(ddb.DataChunkGetVector(chunk, ddb.IdxT(i)), c.types[i])
	}
	return true, nil
}

// Column is the i-th column of the current chunk, valid until the next call of Next.
func (c *Chunks) Column(i int) *Cells { return &c.columns[i] }

func (c *Chunks) drop() {
	if c.current.Ptr != nil {
		ddb.DestroyDataChunk(&c.current)
		c.current = ddb.DataChunk{}
	}
}

// Close ends the statement.
func (c *Chunks) Close() {
	if c.res == nil {
		return
	}
	c.drop()
	c.stmt.conn.discard(c.res, false)
	c.res = nil
	c.stmt.conn.give()
}

// Cells is one vector that is read.
type Cells struct{ v vector }

// Data is the vector's memory: fixed-width values, or lists' places.
func (c *Cells) Data() unsafe.Pointer { return c.v.data }

// Validity is the bits of the values that are not NULL, in words of 64; nil when none is NULL.
func (c *Cells) Validity() unsafe.Pointer { return c.v.validity }

// Valid says that the i-th value is not NULL.
func (c *Cells) Valid(i int) bool { return c.v.valid(i) }

// Bytes is the i-th text or blob, valid as long as its chunk.
func (c *Cells) Bytes(i int) []byte { return c.v.bytesAt(i) }

// List is where the elements of the i-th list lie in Child(0), of a map in Child(0) and Child(1).
func (c *Cells) List(i int) (first, n int) {
	e := at[listEntry](&c.v, i)
	return int(e.offset), int(e.length)
}

// Child is what is in the values, as of [CellWriter.Child].
func (c *Cells) Child(i int) *Cells { return (*Cells)(unsafe.Pointer(&c.v.children[i])) }
