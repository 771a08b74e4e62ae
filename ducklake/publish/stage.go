package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// stagingPrefix starts the name of every staging folder; the files stay in it when they are committed.
const stagingPrefix = "vega-"

// StageSpec says what to stage.
type StageSpec struct {
	Table metadata.TableInfo
	Query string // one SELECT whose columns are the table's, in order; it is cast to their types
	JobID string // whose staging it is, for Discard
	Owner Fence
}

// StageProgress is how far a Stage is.
type StageProgress struct {
	Percent float64 // of the query, 0 to 100; -1 when DuckDB does not know
	Bytes   int64   // written so far
}

// Staged is a table's new content, complete and synced to disk, that no commit has yet.
type Staged struct {
	TableID int64
	Folder  string // below the data path
	Files   []StagedFile
	Rows    int64
	Bytes   int64

	columns []metadata.ColumnInfo // what the files were written for
	within  string                // the folder below the table's own
}

// progressEvery is how often a running Stage reports.
const progressEvery = 200 * time.Millisecond

// Stage runs the query on conn and writes its rows as data files into a new folder of the table's. The folder is
// registered with the job and the owner before anything is in it. When Stage fails, or ctx ends, nothing is left of it.
func (p *Publisher) Stage(ctx context.Context, conn *duck.Conn, s StageSpec, progress func(StageProgress)) (*Staged, error) {
	if err := checkTypes(s.Table); err != nil {
		return nil, err
	}
	name := stagingPrefix + uuid.Must(uuid.NewV7()).String()
	tableDir := p.tableDir(s.Table)
	dir := filepath.Join(tableDir, name)
	folder, err := filepath.Rel(p.DataPath, dir)
	if err != nil {
		return nil, fault.LakeUnsupported.Wrap(err, "table %s.%s lies outside the data path", s.Table.Schema, s.Table.Name)
	}
	var lake map[string]string
	err = p.Store.Update(ctx, func(tx metadata.Tx) error {
		var err error
		if lake, err = options(ctx, tx, s.Table); err != nil {
			return err
		}
		if err := checkFence(ctx, tx, s.Owner); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO {M}vega_staged (folder, job_id, table_id, server_id, server_epoch, created_at) VALUES ($1, $2, $3, $4, $5, now())`,
			folder, s.JobID, s.Table.ID, s.Owner.ServerID, s.Owner.Epoch)
		return err
	})
	if err != nil {
		return nil, err
	}
	staged, err := p.write(ctx, conn, s, dir, lake, progress)
	if err != nil {
		return nil, errors.Join(p.diskFault(err, s.Table), p.discard(context.WithoutCancel(ctx), []string{folder}))
	}
	staged.Folder, staged.within = folder, name
	if p.Faults.Staged != nil {
		p.Faults.Staged()
	}
	return staged, nil
}

// tableDir is the folder of a table's files.
func (p *Publisher) tableDir(t metadata.TableInfo) string { return t.Dir(p.DataPath) }

func (p *Publisher) write(ctx context.Context, conn *duck.Conn, s StageSpec, dir string, lake map[string]string, progress func(StageProgress)) (*Staged, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	text, err := copyText(s.Table, s.Query, dir, lake, p.TargetFileBytes)
	if err != nil {
		return nil, err
	}
	if progress != nil {
		w := watchStage(conn, dir, progress)
		defer w.stop()
	}
	r, err := conn.Query(ctx, text)
	if err != nil {
		return nil, err
	}
	files, err := readWritten(r, s.Table)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	staged := &Staged{TableID: s.Table.ID, Files: files, columns: s.Table.Columns}
	for _, f := range files {
		staged.Rows += f.Rows
		staged.Bytes += f.Bytes
	}
	if err := verifyFolder(dir, files); err != nil {
		return nil, err
	}
	return staged, syncUp(dir, files, p.DataPath)
}

// verifyFolder compares what COPY said with what is on disk.
func verifyFolder(dir string, files []StagedFile) error {
	for _, f := range files {
		info, err := os.Stat(filepath.Join(dir, f.Name))
		if err != nil {
			return err
		}
		if info.Size() != f.Bytes {
			return fmt.Errorf("publish: the staged file %s has %d bytes, not %d", f.Name, info.Size(), f.Bytes)
		}
	}
	return nil
}

// syncUp makes the files and the folders up to root durable: a commit must not name a file that a power loss can take.
func syncUp(dir string, files []StagedFile, root string) error {
	for _, f := range files {
		if err := syncPath(filepath.Join(dir, f.Name)); err != nil {
			return err
		}
	}
	root = filepath.Clean(root)
	for {
		if err := syncPath(dir); err != nil {
			return err
		}
		if dir == root || len(dir) <= len(root) { // a table with a path of its own lies outside of root
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// diskFault recognises a full disk, which DuckDB reports as text.
func (p *Publisher) diskFault(err error, table metadata.TableInfo) error {
	text := err.Error()
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) ||
		strings.Contains(text, "No space left on device") || strings.Contains(text, "Disk quota exceeded") || strings.Contains(text, "File too large") {
		return fault.DiskFull.Wrap(err, "staging %s.%s into %s", table.Schema, table.Name, p.DataPath).
			WithHint("free space under the data path and run it again")
	}
	return err
}

// Discard removes what a job has staged and not published: the files no snapshot has, their folders and their
// registration. Files of other jobs are not touched.
func (p *Publisher) Discard(ctx context.Context, jobID string) error {
	return p.discardWhere(ctx, `job_id = $1`, jobID)
}

// DiscardOwner does the same for all that a server has staged up to an epoch. Only a server that is fenced, or
// the server itself, may be named.
func (p *Publisher) DiscardOwner(ctx context.Context, owner Fence) error {
	return p.discardWhere(ctx, `server_id = $1 AND server_epoch <= $2`, owner.ServerID, owner.Epoch)
}

func (p *Publisher) discardWhere(ctx context.Context, where string, args ...any) error {
	var folders []string
	err := p.Store.View(ctx, func(tx metadata.Tx) error {
		folders = nil
		rows, err := tx.Query(ctx, `SELECT folder FROM {M}vega_staged WHERE `+where, args...)
		for _, r := range rows {
			folder, _ := r[0].(string)
			folders = append(folders, folder)
		}
		return err
	})
	if err != nil {
		return err
	}
	return p.discard(ctx, folders)
}

// discard removes registered folders. The registration goes first, in a transaction of its own: a publication of the
// folder needs it, so from then on no commit can name the files; and if it is gone already, a commit has them.
func (p *Publisher) discard(ctx context.Context, folders []string) error {
	var errs []error
	for _, folder := range folders {
		dir := filepath.Join(p.DataPath, folder)
		// The mark survives a crash between the two steps.
		var mine int64
		err := p.Store.Update(ctx, func(tx metadata.Tx) error {
			var err error
			mine, err = tx.Exec(ctx, `UPDATE {M}vega_staged SET job_id = $2 WHERE folder = $1`, folder, discarded)
			return err
		})
		if err == nil && mine == 1 {
			err = removeFolder(dir)
			if err == nil {
				err = p.Store.Update(ctx, func(tx metadata.Tx) error {
					_, err := tx.Exec(ctx, `DELETE FROM {M}vega_staged WHERE folder = $1 AND job_id = $2`, folder, discarded)
					return err
				})
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// discarded is the job id of folders whose removal has begun; nothing can publish them.
const discarded = "(discarded)"

func removeFolder(dir string) error {
	if err := os.RemoveAll(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// stageWatch reports a running Stage's progress.
type stageWatch struct {
	conn   *duck.Conn
	dir    string
	report func(StageProgress)
	over   chan struct{}
	wait   sync.WaitGroup
}

func watchStage(conn *duck.Conn, dir string, report func(StageProgress)) *stageWatch {
	w := &stageWatch{conn: conn, dir: dir, report: report, over: make(chan struct{})}
	w.wait.Go(w.run)
	return w
}

func (w *stageWatch) run() {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.over:
			return
		case <-tick.C:
			w.report(StageProgress{Percent: w.conn.Progress().Percent, Bytes: folderBytes(w.dir)})
		}
	}
}

func (w *stageWatch) stop() {
	close(w.over)
	w.wait.Wait()
}

func folderBytes(dir string) int64 {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	var n int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}
