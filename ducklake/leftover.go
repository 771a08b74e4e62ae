package ducklake

import (
	"context"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// A statement that fails in the middle leaves the data files that it was writing: DuckLake removes only those that were complete. Their
// names say when they were begun, so those of a failed statement are the files of its tables from its time that the catalog does not know,
// once everybody else who wrote into these tables at that time has ended. That can be known where one process writes: of a lake that
// several servers share, folders of tables that never got their name are cleared, and what else is left when it is old, see RemoveStrays.

// writers are the statements and transactions that may have files which the catalog does not know yet.
type writers struct {
	mu   sync.Mutex
	open map[*write]struct{}
	left []*leftover
}

// write is one of them. The nil *write is nobody's.
type write struct {
	lake   *Lake
	tables []int64
	began  time.Time
	failed bool
}

// leftover is what a failed write may have left in a table.
type leftover struct {
	table    int64
	from, to time.Time
	wait     map[*write]struct{} // who may have files of that time too
}

// writes says that a table is being written.
func (ws *writers) writes(table int64) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.open {
		if slices.Contains(w.tables, table) {
			return true
		}
	}
	return false
}

// beginWrite says that tables are going to be written.
func (l *Lake) beginWrite(tables ...int64) *write {
	w := &write{lake: l, tables: tables, began: time.Now()}
	l.writers.mu.Lock()
	defer l.writers.mu.Unlock()
	if l.writers.open == nil {
		l.writers.open = map[*write]struct{}{}
	}
	l.writers.open[w] = struct{}{}
	return w
}

// end says that all is committed or rolled back, because of err if there is one, and clears what nobody waits for any more.
func (w *write) end(err error) {
	if w == nil {
		return
	}
	w.failed = (w.failed || err != nil) && !w.lake.Shared()
	for _, left := range w.lake.writers.end(w) {
		w.lake.clear(left)
	}
}

// end takes a write off and gives the leftovers whose time has come.
func (ws *writers) end(w *write) (due []*leftover) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.open, w)
	if w.failed {
		for _, table := range w.tables {
			left := &leftover{table: table, from: w.began, to: time.Now(), wait: map[*write]struct{}{}}
			for other := range ws.open {
				if slices.Contains(other.tables, table) {
					left.wait[other] = struct{}{}
				}
			}
			ws.left = append(ws.left, left)
		}
	}
	ws.left = slices.DeleteFunc(ws.left, func(left *leftover) bool {
		delete(left.wait, w)
		if len(left.wait) == 0 {
			due = append(due, left)
		}
		return len(left.wait) == 0
	})
	return due
}

// writing runs a statement that writes tables, in a transaction if tx is not nil.
func (s *Session) writing(tx *transaction, tables []int64, run func() (int64, error)) (int64, error) {
	w := s.lake.beginWrite(tables...)
	n, err := run()
	s.join(tx, w, err)
	return n, err
}

// join makes a write whose statement has run a part of its transaction; without one it has ended.
func (s *Session) join(tx *transaction, w *write, err error) {
	if w == nil {
		return
	}
	s.mu.Lock()
	joined := tx != nil && s.tx == tx
	if joined {
		w.failed = err != nil
		tx.writes = append(tx.writes, w)
	}
	s.mu.Unlock()
	if !joined {
		w.end(err)
	}
}

// written are the lake's tables among those that a statement writes.
func written(a *gate.Analysis) []int64 {
	var ids []int64
	for _, w := range a.Writes {
		if w.ID != 0 {
			ids = append(ids, w.ID)
		}
	}
	return ids
}

// clear removes the files of a leftover. What cannot be removed only takes room.
func (l *Lake) clear(left *leftover) {
	ctx := context.Background()
	var table metadata.TableInfo
	err := l.store.View(ctx, func(tx metadata.Tx) (err error) {
		table, _, err = metadata.TableByID(ctx, tx, left.table, 0)
		return err
	})
	if err == nil && table.ID != 0 {
		err = l.clearFolder(ctx, table.Dir(l.data), left.from, left.to)
	}
	if err != nil {
		l.log.Warn("files of a failed statement are left", "table", left.table, "error", err)
	}
}

// clearFolder removes the data files in a table's folder that were begun in a time and that the catalog does not know.
func (l *Lake) clearFolder(ctx context.Context, dir string, from, to time.Time) error {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return filepath.SkipAll // nothing was written, or not into a folder of this machine
		case err != nil:
			return err
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "vega-"):
			return filepath.SkipDir // publications clear up after themselves
		}
		if at, ok := begun(d.Name()); ok && !at.Before(from.Truncate(time.Millisecond)) && !at.After(to) {
			files = append(files, path)
		}
		return nil
	})
	if err != nil || len(files) == 0 {
		return err
	}
	var unknown []string
	err = l.store.View(ctx, func(tx metadata.Tx) error {
		unknown = nil
		for _, file := range files {
			rows, err := tx.Query(ctx, `SELECT 1 FROM {M}ducklake_data_file WHERE path LIKE '%' || $1
				UNION ALL SELECT 1 FROM {M}ducklake_delete_file WHERE path LIKE '%' || $1
				UNION ALL SELECT 1 FROM {M}ducklake_files_scheduled_for_deletion WHERE path LIKE '%' || $1`, filepath.Base(file))
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				unknown = append(unknown, file)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, file := range unknown {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	if len(unknown) > 0 {
		l.log.Info("files of a failed statement are removed", "folder", dir, "files", len(unknown))
	}
	return nil
}

// dataFile is how DuckLake names data and delete files.
var dataFile = regexp.MustCompile(`^ducklake-([0-9a-f-]{36})(-delete)?\.parquet$`)

// begun is when a data file was begun, by its name.
func begun(name string) (time.Time, bool) {
	m := dataFile.FindStringSubmatch(name)
	if m == nil {
		return time.Time{}, false
	}
	id, err := uuid.Parse(m[1])
	if err != nil || id.Version() != 7 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(id[:8]) >> 16)), true
}
