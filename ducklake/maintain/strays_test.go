package maintain_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// leave puts a data file into a table's folder that was begun some time ago, as a statement does that is cut off.
func leave(t *testing.T, w *world, table metadata.TableInfo, ago time.Duration) string {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	version := binary.BigEndian.Uint64(id[:8]) & 0xffff
	binary.BigEndian.PutUint64(id[:8], uint64(time.Now().Add(-ago).UnixMilli())<<16|version)
	dir := table.Dir(w.lake.DataPath())
	must(t, os.MkdirAll(dir, 0o755))
	path := filepath.Join(dir, "ducklake-"+id.String()+".parquet")
	must(t, os.WriteFile(path, []byte("PAR1"), 0o644))
	return path
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Files that the catalog does not know are removed when nobody who lives can have begun them, and no others.
func TestStrayFiles(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind, func(c *maintain.Config) { c.StrayAge, c.StrayEvery = time.Hour, 1 })
		w.m.Strays = w.lake.RemoveStrays
		table := w.table("t")
		w.exec("INSERT INTO lake.main.t FROM range(5000)")
		old, young := leave(t, w, table, 5*time.Hour), leave(t, w, table, time.Minute)

		other, err := w.servers.Register(ctx, "other", "there")
		must(t, err)
		must(t, w.update(func(tx metadata.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE {M}vega_servers SET pinned_since = $2 WHERE id = $1`, other.ServerID, time.Now().Add(-6*time.Hour))
			return err
		}))
		w.run()
		if !there(old) {
			t.Fatal("a file is gone that a living server may be writing")
		}
		must(t, w.servers.Renew(ctx, other, nil)) // what it ran has ended
		if r := w.run(); r.Removed != 1 || there(old) || !there(young) {
			t.Errorf("removed %d; the old one is there: %v, the young one: %v", r.Removed, there(old), there(young))
		}
		if n := w.number("SELECT count(*) FROM lake.main.t"); n != 5000 {
			t.Errorf("%d rows", n)
		}
	})
}
