package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vegadb/vega-flight/fault"
)

// Store is the durable part of some tables: one Pebble database, in which each
// checkpoint replaces the one before at once.
//
// Its keys are 0 and a name for what concerns all, and 1, the table's number, a
// key group and the key's bytes for a record; a record's bytes and four more for
// a leaf of a key that has a tree.
type Store struct {
	lock       *pebble.Lock // of the folder; not the database's, which may end without letting go of it
	db         *pebble.DB
	opts       *pebble.Options
	dir        string
	fs         *still
	tables     []*Table
	mu         sync.Mutex
	frontier   []byte
	broken     error
	background background
	flight     *Checkpoint // captured and not settled
	number     uint16      // of the newest table
	named      []fact      // what the next checkpoint says first: its stamp, and the numbers of tables that are new
	runs       int         // of files that were written beside the database
	ready      func()
	written    *atomic.Int64
}

// StoreOptions says where and how a store is.
type StoreOptions struct {
	Dir   string
	Stamp string // what has to be the same for a checkpoint to be of use: versions, plan
	Cache int64  // bytes of Pebble's block cache; 0 is 16 MiB
	FS    vfs.FS // nil: the disk
	Ready func() // is called, in any goroutine, when a checkpoint that waits can be drained further; may be nil

	Written *atomic.Int64 // grows by the bytes of large checkpoints while they are written; may be nil
}

// fact is a key that concerns all, and its value.
type fact struct {
	key   string
	value []byte
}

const (
	prefixMeta = 0
	prefixData = 1
	metaStamp  = "\x00stamp"
	metaFront  = "\x00frontier"
	metaTable  = "\x00table/"
	layoutNo   = 1 // of the bytes of records and leaves; part of the stamp
)

// OpenStore opens or creates a store. A store that another stamp has written is
// fault.StateStampDiffers: it is to be removed and the state rebuilt.
func OpenStore(o StoreOptions) (*Store, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Cache == 0 {
		o.Cache = 16 << 20
	}
	cache := pebble.NewCache(o.Cache)
	defer cache.Unref()
	s := &Store{dir: o.Dir, fs: newStill(o.FS), ready: o.Ready, written: o.Written}
	if s.written == nil {
		s.written = new(atomic.Int64)
	}
	s.opts = &pebble.Options{
		FS: s.fs, Cache: cache, FormatMajorVersion: pebble.FormatNewest, Logger: storeLogger{}, MemTableSize: 16 << 20,
		CompactionConcurrencyRange: func() (int, int) { return 1, 1 },
	}
	// A file that is damaged or gone is an error for whoever reads it; Pebble would end the process for it.
	s.opts.EventListener = &pebble.EventListener{
		DataCorruption:  func(i pebble.DataCorruptionInfo) { slog.Error("pebble: " + i.String()) },
		BackgroundError: s.background.failed, FlushEnd: s.background.flushed,
	}
	for i := range s.opts.Levels {
		s.opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		s.opts.Levels[i].BlockSize = 4 << 10
	}
	for i := range s.opts.TargetFileSizes {
		s.opts.TargetFileSizes[i] = fileSize
	}
	s.opts.EnsureDefaults()
	// Pebble's own one samples every 100 ms whether more compactions may run, which here never changes, and is left running by an opening that
	// fails. This is the same one without that.
	s.opts.Experimental.CompactionScheduler = pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()
	if err := s.open(o.Stamp); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) open(stamp string) (err error) {
	defer func() { s.caught(recover(), &err) }()
	if err := s.sweep(); err != nil {
		return err
	}
	if err := s.room(0); err != nil { // what is in the log has to become a table, and Pebble does not return before
		return err
	}
	if s.lock, err = pebble.LockDirectory(s.dir, s.fs); err == nil {
		s.opts.Lock = s.lock
		s.fs.opening.Store(true)
		s.db, err = pebble.Open(s.dir, s.opts)
		s.fs.opening.Store(false)
		if err == nil {
			err = s.fs.failed()
		}
	}
	if err != nil {
		return fault.StateUnreadable.Wrap(err, "the checkpoint in %s", s.dir)
	}
	return s.checkStamp(fmt.Sprintf("%d %s", layoutNo, stamp))
}

// sweep removes the files of a checkpoint that a crash interrupted. They may be
// links to files of the database: they must never be written again.
func (s *Store) sweep() error {
	dir := s.fs.PathJoin(s.dir, ingestDir)
	if err := s.fs.MkdirAll(dir, 0o755); err != nil {
		return fault.StateUnreadable.Wrap(err, "the checkpoint in %s", s.dir)
	}
	names, err := s.fs.List(dir)
	for _, name := range names {
		err = errors.Join(err, s.fs.Remove(s.fs.PathJoin(dir, name)))
	}
	if err != nil {
		return fault.StateUnreadable.Wrap(err, "the checkpoint in %s", s.dir)
	}
	return nil
}

func (s *Store) checkStamp(want string) error {
	got, err := s.get([]byte(metaStamp))
	if err != nil {
		return err
	}
	if got == nil {
		s.named = append(s.named, fact{metaStamp, []byte(want)})
		return nil
	}
	if string(got) != want {
		return fault.StateStampDiffers.Newf("the checkpoint in %s has the stamp %q, and %q is needed", s.dir, got, want).
			WithHint("it is removed and the state is rebuilt from the sources")
	}
	s.frontier, err = s.get([]byte(metaFront))
	return err
}

