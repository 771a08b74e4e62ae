package stream

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/vegadb/vega-flight/fault"
)

// locked notes which file says that the state is in use: it is there as long as the state is.
func (m *member) locked() {
	m.lock, _ = os.Stat(m.lockPath()) // state that is on no disk has none
}

func (m *member) lockPath() string { return filepath.Join(m.dir, "LOCK") }

// displaced says whether the state is not where it was any more, though it is written as if it were: somebody has removed the folder.
// Any goroutine may ask.
func (m *member) displaced() error {
	if m.lock == nil {
		return nil
	}
	now, err := os.Stat(m.lockPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) || err == nil && os.SameFile(now, m.lock) {
		return nil
	}
	return fault.StateUnreadable.Newf("the state of view %s in %s was removed", m.name(), m.dir).
		WithHint("the view computes it again by itself; let nobody else write to the server's state folder")
}

// watchState wakes the groups of members whose state is displaced.
func (s *Supervisor) watchState() {
	for _, sl := range s.slots {
		if sl.live != nil && sl.live.displaced() != nil {
			s.c.wake(sl.uuid)
		}
	}
	for uuid, g := range s.silent {
		select {
		case <-g.done:
			delete(s.silent, uuid)
		default:
		}
	}
}
