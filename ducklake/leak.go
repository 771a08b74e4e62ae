package ducklake

import (
	"context"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
)

// DuckDB loses the states of aggregates whose statement ran out of memory: nobody can free them any more. When they have
// taken the room that statements need, each statement is ended, and only a new process is free of them. The watch counts the
// rounds in which memory is short while nothing runs that could have it.

const (
	shortRounds = 5  // until the process takes no more work
	lostRounds  = 60 // until it ends; what was ended before has had time to stop
)

// reading is where the process's memory is, in bytes.
type reading struct {
	resident uint64
	buffers  uint64 // of DuckDB's, which it can give up
	own      uint64 // Go's
}

// unknown is what is neither DuckDB's buffers nor Go's.
func (r reading) unknown() uint64 { return r.resident - min(r.resident, r.buffers+r.own) }

// leak knows for how long memory has been short with nothing running.
type leak struct {
	base  uint64 // what was unknown when the lake was opened
	short atomic.Pointer[fault.Error]

	mu     sync.Mutex
	rounds int       // in a row
	last   time.Time // when the last reading was, zero when memory was not short then
}

// since is when the last reading was, if it found memory short.
func (k *leak) since() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

// took says that more than so much has become unknown since the lake was opened.
func (k *leak) took(r reading, much uint64) bool { return r.unknown() > k.base+much }

// verdict is what a reading leads to.
type verdict int

const (
	enough  verdict = iota // there is memory, or what runs may have it
	lacking                // the process should take no more work
	lost                   // and only its end helps
)

// judge counts a reading. busy says that something runs for longer than since the reading before.
func (k *leak) judge(r reading, ceiling uint64, busy bool) verdict {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = time.Now()
	switch {
	case r.resident <= ceiling && r.resident-min(r.resident, r.buffers) < line(ceiling) && !k.took(r, ceiling/2):
		k.rounds = 0
	case !busy:
		k.rounds++
	}
	switch {
	// Where a new process would soon have as little, the end of this one helps nobody.
	case k.rounds >= lostRounds && k.took(r, ceiling/10):
		return lost
	case k.rounds >= shortRounds:
		return lacking
	}
	return enough
}

// rest says that there is memory.
func (k *leak) rest() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.last.IsZero() {
		k.rounds, k.last = 0, time.Time{}
		k.short.Store(nil)
	}
}

// weigh draws the consequences of a reading.
func (l *Lake) weigh(r reading, ceiling uint64, busy bool) {
	k := &l.memory.leak
	v := k.judge(r, ceiling, busy)
	if v == enough {
		k.short.Store(nil)
		return
	}
	err := fault.MemoryExhausted.Newf("%d of %d bytes of memory are taken while nothing runs, %d of them by nobody who could free them", r.resident, ceiling, r.unknown())
	if k.short.Swap(err) == nil {
		l.log.Warn("the server is short of memory and not ready", "reason", err)
	}
	if v == lost {
		l.end(err, "memory is lost and the process must be started anew")
	}
}

// Short says why the process should take no more work: its memory is taken, and by nothing that runs. It is nil otherwise.
func (l *Lake) Short() error {
	if err := l.memory.leak.short.Load(); err != nil {
		return err
	}
	return nil
}

// read asks where the memory is. What cannot be asked has none.
func (l *Lake) read(ctx context.Context) reading {
	r := reading{resident: duck.Resident()}
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	r.own = sample[0].Value.Uint64() - sample[1].Value.Uint64()
	c, release, err := l.Acquire(ctx, Aside(""))
	if err != nil {
		return r
	}
	defer release()
	if rows, err := c.Rows(ctx, `SELECT coalesce(sum(memory_usage_bytes), 0)::BIGINT FROM duckdb_memory()`); err == nil {
		if n, ok := rows[0][0].(int64); ok {
			r.buffers = uint64(max(0, n))
		}
	}
	return r
}

// end says why the instance can do no more, once.
func (l *Lake) end(why error, line string) {
	l.fatalOnce.Do(func() {
		l.failure = why
		l.log.Error(line, "error", why)
		close(l.fatal)
	})
}

// Failure is why Fatal is closed, nil while it is not.
func (l *Lake) Failure() error {
	select {
	case <-l.fatal:
		return l.failure
	default:
		return nil
	}
}
