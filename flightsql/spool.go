package flightsql

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/vegadb/vega-flight/fault"
)

// spools are the results of polled statements on disk, each one Arrow IPC
// stream that can be read while it is written, and again until it is removed.
type spools struct {
	dir   string
	limit int64 // of all
	each  int64 // of one user

	mu    sync.Mutex
	used  int64
	users map[string]int64
}

const spoolSuffix = ".arrows"

// openSpools uses dir, or a private folder among the system's temporary files, and removes what died there long ago.
func openSpools(dir string, limit, each int64, old time.Duration) (*spools, error) {
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "vega-flight-"+strconv.Itoa(os.Getuid()))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "the folder for results")
	}
	// Whoever could put files here could choose what others read.
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "the folder for results")
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || ok && int(owner.Uid) != os.Getuid() {
		return nil, fault.ConfigInvalid.Newf("the folder for results, %s, belongs to somebody else", dir)
	}
	s := &spools{dir: dir, limit: limit, each: each, users: map[string]int64{}}
	s.clean(time.Now().Add(-old))
	return s, nil
}

// clean removes files that were last written before the given time: those of processes that were killed.
func (s *spools) clean(before time.Time) {
	files, _ := filepath.Glob(filepath.Join(s.dir, "*"+spoolSuffix))
	for _, f := range files {
		if info, err := os.Lstat(f); err == nil && info.ModTime().Before(before) {
			_ = os.Remove(f)
		}
	}
}

func (s *spools) path(handle string) string { return filepath.Join(s.dir, handle+spoolSuffix) }

// take books bytes for a user, or refuses.
func (s *spools) take(user string, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.used+n > s.limit:
		return fault.QuotaExceeded.Newf("kept results of all users fill the %d MiB the server has for them", s.limit>>20).
			WithHint("run the statement with a direct query, which streams, or try again when results have expired")
	case s.users[user]+n > s.each:
		return fault.QuotaExceeded.Newf("kept results of user %s fill the %d MiB a user may have", user, s.each>>20).
			WithHint("run the statement with a direct query, which streams, or let earlier results expire")
	}
	s.used += n
	s.users[user] += n
	return nil
}

func (s *spools) give(user string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
	if s.users[user] -= n; s.users[user] <= 0 {
		delete(s.users, user)
	}
}

// spool is one result. One goroutine writes it; any number read.
type spool struct {
	all  *spools
	user string
	path string

	file   *os.File
	buffer *bufio.Writer
	writer *ipc.Writer

	mu      sync.Mutex
	changed chan struct{} // closed when something below changes
	booked  int64
	written int64 // bytes that readers may read
	rows    int64
	done    bool
	failed  error
	removed bool
}

// create starts the result of a handle.
func (s *spools) create(handle, user string, schema *arrow.Schema) (*spool, error) {
	f, err := os.OpenFile(s.path(handle), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create a result file: %w", err)
	}
	sp := &spool{all: s, user: user, path: f.Name(), file: f, changed: make(chan struct{})}
	sp.buffer = bufio.NewWriterSize(f, 256<<10)
	sp.writer = ipc.NewWriter(sp, ipc.WithSchema(schema))
	return sp, nil
}

// adopt takes over the complete result that an earlier process left, if it is there.
func (s *spools) adopt(handle, user string, rows int64) (*spool, error) {
	info, err := os.Lstat(s.path(handle))
	if err != nil || !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	sp := &spool{all: s, user: user, path: s.path(handle), changed: make(chan struct{}), done: true, written: info.Size(), rows: rows}
	if err := s.take(user, info.Size()); err != nil {
		return nil, err
	}
	sp.booked = info.Size()
	return sp, nil
}

// discard deletes what an earlier process left of a result.
func (s *spools) discard(handle string) { _ = os.Remove(s.path(handle)) }

// Write is for the IPC writer: it books before it writes.
func (sp *spool) Write(p []byte) (int, error) {
	sp.mu.Lock()
	removed := sp.removed
	sp.mu.Unlock()
	if removed {
		return 0, fault.HandleNotFound.Newf("the result was dropped")
	}
	if err := sp.all.take(sp.user, int64(len(p))); err != nil {
		return 0, err
	}
	sp.mu.Lock()
	if sp.removed { // remove gave back what was booked before
		sp.mu.Unlock()
		sp.all.give(sp.user, int64(len(p)))
		return 0, fault.HandleNotFound.Newf("the result was dropped")
	}
	sp.booked += int64(len(p))
	sp.mu.Unlock()
	return sp.buffer.Write(p)
}

// add appends a batch and lets readers have it.
func (sp *spool) add(batch arrow.RecordBatch) error {
	if err := sp.writer.Write(batch); err != nil {
		return err
	}
	if err := sp.buffer.Flush(); err != nil {
		return err
	}
	sp.publish(batch.NumRows(), false, nil)
	return nil
}

// finish ends the result: complete when err is nil.
func (sp *spool) finish(err error) error {
	if err == nil {
		if err = sp.writer.Close(); err == nil {
			err = sp.buffer.Flush()
		}
	}
	if cerr := sp.file.Close(); err == nil {
		err = cerr
	}
	sp.publish(0, true, err)
	return err
}

func (sp *spool) publish(rows int64, done bool, err error) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if sp.done {
		return
	}
	sp.rows += rows
	sp.written = sp.booked - int64(sp.unflushed())
	sp.done, sp.failed = done, err
	close(sp.changed)
	sp.changed = make(chan struct{})
}

func (sp *spool) unflushed() int {
	if sp.buffer == nil {
		return 0
	}
	return sp.buffer.Buffered()
}

func (sp *spool) size() int64 {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	return sp.written
}

// remove deletes the file. Readers that have it open read on.
func (sp *spool) remove() {
	sp.mu.Lock()
	was, booked := sp.removed, sp.booked
	sp.removed = true
	sp.mu.Unlock()
	if was {
		return
	}
	_ = os.Remove(sp.path)
	sp.all.give(sp.user, booked)
}

// open reads the result from its start and follows the writer until ctx ends.
func (sp *spool) open(ctx context.Context) (*follower, error) {
	f, err := os.Open(sp.path)
	if err != nil {
		return nil, fault.HandleNotFound.Newf("the result is gone")
	}
	return &follower{ctx: ctx, sp: sp, file: f}, nil
}

// follower is one reading of a spool. It waits for bytes that are not written yet.
type follower struct {
	ctx  context.Context
	sp   *spool
	file *os.File
	at   int64
}

// Read returns io.EOF at the end of a complete result and the statement's error at the end of a failed one.
func (r *follower) Read(p []byte) (int, error) {
	for {
		r.sp.mu.Lock()
		left, done, failed, changed := r.sp.written-r.at, r.sp.done, r.sp.failed, r.sp.changed
		r.sp.mu.Unlock()
		switch {
		case failed != nil:
			return 0, failed
		case left > 0:
			n, err := r.file.ReadAt(p[:min(int64(len(p)), left)], r.at)
			r.at += int64(n)
			if err == io.EOF && n > 0 {
				err = nil
			}
			return n, err
		case done:
			return 0, io.EOF
		}
		select {
		case <-changed:
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
}

// failure is the error that ended the result, if one did.
func (r *follower) failure() error {
	r.sp.mu.Lock()
	defer r.sp.mu.Unlock()
	return r.sp.failed
}

// Close closes the file.
func (r *follower) Close() error { return r.file.Close() }
