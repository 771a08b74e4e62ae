package state

import (
	"io/fs"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// still is a file system that stands still from the first failure on of what Pebble cannot go on without: its log, its manifest, its folder.
// Pebble ends the process for these, at places where nobody can catch it, be it for a quota that is used up. What it writes then seems to be
// written, and the disk stays as a power cut would have left it; the store says that it is of no use any more, and is opened again.
type still struct {
	vfs.FS
	failure atomic.Pointer[error]
	nowhere *vfs.MemFS  // has what is begun after it, for who reads it again
	opening atomic.Bool // a database is: what is in its log is to become a table, and Pebble tries that for ever
}

func newStill(fs vfs.FS) *still { return &still{FS: fs, nowhere: vfs.NewMem()} }

// failed is the first failure, nil before.
func (s *still) failed() error {
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *still) stands() bool { return s.failed() != nil }

// bear notes a failure.
func (s *still) bear(err error) {
	if err != nil {
		s.failure.CompareAndSwap(nil, &err)
	}
}

// vital says that Pebble does not go on when this file cannot be written.
func (s *still) vital(name string) bool {
	base := s.PathBase(name)
	return strings.HasSuffix(base, ".log") || strings.HasPrefix(base, "MANIFEST-") || strings.HasPrefix(base, "marker.") ||
		strings.HasSuffix(base, ".sst") && s.opening.Load()
}

// Unwrap gives the file system below.
func (s *still) Unwrap() vfs.FS { return s.FS }

func (s *still) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return s.begin(name, func() (vfs.File, error) { return s.FS.Create(name, c) })
}

func (s *still) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return s.begin(to, func() (vfs.File, error) { return s.FS.ReuseForWrite(from, to, c) })
}

func (s *still) begin(name string, begin func() (vfs.File, error)) (vfs.File, error) {
	err := s.failed()
	var f vfs.File
	if err == nil {
		f, err = begin()
	}
	if !s.vital(name) {
		return f, err
	}
	if err != nil {
		s.bear(err)
		if f, err = s.nowhere.Create(s.PathBase(name), vfs.WriteCategoryUnspecified); err != nil {
			return nil, err
		}
	}
	return &stillFile{f, s}, nil
}

func (s *still) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	if s.failed() != nil {
		if f, err := s.nowhere.Open(s.PathBase(name)); err == nil {
			return f, nil
		}
	}
	return s.FS.Open(name, o...)
}

func (s *still) OpenDir(name string) (vfs.File, error) {
	f, err := s.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &stillFile{f, s}, nil
}

func (s *still) Link(from, to string) error {
	if err := s.failed(); err != nil {
		return err
	}
	return s.FS.Link(from, to)
}

func (s *still) Rename(from, to string) error {
	if s.stands() {
		return nil
	}
	return s.FS.Rename(from, to)
}

// Remove removes nothing when the disk stands still: what is there still counts.
func (s *still) Remove(name string) error {
	if s.stands() {
		return nil
	}
	return s.FS.Remove(name)
}

func (s *still) RemoveAll(name string) error {
	if s.stands() {
		return nil
	}
	return s.FS.RemoveAll(name)
}

func (s *still) MkdirAll(dir string, mode fs.FileMode) error {
	if err := s.failed(); err != nil {
		return err
	}
	return s.FS.MkdirAll(dir, mode)
}

// stillFile is a vital file, or a folder.
type stillFile struct {
	vfs.File
	s *still
}

// do does something with the file while the disk does not stand still.
func (f *stillFile) do(what func() error) {
	if f.s.failed() == nil {
		f.s.bear(what())
	}
}

func (f *stillFile) Write(b []byte) (int, error) {
	f.do(func() error { _, err := f.File.Write(b); return err })
	return len(b), nil
}

func (f *stillFile) WriteAt(b []byte, at int64) (int, error) {
	f.do(func() error { _, err := f.File.WriteAt(b, at); return err })
	return len(b), nil
}

func (f *stillFile) Preallocate(offset, length int64) error {
	f.do(func() error { return f.File.Preallocate(offset, length) })
	return nil
}

func (f *stillFile) Sync() error {
	f.do(f.File.Sync)
	return nil
}

func (f *stillFile) SyncData() error {
	f.do(f.File.SyncData)
	return nil
}

func (f *stillFile) SyncTo(length int64) (full bool, _ error) {
	f.do(func() (err error) { full, err = f.File.SyncTo(length); return err })
	return full || f.s.failed() != nil, nil
}

func (f *stillFile) Close() error {
	f.s.bear(f.File.Close())
	return nil
}
