package changelog

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/util"

	"github.com/vegadb/vega-flight/fault"
)

// tape is a sequence of batches that is written once, by one goroutine, and read by any number, also while it is written. What does not fit
// its share of memory goes to a file that has no name any more.
type tape struct {
	key   tapeKey
	c     *Changelog
	stop  context.CancelFunc // of what writes it
	with  []int64            // commits that may be read with this one, which is the first
	rows  atomic.Int64
	ready chan struct{} // closed when it is over

	mu     sync.Mutex
	chunks []chunk
	over   bool
	err    error
	grew   chan struct{} // closed and renewed when something is added
	memory int64
	file   *os.File
	size   int64 // of the file

	refs   int  // guarded by the changelog's mu
	cached bool // so too
	used   int64
}

// tapeKey says what a tape has.
type tapeKey struct {
	uuid     string
	snapshot int64
	what     what
	zone     string
}

// what a tape has of a snapshot.
type what uint8

const (
	changes what = iota // rows that came and went, with weights
	upserts             // of each key that changed, its row that is there now, or that went
	content             // the whole table
)

// chunk is one batch of a tape.
type chunk struct {
	batch     arrow.RecordBatch // nil: it lies in the file
	from, len int64
	weight    int64 // of all rows; 0: they differ
}

func newTape(c *Changelog, key tapeKey, stop context.CancelFunc) *tape {
	return &tape{key: key, c: c, stop: stop, ready: make(chan struct{}), grew: make(chan struct{})}
}

// add appends a batch, whose memory is the tape's from now on.
func (t *tape) add(batch arrow.RecordBatch, weight int64) error {
	size := util.TotalRecordSize(batch)
	one := chunk{batch: batch, weight: weight}
	t.mu.Lock()
	spill := t.memory+size > t.c.TapeBytes
	t.mu.Unlock()
	if spill {
		var err error
		if one, err = t.spill(batch, weight); err != nil {
			return err
		}
		size = 0
	}
	t.rows.Add(batch.NumRows())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.chunks = append(t.chunks, one)
	t.memory += size
	t.signalLocked()
	return nil
}

func (t *tape) signalLocked() {
	close(t.grew)
	t.grew = make(chan struct{})
}

// spill writes a batch to the file. Only the tape's writer comes here.
func (t *tape) spill(batch arrow.RecordBatch, weight int64) (chunk, error) {
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(batch.Schema()))
	if err := w.Write(batch); err != nil {
		return chunk{}, err
	}
	if err := w.Close(); err != nil {
		return chunk{}, err
	}
	if err := t.c.book(int64(b.Len())); err != nil {
		return chunk{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size += int64(b.Len()) // booked, whatever happens
	if t.file == nil {
		f, err := os.CreateTemp(t.c.Dir, "vega-subscription-*")
		if err != nil {
			return chunk{}, err
		}
		t.file = f
		if err := os.Remove(f.Name()); err != nil { // whatever happens to the process, nothing is left
			return chunk{}, err
		}
	}
	from := t.size - int64(b.Len())
	if _, err := t.file.WriteAt(b.Bytes(), from); err != nil {
		return chunk{}, err
	}
	return chunk{from: from, len: int64(b.Len()), weight: weight}, nil
}

// end says that nothing more comes.
func (t *tape) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.over, t.err = true, err
	t.signalLocked()
	close(t.ready)
}

// at waits for a batch, and tells nil when there is none.
func (t *tape) at(ctx context.Context, i int) (arrow.RecordBatch, int64, error) {
	for {
		t.mu.Lock()
		if i < len(t.chunks) {
			one, file := t.chunks[i], t.file
			t.mu.Unlock()
			if one.batch != nil {
				return one.batch, one.weight, nil
			}
			batch, err := readChunk(file, one)
			return batch, one.weight, err
		}
		over, err, grew := t.over, t.err, t.grew
		t.mu.Unlock()
		if over {
			return nil, 0, err
		}
		select {
		case <-grew:
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
}

// length waits until the tape is over.
func (t *tape) length(ctx context.Context) (int, error) {
	select {
	case <-t.ready:
		return len(t.chunks), t.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

func readChunk(file *os.File, one chunk) (arrow.RecordBatch, error) {
	b := make([]byte, one.len)
	if _, err := file.ReadAt(b, one.from); err != nil {
		return nil, fmt.Errorf("changelog: reading kept rows: %w", err)
	}
	r, err := ipc.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("changelog: reading kept rows: %w", err)
	}
	defer r.Release()
	if !r.Next() {
		return nil, fmt.Errorf("changelog: reading kept rows: %w", r.Err())
	}
	batch := r.RecordBatch()
	batch.Retain()
	return batch, nil
}

// free stops what writes the tape and lets go of its file, when nobody reads it any more.
func (t *tape) free() {
	t.stop()
	<-t.ready
	t.mu.Lock()
	defer t.mu.Unlock()
	t.chunks = nil
	if t.file != nil {
		if err := t.file.Close(); err != nil {
			t.c.log.Warn("a file of kept rows", "err", err)
		}
	}
	t.c.disk.Add(-t.size)
	t.size = 0
}

// book counts bytes on disk.
func (c *Changelog) book(n int64) error {
	if total := c.disk.Add(n); total > c.DiskBytes {
		c.disk.Add(-n)
		return fault.QuotaExceeded.Newf("the rows kept for subscribers fill the %d MiB that the server has for them", c.DiskBytes>>20).
			WithHint("subscribe again later, or read faster")
	}
	return nil
}