// get is a copy of the value of a key, nil if there is none.
func (s *Store) get(key []byte) ([]byte, error) {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.StateUnreadable.Wrap(err, "the checkpoint in %s", s.dir)
	}
	defer closer.Close()
	return append(make([]byte, 0, len(v)+1), v...), nil
}

// Frontier is what the newest checkpoint was given with; nil if there is none.
func (s *Store) Frontier() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frontier
}

// Close closes the database; tables over it must not be used any more. A
// checkpoint in flight is given up.
func (s *Store) Close() (err error) {
	if s.flight != nil {
		s.flight.Abort()
		s.Settle()
	}
	err = s.closeDatabase()
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
		s.lock = nil
	}
	return err
}

func (s *Store) closeDatabase() (err error) {
	if s.db == nil {
		return nil
	}
	defer func() { s.caught(recover(), &err) }()
	if err := s.db.Close(); err != nil {
		return fault.StateUnreadable.Wrap(err, "closing the checkpoint in %s", s.dir)
	}
	return nil
}

// Size is the bytes on disk.
func (s *Store) Size() int64 { return int64(s.db.Metrics().DiskSpaceUsage()) }

// tableNumber finds or gives the number of a table.
func (s *Store) tableNumber(name string, spec Spec) (uint16, error) {
	shape := fmt.Sprintf("%s %s order %d payload %d", spec.Key, spec.Entry, spec.Order, spec.Payload)
	if spec.Group > 0 {
		shape += fmt.Sprintf(" group %d", spec.Group)
	}
	v, err := s.get([]byte(metaTable + name))
	if err != nil {
		return 0, err
	}
	if i := slices.IndexFunc(s.named, func(f fact) bool { return f.key == metaTable+name }); i >= 0 {
		v = s.named[i].value
	}
	if v != nil {
		if string(v[2:]) != shape {
			return 0, fault.StateStampDiffers.Newf("the checkpoint in %s has the table %s as %s, and %s is needed", s.dir, name, v[2:], shape)
		}
		return binary.BigEndian.Uint16(v), nil
	}
	if s.number == 0 {
		if err := s.countTables(); err != nil {
			return 0, err
		}
	}
	s.number++
	v = append(binary.BigEndian.AppendUint16(nil, s.number), shape...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named = append(s.named, fact{metaTable + name, v})
	return s.number, nil
}

func (s *Store) countTables() error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte(metaTable), UpperBound: []byte{prefixData}})
	if err != nil {
		return fault.StateUnreadable.Wrap(err, "the checkpoint in %s", s.dir)
	}
	for ok := it.First(); ok; ok = it.Next() {
		s.number = max(s.number, binary.BigEndian.Uint16(it.Value()))
	}
	return it.Close()
}

// facts are what a checkpoint says beside the tables, in the order of the keys.
func (s *Store) facts(frontier []byte) []fact {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := append(slices.Clone(s.named), fact{metaFront, frontier})
	slices.SortFunc(out, func(a, b fact) int { return strings.Compare(a.key, b.key) })
	return out
}

// background hears of what fails behind the back of the database. Pebble tries a flush again without a pause, as long as the disk is full: here it
// gets one, and the first failure alone is said, until a flush succeeds.
type background struct{ failures atomic.Int32 }

func (b *background) failed(err error) {
	n := b.failures.Add(1)
	if n == 1 {
		slog.Error("pebble: in the background: " + err.Error())
	}
	time.Sleep(min(time.Millisecond<<min(n, 10), time.Second))
}

func (b *background) flushed(i pebble.FlushInfo) {
	if i.Err == nil {
		b.failures.Store(0)
	}
}

// storeLogger passes on what Pebble has to say.
type storeLogger struct{}

func (storeLogger) Infof(format string, args ...any) {
	slog.Debug("pebble: " + fmt.Sprintf(format, args...))
}

func (storeLogger) Errorf(format string, args ...any) {
	slog.Error("pebble: " + fmt.Sprintf(format, args...))
}

// fatal is what Pebble panics with where it cannot go on: what it says it has written would not be there.
type fatal string

func (storeLogger) Fatalf(format string, args ...any) {
	panic(fatal("pebble: " + fmt.Sprintf(format, args...)))
}

func (f fatal) Error() string { return string(f) }

// caught makes an error of Pebble's end, after which the store is of no use any more: what it calls fatal, and what the disk did where it can
// not know any more what is there (it panics with the error of a folder that cannot be synced).
func (s *Store) caught(p any, err *error) {
	if p == nil {
		return
	}
	f, ok := p.(error)
	if _, bug := p.(runtime.Error); !ok || bug {
		panic(p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = fault.StateUnreadable.Wrap(f, "the checkpoint in %s", s.dir).WithHint("the view restarts from its newest checkpoint")
	*err = s.broken
}

// Err says that the store is of no use any more; it is to be closed and opened again.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fs.failed(); err != nil && s.broken == nil {
		s.broken = fault.StateUnreadable.Wrap(err, "the checkpoint in %s", s.dir).WithHint("the view restarts from its newest checkpoint")
	}
	return s.broken
}

// room says fault.DiskFull when the disk has no room for a checkpoint: what it has no room for is not begun, since Pebble does not survive to meet
// its end.
func (s *Store) room(n int) error {
	if u, err := s.fs.GetDiskUsage(s.dir); err == nil && u.AvailBytes < uint64(n)+64<<20 {
		return fault.DiskFull.Newf("a checkpoint of %d bytes and 64 MiB to spare do not fit into the %d bytes of disk that are left at %s", n, u.AvailBytes, s.dir)
	}
	return nil
}
