package duck

import (
	"errors"
	"testing"
)

// DuckDB frees an instance's handle when it is closed: connecting meanwhile must not touch it. The race detector
// tells, or in the worst case the heap.
func TestConnectWhileClosing(t *testing.T) {
	for range 20 {
		db, err := Open("", Options{})
		if err != nil {
			t.Fatal(err)
		}
		first, ended := make(chan struct{}), make(chan error, 2)
		go func() {
			begun := false
			for {
				c, err := db.Connect()
				if !begun {
					close(first)
					begun = true
				}
				if err != nil {
					ended <- err
					return
				}
				c.Close()
			}
		}()
		go func() {
			<-first
			for range 100 {
				if db.invalidated() {
					ended <- errors.New("a closed instance is taken for a broken one")
					return
				}
			}
			ended <- ErrClosed
		}()
		<-first
		db.Close()
		for range 2 {
			if err := <-ended; !errors.Is(err, ErrClosed) {
				t.Fatal(err)
			}
		}
	}
}
