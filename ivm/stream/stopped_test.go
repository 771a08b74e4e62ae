package stream

import (
	"testing"
	"time"
)

// The end of a server waits for checkpoints that are being written, however long that takes, and for nothing that stands still.
func TestStoppedWaitsForProgress(t *testing.T) {
	ended, tick := make(chan struct{}), make(chan time.Time)
	written := make(chan int64)
	out := make(chan bool, 1)
	wait := func() { out <- stopped(ended, tick, func() int64 { return <-written }) }
	go wait()
	for i := range int64(100) {
		tick <- time.Time{}
		written <- i
	}
	close(ended)
	if !<-out {
		t.Error("a checkpoint that goes on was given up")
	}
	ended = make(chan struct{})
	go wait()
	for _, n := range []int64{0, 7, 7} {
		tick <- time.Time{}
		written <- n
	}
	if <-out {
		t.Error("what stands still has ended")
	}
}
