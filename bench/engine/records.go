package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
)

// record is one change of one row: a row of the table that tag says came (w = 1) or went (w = -1).
type record struct {
	tag, w  int32
	a, b, c int64
}

const (
	recordSize = 32 // bytes in a file, little-endian, fields in order
	headSize   = 12
)

// batch is a step of an input.
type batch struct {
	size    int // in changes; 0 is the first content
	records []record
}

// feed is what a workload is fed with.
type feed struct {
	content []record
	batches []batch
}

// recordFile writes records.
type recordFile struct {
	f *os.File
	w *bufio.Writer
	n int
}

func newRecordFile(path string) (*recordFile, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &recordFile{f: f, w: bufio.NewWriterSize(f, 1<<20)}, nil
}

// put adds a record; a failed write shows at close.
func (f *recordFile) put(r record) {
	var x [recordSize]byte
	binary.LittleEndian.PutUint32(x[0:], uint32(r.tag))
	binary.LittleEndian.PutUint32(x[4:], uint32(r.w))
	binary.LittleEndian.PutUint64(x[8:], uint64(r.a))
	binary.LittleEndian.PutUint64(x[16:], uint64(r.b))
	binary.LittleEndian.PutUint64(x[24:], uint64(r.c))
	_, _ = f.w.Write(x[:])
	f.n++
}

// head adds the description of a batch, in a file of its own.
func (f *recordFile) head(round, size, records int) {
	var x [headSize]byte
	for i, v := range []int{round, size, records} {
		binary.LittleEndian.PutUint32(x[4*i:], uint32(v))
	}
	_, _ = f.w.Write(x[:])
}

func (f *recordFile) close() error {
	if err := f.w.Flush(); err != nil {
		f.f.Close()
		return err
	}
	return f.f.Close()
}

func readRecords(path string) ([]record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := make([]record, len(text)/recordSize)
	for i := range out {
		x := text[i*recordSize:]
		out[i] = record{
			tag: int32(binary.LittleEndian.Uint32(x)), w: int32(binary.LittleEndian.Uint32(x[4:])),
			a: int64(binary.LittleEndian.Uint64(x[8:])), b: int64(binary.LittleEndian.Uint64(x[16:])), c: int64(binary.LittleEndian.Uint64(x[24:])),
		}
	}
	return out, nil
}

// readFeed reads the input of a workload up to a round.
func readFeed(data, folder string, rounds int) (*feed, error) {
	dir := filepath.Join(data, folder)
	content, err := readRecords(filepath.Join(dir, "backfill.bin"))
	if err != nil {
		return nil, err
	}
	changes, err := readRecords(filepath.Join(dir, "changes.bin"))
	if err != nil {
		return nil, err
	}
	heads, err := os.ReadFile(filepath.Join(dir, "batches.bin"))
	if err != nil {
		return nil, err
	}
	f := &feed{content: content}
	for ; len(heads) >= headSize; heads = heads[headSize:] {
		at := func(i int) int { return int(int32(binary.LittleEndian.Uint32(heads[4*i:]))) }
		if at(0) > rounds {
			break
		}
		n := at(2)
		if n > len(changes) {
			return nil, fmt.Errorf("%s: the batches name more records than there are", dir)
		}
		f.batches = append(f.batches, batch{size: at(1), records: changes[:n:n]})
		changes = changes[n:]
	}
	return f, nil
}
