package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// lifelineEvery is how often a server with a lifeline looks whether somebody still holds it.
const lifelineEvery = 500 * time.Millisecond

// lifeline is a file that the users of a server lock shared, each for as long as it wants the server to live. The kernel takes the lock
// from those that crash, so nothing has to be counted. Once the server has found the file without users it keeps it for itself until its
// process ends: whoever comes later cannot take it for one that stays.
type lifeline struct{ file *os.File }

// openLifeline opens the file; a nil lifeline is that of a server that serves whether it has users or not.
func openLifeline(path string) (*lifeline, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "the lifeline cannot be opened")
	}
	return &lifeline{f}, nil
}

// loose says that nobody held the lifeline; nobody can any more.
func (l *lifeline) loose() (bool, error) {
	err := syscall.Flock(int(l.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// watch calls let when nobody holds the lifeline any more.
func (l *lifeline) watch(ctx context.Context, let func(error)) {
	tick := time.NewTicker(lifelineEvery)
	defer tick.Stop()
	for {
		switch loose, err := l.loose(); {
		case err != nil:
			let(fault.ConfigInvalid.Wrap(err, "the lifeline cannot be looked at"))
			return
		case loose:
			let(nil)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (l *lifeline) close() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}
