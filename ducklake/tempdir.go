package ducklake

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/vegadb/vega-flight/fault"
)

// tempDir is a folder of this process. A lock on a file inside tells whether its process still lives, so that the next
// one removes what a killed process left.
type tempDir struct {
	path string
	lock *os.File
}

const (
	tempPrefix = "vega-flight-"
	tempLock   = "in-use"
)

func makeTempDir(parent string) (*tempDir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "the temporary folder")
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "the temporary folder")
	}
	removeStale(parent)
	path, err := os.MkdirTemp(parent, tempPrefix)
	if err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "the temporary folder")
	}
	// The file gets its name when it is locked: unlocked it would look left behind.
	lock, err := lockFile(filepath.Join(path, "locking"))
	if err == nil {
		err = os.Rename(filepath.Join(path, "locking"), filepath.Join(path, tempLock))
	}
	if err != nil {
		_ = os.RemoveAll(path)
		return nil, fault.ConfigInvalid.Wrap(err, "the temporary folder")
	}
	return &tempDir{path: path, lock: lock}, nil
}

func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// removeStale removes folders whose process is gone. One that another process is just making has no lock file yet,
// and is left alone.
func removeStale(parent string) {
	found, err := filepath.Glob(filepath.Join(parent, tempPrefix+"*", tempLock))
	if err != nil {
		return
	}
	for _, file := range found {
		if lock, err := lockFile(file); err == nil {
			_ = os.RemoveAll(filepath.Dir(file))
			_ = lock.Close()
		}
	}
}

func (t *tempDir) remove() error {
	err := os.RemoveAll(t.path)
	_ = t.lock.Close()
	return err
}
