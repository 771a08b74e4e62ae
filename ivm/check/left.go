package check

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/job"
)

// left looks for leftovers in one reading of the catalog.
type left struct {
	c          Config
	r          *Report
	live       map[string]bool
	unfinished map[string]job.Job
}

func (l left) look(ctx context.Context, tx metadata.Tx) error {
	registered, err := l.staging(ctx, tx)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context, metadata.Tx) error{l.holds, l.journal, l.builds} {
		if err := step(ctx, tx); err != nil {
			return err
		}
	}
	return l.folders(ctx, tx, registered)
}

func text(v any) string { s, _ := v.(string); return s }

// staging are registered folders of no job.
func (l left) staging(ctx context.Context, tx metadata.Tx) (registered map[string]bool, err error) {
	rows, err := tx.Query(ctx, `SELECT folder, job_id, server_id FROM {M}vega_staged ORDER BY folder`)
	if err != nil {
		return nil, err
	}
	registered = map[string]bool{}
	for _, v := range rows {
		folder, id, server := text(v[0]), text(v[1]), text(v[2])
		registered[filepath.Base(folder)] = true
		if _, working := l.unfinished[id]; !working && !l.live[server] {
			l.r.add(true, Staging, "", "files of job %s in %s, which server %s staged and nobody will publish", id, folder, server)
		}
	}
	return registered, nil
}

// folders are staged files on disk that neither a registration nor a commit knows.
func (l left) folders(ctx context.Context, tx metadata.Tx, known map[string]bool) error {
	rows, err := tx.Query(ctx, `SELECT path FROM {M}ducklake_data_file WHERE path LIKE '%vega-%'
		UNION ALL SELECT path FROM {M}ducklake_files_scheduled_for_deletion WHERE path LIKE '%vega-%'`)
	if err != nil {
		return err
	}
	for _, v := range rows {
		known[filepath.Base(filepath.Dir(text(v[0])))] = true
	}
	return filepath.WalkDir(l.c.Lake.DataPath(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || !strings.HasPrefix(d.Name(), "vega-") {
			return nil //nolint:nilerr // what cannot be read, or is gone since, is not ours to judge
		}
		if !known[d.Name()] {
			entries, err := filepath.Glob(filepath.Join(path, "*"))
			if err == nil && len(entries) > 0 {
				l.r.add(true, Staging, "", "%d files in %s that no snapshot and no job has", len(entries), path)
			}
		}
		return fs.SkipDir
	})
}

// holds are of views and of unfinished jobs.
func (l left) holds(ctx context.Context, tx metadata.Tx) error {
	all, err := maintain.Holds(ctx, tx)
	if err != nil {
		return err
	}
	rows, err := tx.Query(ctx, `SELECT uuid FROM {M}vega_views`)
	if err != nil {
		return err
	}
	for _, h := range all {
		if server, ok := maintain.HolderServer(h.Holder); ok { // for the server's clients
			if !l.live[server.ServerID] {
				l.r.add(false, Hold, "", "snapshot %d for clients of server %s, which is gone; maintenance lets it go", h.Snapshot, server.ServerID)
			}
			continue
		}
		_, working := l.unfinished[h.Holder]
		isView := slices.ContainsFunc(rows, func(v []any) bool { return text(v[0]) == h.Holder || strings.HasPrefix(h.Holder, text(v[0])+".") })
		if !working && !isView {
			l.r.add(true, Hold, "", "%q holds snapshot %d since %s and is neither a view nor an unfinished job", h.Holder, h.Snapshot, h.MovedAt.UTC().Format("2006-01-02 15:04:05"))
		}
	}
	return nil
}

func (l left) journal(ctx context.Context, tx metadata.Tx) error {
	all, err := maintain.Entries(ctx, tx, "")
	if err != nil {
		return err
	}
	for _, e := range all {
		if !l.live[e.Owner.ServerID] {
			l.r.add(false, Journal, "", "%q of server %s, which is gone; the next server finishes it", e.Kind, e.Owner.ServerID)
		}
	}
	return nil
}

// builds are hidden tables that nobody is building.
func (l left) builds(ctx context.Context, tx metadata.Tx) error {
	rows, err := tx.Query(ctx, `SELECT t.table_name, b.server FROM {M}ducklake_table t LEFT JOIN {M}vega_builds b ON b.table_name = t.table_name
		WHERE t.end_snapshot IS NULL ORDER BY t.table_name`)
	if err != nil {
		return err
	}
	for _, v := range rows {
		switch name, server := text(v[0]), text(v[1]); {
		case !ducklake.Hidden(name), l.live[server]:
		case server == "":
			l.r.add(true, Hidden, "", "table %s, which nobody is building", name)
		default:
			l.r.add(false, Hidden, "", "table %s of server %s, which is gone; the next server drops it", name, server)
		}
	}
	return nil
}
