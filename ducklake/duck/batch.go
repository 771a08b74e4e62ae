package duck

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ddb "github.com/duckdb/duckdb-go-bindings"
)

// A batch leaves when it has so many rows or bytes, or has been filled for so long.
const (
	batchRows   = 64 << 10
	batchBytes  = 2 << 20
	batchLinger = 50 * time.Millisecond
)

// batchBuilder turns chunks into batches. A chunk whose rows are long is
// spread over several batches.
type batchBuilder struct {
	types   []*sqlType
	columns []column
	vectors []vector
	rows    int // collected

	chunk ddb.DataChunk
	left  int // rows of chunk that are not collected yet
	next  int // the first of them
	step  int // so many of them at a time
}

func (b *batchBuilder) init(types []*sqlType, fields []arrow.Field) {
	b.types = types
	b.columns = newColumns(types, fields)
	b.vectors = make([]vector, len(types))
}

// load takes a chunk over.
func (b *batchBuilder) load(chunk ddb.DataChunk) {
	b.chunk, b.next, b.left = chunk, 0, int(ddb.DataChunkGetSize(chunk))
	for i := range b.vectors {
		b.vectors[i].load(ddb.DataChunkGetVector(chunk, ddb.IdxT(i)), b.types[i])
	}
	b.step = b.left
	if weight := b.weight(0, b.left); weight > 2*batchBytes {
		b.step = max(1, b.left*batchBytes/weight)
	}
}

func (b *batchBuilder) weight(from, n int) (w int) {
	for i := range b.vectors {
		w += b.vectors[i].weight(from, n)
	}
	return w
}

// pending says that a chunk has rows left.
func (b *batchBuilder) pending() bool { return b.chunk.Ptr != nil }

// add collects the next rows of the chunk.
func (b *batchBuilder) add() error {
	n := min(b.step, b.left)
	for n > 1 && b.weight(b.next, n) > 2*batchBytes { // the long ones of these rows lie together
		n /= 2
	}
	for i, c := range b.columns {
		if err := c.add(&b.vectors[i], b.next, n); err != nil {
			return err
		}
	}
	b.rows += n
	b.next += n
	if b.left -= n; b.left == 0 {
		b.drop()
	}
	return nil
}

func (b *batchBuilder) drop() {
	ddb.DestroyDataChunk(&b.chunk)
	b.left = 0
}

func (b *batchBuilder) full() bool {
	return b.rows >= batchRows || sizes(b.columns) >= batchBytes
}

func (b *batchBuilder) take(schema *arrow.Schema) arrow.RecordBatch {
	arrays := make([]arrow.Array, len(b.columns))
	for i, c := range b.columns {
		data := c.take()
		arrays[i] = array.MakeFromData(data)
		data.Release()
	}
	batch := array.NewRecordBatch(schema, arrays, int64(b.rows))
	for _, a := range arrays {
		a.Release()
	}
	b.rows = 0
	return batch
}
