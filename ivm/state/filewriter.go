package state

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/vegadb/vega-flight/fault"
)

// A fileWriter writes a large checkpoint as sorted files, which the database
// then takes over in one step: neither its log nor its memory sees the rows. It
// is given the groups of keys in order; run sorts and writes them on a goroutine
// of its own.
type fileWriter struct {
	s     *Store
	in    chan []byte
	done  chan struct{}
	ended bool
	paths []string
	file  *sstable.Writer
	run0  int
	err   error
	items []item
}

// item is an operation with the beginning of its key, to sort by.
type item struct {
	a, b     uint64
	key, val []byte
}

// fileSize is small enough for a file's filter to stay in the block cache: one that does not fit is read for every key that is asked for.
const fileSize = 8 << 20

func newFileWriter(s *Store) *fileWriter {
	s.runs++
	w := &fileWriter{s: s, in: make(chan []byte, 256), done: make(chan struct{}), run0: s.runs}
	go w.run()
	return w
}

// ready says that it keeps up.
func (w *fileWriter) ready() bool { return len(w.in) < 2 }

func (w *fileWriter) send(ops []byte) { w.in <- ops }

// end says that all is sent.
func (w *fileWriter) end() {
	if !w.ended {
		w.ended = true
		close(w.in)
	}
}

func (w *fileWriter) run() {
	defer close(w.done)
	for ops := range w.in {
		if w.err == nil {
			w.err = w.write(ops)
		}
		if w.s.ready != nil && w.ready() {
			w.s.ready()
		}
	}
	if w.err == nil {
		w.err = w.close()
	}
}

func (w *fileWriter) write(ops []byte) error {
	w.s.written.Add(int64(len(ops)))
	w.items = w.items[:0]
	for len(ops) > 0 {
		var it item
		it.key, it.val, ops = nextOp(ops)
		it.a, it.b = beginning(it.key)
		w.items = append(w.items, it)
	}
	slices.SortFunc(w.items, func(x, y item) int {
		switch {
		case x.a != y.a:
			if x.a < y.a {
				return -1
			}
			return 1
		case x.b != y.b:
			if x.b < y.b {
				return -1
			}
			return 1
		}
		return bytes.Compare(x.key, y.key)
	})
	if w.file == nil {
		if err := w.open(); err != nil {
			return err
		}
	}
	for _, it := range w.items {
		var err error
		if it.val == nil {
			err = w.file.Delete(it.key)
		} else {
			err = w.file.Set(it.key, it.val)
		}
		if err != nil {
			return err
		}
	}
	if w.file.Raw().EstimatedSize() > fileSize {
		return w.close()
	}
	return nil
}

// beginning is the first 16 bytes of a key, padded with zeros: their order is the order of the keys if it is strict.
func beginning(key []byte) (a, b uint64) {
	if len(key) >= 16 {
		return binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:])
	}
	var p [16]byte
	copy(p[:], key)
	return binary.BigEndian.Uint64(p[:]), binary.BigEndian.Uint64(p[8:])
}

func (w *fileWriter) open() error {
	path := w.s.fs.PathJoin(w.s.dir, ingestDir, fmt.Sprintf("%d-%d.sst", w.run0, len(w.paths)))
	f, err := w.s.fs.Create(path, "checkpoint")
	if err != nil {
		return err
	}
	w.paths = append(w.paths, path)
	// As for level 0: files for the lowest level hide what removes.
	w.file = sstable.NewWriter(objstorageprovider.NewFileWritable(f), w.s.opts.MakeWriterOptions(0, w.s.db.TableFormat()))
	return nil
}

func (w *fileWriter) close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close() // which syncs
	w.file = nil
	return err
}

const ingestDir = "ingest" // of files that the database has not taken over yet

// commit waits for the files and gives them, and the frontier, to the database.
func (w *fileWriter) commit(ctx context.Context, frontier []byte) error {
	select {
	case <-w.done:
	case <-ctx.Done():
		return fault.Cancelled.Wrap(ctx.Err(), "a checkpoint")
	}
	err := w.err
	if err == nil {
		err = w.open()
	}
	for _, f := range w.s.facts(frontier) {
		if err == nil {
			err = w.file.Set([]byte(f.key), f.value)
		}
	}
	if err == nil {
		err = w.close()
	}
	if err == nil {
		err = w.s.db.Ingest(ctx, w.paths)
	}
	if err != nil {
		return fault.StateUnreadable.Wrap(err, "writing a checkpoint to %s", w.s.dir)
	}
	return nil
}

// abort ends the goroutine and removes the files.
func (w *fileWriter) abort() {
	w.end()
	<-w.done
	_ = w.close()
	for _, p := range w.paths {
		_ = w.s.fs.Remove(p)
	}
}
