package ducklake

import (
	"bufio"
	"errors"
	"os"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/util"

	"github.com/vegadb/vega-flight/fault"
)

// quota bounds the disk that spooled results take together.
type quota struct {
	limit int64

	mu   sync.Mutex
	used int64
}

func (q *quota) take(n int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used+n > q.limit {
		return fault.QuotaExceeded.Newf("open results that had to be put aside for another statement take %d MiB of disk, the most that is allowed", q.limit>>20).
			WithHint("read or close open results before running further statements")
	}
	q.used += n
	return nil
}

func (q *quota) give(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used -= n
}

// spool is batches on their way through a file: written at the end, read from the front, until it is closed.
type spool struct {
	quota  *quota
	file   *os.File // the writing end
	buffer *bufio.Writer
	write  *ipc.Writer
	front  *os.File // the reading end
	read   *ipc.Reader
	rows   int   // batches written and not yet read
	bytes  int64 // taken from the quota
	broken error // after a failed write nothing more can be written
}

func newSpool(dir string, schema *arrow.Schema, q *quota) (*spool, error) {
	f, err := os.CreateTemp(dir, "spool-")
	if err != nil {
		return nil, fault.DiskFull.Wrap(err, "the rest of an open result cannot be put aside")
	}
	front, err := os.Open(f.Name())
	if err == nil {
		// Nobody else needs the name, and a killed process leaves nothing.
		err = os.Remove(f.Name())
	}
	if err != nil {
		_ = f.Close()
		return nil, fault.DiskFull.Wrap(err, "the rest of an open result cannot be put aside")
	}
	s := &spool{quota: q, file: f, buffer: bufio.NewWriterSize(f, 256<<10), front: front}
	s.write = ipc.NewWriter(s.buffer, ipc.WithSchema(schema))
	return s, nil
}

// put writes one batch at the end.
func (s *spool) put(b arrow.RecordBatch) error {
	if s.broken != nil {
		return s.broken
	}
	size := util.TotalRecordSize(b)
	if err := s.quota.take(size); err != nil {
		return err
	}
	s.bytes += size
	err := s.write.Write(b)
	if err == nil {
		err = s.buffer.Flush()
	}
	if err != nil {
		s.broken = fault.DiskFull.Wrap(err, "the rest of an open result cannot be put aside")
		return s.broken
	}
	s.rows++
	return nil
}

// get reads the batch at the front, nil when there is none. The batch is valid until the next get.
func (s *spool) get() (arrow.RecordBatch, error) {
	if s.rows == 0 {
		return nil, nil
	}
	if s.read == nil {
		r, err := ipc.NewReader(bufio.NewReaderSize(s.front, 256<<10))
		if err != nil {
			return nil, fault.InternalError.Wrap(err, "a spooled result cannot be read")
		}
		s.read = r
	}
	if !s.read.Next() {
		return nil, fault.InternalError.Wrap(errors.Join(s.read.Err(), errors.New("the file is too short")), "a spooled result cannot be read")
	}
	s.rows--
	return s.read.RecordBatch(), nil
}

func (s *spool) close() {
	if s.read != nil {
		s.read.Release()
	}
	_ = s.write.Close()
	_ = s.file.Close()
	_ = s.front.Close()
	s.quota.give(s.bytes)
	s.bytes = 0
}

var _ array.RecordReader = (*Stream)(nil)
