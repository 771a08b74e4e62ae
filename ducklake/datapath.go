package ducklake

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// dataPath is where the attached catalog says that its data files are.
func (l *Lake) dataPath(ctx context.Context) (string, error) {
	rows, err := l.keep.Rows(ctx, `SELECT data_path FROM ducklake_settings(`+metadata.QuoteLiteral(l.config.Name)+`)`)
	if err != nil {
		return "", fault.LakeUnreadable.Wrap(err, "the lake's settings")
	}
	path, _ := rows[0][0].(string)
	return path, nil
}

// otherData is the folder of an existing lake's data files when it is not the one that its catalog names, "" when it is. A folder lake's
// data is beside its catalog. A relative path, which DuckDB leaves in a catalog that was made with one, is taken from the catalog's
// folder. What the configuration names counts where the catalog names nothing that is there, but it does not lead away from
// data that is.
func (l *Lake) otherData(ctx context.Context) (string, error) {
	path, err := l.dataPath(ctx)
	if err != nil || strings.Contains(path, "://") {
		return "", err
	}
	says := path
	if !filepath.IsAbs(path) && l.place.file != "" {
		says = filepath.Join(filepath.Dir(l.place.file), path)
	}
	says = strings.TrimSuffix(says, "/") + "/"
	there := filepath.IsAbs(says) && isFolder(says)
	wanted := l.place.data
	switch {
	case wanted == "" && !there, wanted == path:
		return "", nil
	case wanted == "":
		wanted = says
	case l.place.movable, !there:
	case says != wanted && !sameFolder(says, wanted):
		return "", fault.ConfigInvalid.Newf("the lake's data is in %s, not in %s", says, wanted).
			WithHint("leave --data-path out; it is for data that is no more where the catalog says")
	}
	if wanted == path {
		return "", nil
	}
	return wanted, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// sameFolder says that two paths lead to one folder.
func sameFolder(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// findData asks the catalog where its data files are, and makes sure that they are there.
func (l *Lake) findData(ctx context.Context, created bool) error {
	path, err := l.dataPath(ctx)
	if err != nil {
		return err
	}
	if strings.Contains(path, "://") {
		return fault.NotYetSupported.Newf("the lake's data path %q is no local folder", redact(path))
	}
	if !filepath.IsAbs(path) {
		return fault.LakeUnsupported.Newf("the lake's data path %q is relative, and there is no such folder beside the catalog", path).
			WithHint("start the server with --data-path and the folder's absolute path")
	}
	l.data = strings.TrimSuffix(path, "/") + "/"
	info, err := os.Stat(l.data)
	if err == nil && info.IsDir() {
		return nil
	}
	if !created {
		files := int64(0)
		err := l.store.View(ctx, func(tx metadata.Tx) error {
			rows, err := tx.Query(ctx, `SELECT count(*) FROM {M}ducklake_data_file`)
			if err == nil {
				files, _ = rows[0][0].(int64)
			}
			return err
		})
		if err != nil {
			return err
		}
		if files > 0 {
			return fault.LakeUnreadable.Newf("the lake's data folder %s is not there, but its catalog names %d data files", l.data, files).
				WithHint("mount it, or start the server with --data-path and where the folder is now")
		}
	}
	if err := os.MkdirAll(l.data, 0o755); err != nil {
		return fault.LakeUnreadable.Wrap(err, "the data folder cannot be made")
	}
	return nil
}
