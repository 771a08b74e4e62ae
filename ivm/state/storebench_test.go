package state_test

import (
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
)

// BenchmarkCheckpoint is the life of a table of 10 M keys over a store: the first
// checkpoint of all, one of 10 000 changed keys, restoring, and changing it
// within a quarter of its memory.
func BenchmarkCheckpoint(b *testing.B) {
	const keys = 10_000_000
	spec := state.Spec{Key: row.ParseLayout("BIGINT"), Payload: 2}
	dir := b.TempDir()
	open := func(budget int) (*state.Store, *state.Table) {
		st, err := state.OpenStore(state.StoreOptions{Dir: dir, Stamp: "1"})
		if err != nil {
			b.Fatal(err)
		}
		t, err := state.Open(st, "t", spec, state.Part{Budget: budget})
		if err != nil {
			b.Fatal(err)
		}
		return st, t
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	change := func(t *state.Table, n int) {
		key := make([]uint64, 2)
		for range n {
			key[1] = rnd.Uint64N(keys)
			ref, _ := t.Upsert(key, nil)
			p := t.Payload(ref)
			p[0]++
			p[1] += key[1]
		}
	}
	// checkpoint takes one while the table goes on changing, and reports the
	// longest that it held it up, in processor time of the thread: other programs do not lengthen it.
	checkpoint := func(st *state.Store, t *state.Table, name string) {
		start, stall, spent := time.Now(), time.Duration(0), time.Duration(0)
		held := func(f func() bool) bool {
			at := threadTime()
			more := f()
			took := threadTime() - at
			stall, spent = max(stall, took), spent+took
			return more
		}
		var c *state.Checkpoint
		held(func() bool { c = st.Capture([]byte("f")); return true })
		steps := 0
		for held(func() bool { return c.Drain(2000) }) {
			change(t, 100)
			steps++
		}
		drained := time.Since(start)
		b.ReportMetric(spent.Seconds()*1e3, name+"-drain-cpu-ms")
		done := make(chan error, 1)
		go func() { done <- c.Commit(b.Context()) }()
		for {
			select {
			case err := <-done:
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(time.Since(start).Seconds()*1e3, name+"-ms")
				b.ReportMetric(drained.Seconds()*1e3, name+"-drain-ms")
				b.ReportMetric(stall.Seconds()*1e3, name+"-stall-ms")
				return
			default:
				held(func() bool { change(t, 100); return true })
			}
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for b.Loop() {
		st, t := open(0)
		key := make([]uint64, 2)
		for i := range keys {
			key[1] = uint64(i)
			ref, _ := t.Upsert(key, nil)
			t.Payload(ref)[0] = 1
		}
		whole := t.Used()
		b.ReportMetric(float64(whole)/keys, "B/key")
		checkpoint(st, t, "full")
		checkpoint(st, t, "settle")
		change(t, 10_000)
		checkpoint(st, t, "10k")
		start := threadTime()
		change(t, 300_000)
		b.ReportMetric(float64((threadTime()-start).Nanoseconds())/300_000, "change-cpu-ns")
		checkpoint(st, t, "300k")
		b.ReportMetric(float64(st.Size())/keys, "disk-B/key")
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
		start = threadTime()
		wall := time.Now()
		st, t = open(0)
		b.ReportMetric((threadTime() - start).Seconds(), "restore-cpu-s")
		b.ReportMetric(time.Since(wall).Seconds(), "restore-s")
		if t.Keys() != keys {
			b.Fatal(t.Keys(), " keys")
		}
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
		st, t = open(whole / 4)
		start = threadTime()
		for range 100 {
			change(t, 1000)
			if t.Used() > whole/4 {
				if c := st.Capture(nil); c != nil {
					c.Drain(0)
					if err := c.Commit(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				st.Settle()
				t.Trim(whole / 4)
			}
		}
		b.ReportMetric(float64((threadTime()-start).Nanoseconds())/100_000, "quarter-change-cpu-ns")
		if t.Err() != nil {
			b.Fatal(t.Err())
		}
		b.ReportMetric(float64(t.Bytes())/float64(whole), "quarter-bytes")
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func threadTime() time.Duration {
	const thisThread = 1
	var u syscall.Rusage
	if err := syscall.Getrusage(thisThread, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
