package ducklake

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// RemoveStrays removes the data files that were begun before a time and that the catalog does not know, and says how many. Nobody may
// still be going to commit files as old as that. What publications have staged is left to them.
func (l *Lake) RemoveStrays(ctx context.Context, before time.Time) (removed int64, err error) {
	old := map[string]string{} // base name → path
	err = filepath.WalkDir(l.data, func(file string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // somebody else removed it
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), "vega-"):
			return filepath.SkipDir
		}
		if at, ok := begun(d.Name()); ok && at.Before(before) {
			old[d.Name()] = file
		}
		return ctx.Err()
	})
	if err != nil || len(old) == 0 {
		return 0, err
	}
	// After the folders, so that what was committed meanwhile is known.
	err = l.store.View(ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(ctx, `SELECT path FROM {M}ducklake_data_file UNION ALL SELECT path FROM {M}ducklake_delete_file
			UNION ALL SELECT path FROM {M}ducklake_files_scheduled_for_deletion`)
		for _, r := range rows {
			name, _ := r[0].(string)
			delete(old, path.Base(name))
		}
		return err
	})
	if err != nil {
		return 0, l.check(err)
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, err
		}
		removed++
	}
	if removed > 0 {
		l.log.Info("data files of statements that were cut off are removed", "files", removed, "begun_before", before)
	}
	return removed, nil
}

// Flushable says that a user's table may be flushed now: files keep the values of its types, and no statement or transaction of this
// process that is open writes it. (Those of other servers are not known; their COMMIT would fail, and be tried again.)
func (l *Lake) Flushable(t metadata.TableInfo) bool {
	if Hidden(t.Name) {
		return false
	}
	columns := make([]gate.Column, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = gate.Column{Name: c.Name, Type: c.SQLType()}
	}
	return stableTypes(columns) == nil && !l.writers.writes(t.ID)
}
