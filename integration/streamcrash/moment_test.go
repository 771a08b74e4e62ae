package streamcrash

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watch sees what a server does to files below a folder, those that are made later too.
type watch struct {
	t     *testing.T
	w     *fsnotify.Watcher
	match func(fsnotify.Event) bool
	seen  chan struct{} // closed at the first match
	done  chan struct{}
}

func newWatch(t *testing.T, dir string, match func(fsnotify.Event) bool) *watch {
	t.Helper()
	w, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	x := &watch{t: t, w: w, match: match, seen: make(chan struct{}), done: make(chan struct{})}
	x.add(dir)
	go x.run()
	return x
}

func (x *watch) add(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = x.w.Add(path) // it may be gone again
		}
		return nil
	})
}

func (x *watch) run() {
	defer close(x.done)
	matched := false
	for e := range x.w.Events {
		if !matched && x.match(e) {
			matched = true
			close(x.seen)
		}
		if info, err := os.Stat(e.Name); e.Has(fsnotify.Create) && err == nil && info.IsDir() {
			x.add(e.Name)
		}
	}
}

// wait is there at the first match, or after a while without any.
func (x *watch) wait(most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-x.seen:
	case <-timer.C:
	}
}

func (x *watch) close() {
	if err := x.w.Close(); err != nil {
		x.t.Error(err)
	}
	<-x.done
}

// touched matches what happens to files whose names have one of the endings; all files without any.
func touched(endings ...string) func(fsnotify.Event) bool {
	return func(e fsnotify.Event) bool {
		return len(endings) == 0 || slices.ContainsFunc(endings, func(s string) bool { return strings.HasSuffix(e.Name, s) })
	}
}

// made matches new folders and files.
func made(e fsnotify.Event) bool { return e.Has(fsnotify.Create) }

// gone matches what is removed.
func gone(e fsnotify.Event) bool { return e.Has(fsnotify.Remove) }
