package laketest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/extension"
)

// Kind is a kind of catalog.
type Kind int

// The kinds of catalogs.
const (
	DuckDB Kind = iota
	PostgreSQL
)

// Kinds are all of them.
var Kinds = []Kind{DuckDB, PostgreSQL}

func (k Kind) String() string { return [...]string{"duckdb", "postgresql"}[k] }

// Each runs a test once for each kind of catalog.
func Each(t *testing.T, f func(*testing.T, Kind)) {
	for _, k := range Kinds {
		t.Run(k.String(), func(t *testing.T) { f(t, k) })
	}
}

// New is a new, empty lake that lives as long as the test.
func New(t testing.TB, k Kind, change ...func(*ducklake.Config)) *ducklake.Lake {
	t.Helper()
	return NewPlace(t, k).Open(t, change...)
}

// Place is where a lake lies, or will. Its folders and schema are removed with the test.
type Place struct{ Config ducklake.Config }

var schemas atomic.Int64

// NewPlace makes room for a lake without creating it.
func NewPlace(t testing.TB, k Kind) Place {
	t.Helper()
	dir := t.TempDir()
	c := ducklake.Config{Catalog: filepath.Join(dir, "lake"), TempDir: filepath.Join(dir, "tmp"), ExtensionDir: ExtensionDir(t), Threads: 2}
	if k == PostgreSQL {
		c.Catalog = PostgresDSN(t)
		c.MetadataSchema = fmt.Sprintf("lake_%d", schemas.Add(1))
		c.DataPath = filepath.Join(dir, "data")
	}
	return Place{Config: c}
}

// Open opens the lake until the test ends.
func (p Place) Open(t testing.TB, change ...func(*ducklake.Config)) *ducklake.Lake {
	t.Helper()
	c := p.Config
	for _, f := range change {
		f(&c)
	}
	l, err := ducklake.Open(context.Background(), c)
	if err != nil {
		t.Fatalf("open the lake: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close the lake: %v", err)
		}
	})
	return l
}

// ExtensionDir is where the tests' extensions are: $VEGA_EXTENSION_DIR, else .build/extensions in the module's root.
func ExtensionDir(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv(extension.DirEnv); dir != "" {
		return dir
	}
	return filepath.Join(Root(t), ".build", "extensions")
}

// Root is the module's root.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("the module's root is not above the working folder")
		}
		dir = up
	}
}
