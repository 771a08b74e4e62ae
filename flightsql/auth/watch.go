package auth

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// recheck bounds how long a change that fsnotify does not report stays unseen
// (network file systems, symbolic links swapped above the folder).
const recheck = 5 * time.Second

// watchFiles calls changed after the files may have changed, until ctx ends.
func watchFiles(ctx context.Context, log *slog.Logger, changed func(), paths ...string) error {
	var events chan fsnotify.Event
	var errors chan error
	if w, err := fsnotify.NewWatcher(); err != nil {
		log.Warn("file changes are noticed by polling only", "err", err)
	} else {
		defer w.Close()
		for _, p := range paths {
			// The folder, not the file: editors and orchestrators replace files by renaming.
			if err := w.Add(filepath.Dir(p)); err != nil {
				log.Warn("file changes are noticed by polling only", "path", p, "err", err)
			}
		}
		events, errors = w.Events, w.Errors
	}
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-events:
			changed()
		case err := <-errors:
			log.Warn("watching files", "err", err)
		case <-tick.C:
			changed()
		}
	}
}
