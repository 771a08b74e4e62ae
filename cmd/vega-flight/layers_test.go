package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/vegadb/vega-flight"

// layer says what one part of the house may import of ours. The first entry
// whose prefix matches the importing package decides; an entry in allow ending
// in "/..." covers the folder and everything below it.
type layer struct {
	prefix string
	allow  []string
}

// The order of the house: imports point down this list only.
var layers = []layer{
	{"fault", nil},
	{"cmd/vega-flight", []string{"flightsql/...", "ivm/...", "ducklake/...", "plugin"}},
	{"bench/engine", []string{"ivm/bind", "ivm/dataflow", "ivm/eval/evaluator", "ivm/plan", "ivm/row", "ivm/zset", "ducklake/duck"}},
	{"bench", []string{"flightsql/...", "ivm/...", "ducklake/..."}},
	{"demo", nil},
	{"docs/tables", nil},
	{"integration", []string{"flightsql/...", "ivm/...", "ducklake/...", "plugin/...", "integration/..."}},
	{"plugin/control", nil},
	{"plugin/examplehost", []string{"plugin", "plugin/control"}},
	{"plugin", []string{"plugin/control"}},

	{"flightsql/auth", nil},
	{"flightsql", []string{"flightsql/auth", "ivm", "ivm/ddl", "ivm/job", "ivm/catalog", "ducklake", "ducklake/gate", "ducklake/duck", "ducklake/types", "ducklake/metadata"}},

	// adapters: the only parts of the engine that know the lake
	{"ivm/store", []string{"ivm/catalog", "ivm/job", "ivm/refresh", "ivm/stream", "ducklake/metadata"}},
	{"ivm/bind", []string{"ivm/ddl", "ivm/catalog", "ivm/refresh", "ivm/row", "ivm/plan", "ivm/eval", "ducklake", "ducklake/duck", "ducklake/gate", "ducklake/types", "ducklake/metadata"}},
	{"ivm/source/lake", []string{"ivm/catalog", "ivm/store", "ivm/stream", "ivm/zset", "ducklake", "ducklake/feed", "ducklake/maintain", "ducklake/metadata", "ducklake/publish"}},
	{"ivm/sink/lake", []string{"ivm/catalog", "ivm/job", "ivm/refresh", "ivm/store", "ivm/stream", "ivm/dataflow", "ivm/row", "ivm/zset", "ivm/state", "ducklake/..."}},

	// the incremental engine, from the row upward
	{"ivm/row", nil},
	{"ivm/zset", []string{"ivm/row"}},
	{"ivm/state/statetest", []string{"ivm/row", "ivm/zset", "ivm/state"}},
	{"ivm/state", []string{"ivm/row", "ivm/zset"}},
	{"ivm/plan", []string{"ivm/row"}},
	{"ivm/eval/evaluator", []string{"ivm/row", "ivm/zset", "ivm/plan", "ivm/eval", "ducklake/duck"}},
	{"ivm/eval", []string{"ivm/row", "ivm/zset", "ivm/plan"}},
	{"ivm/dataflow", []string{"ivm/row", "ivm/zset", "ivm/state", "ivm/plan", "ivm/eval"}},
	{"ivm/stream", []string{"ivm/catalog", "ivm/dataflow", "ivm/eval", "ivm/plan", "ivm/row", "ivm/state", "ivm/zset"}},
	{"ivm/ivmtest", []string{"ivm/row", "ivm/zset", "ivm/state", "ivm/plan", "ivm/eval", "ivm/dataflow", "ivm/bind", "ducklake/duck"}},

	{"ivm/enginetest", []string{"ivm", "ivm/...", "ducklake", "ducklake/..."}},
	{"ivm/check", []string{"ivm/catalog", "ivm/job", "ivm/plan", "ivm/refresh", "ivm/store", "ivm/stream", "ducklake", "ducklake/..."}},

	{"ivm/ddl", nil},
	{"ivm/catalog", []string{"ivm/ddl"}},
	{"ivm/job", []string{"ivm/ddl"}},
	{"ivm/refresh", []string{"ivm/job", "ivm/catalog", "ivm/ddl"}},
	{"ivm/changelog", []string{"ivm/catalog", "ivm/row", "ivm/stream", "ivm/zset"}},
	{"ivm", []string{"ivm/changelog", "ivm/ddl", "ivm/catalog", "ivm/job", "ivm/refresh", "ivm/stream", "ivm/plan"}},

	{"ducklake/duck", nil},
	{"ducklake/types", nil},
	{"ducklake/extension", nil},
	{"ducklake/metadata", []string{"ducklake/duck"}},
	{"ducklake/gate", []string{"ducklake/duck", "ducklake/types", "ducklake/metadata"}},
	{"ducklake/feed", []string{"ducklake/duck", "ducklake/metadata"}},
	{"ducklake/publish", []string{"ducklake/duck", "ducklake/types", "ducklake/metadata"}},
	{"ducklake/maintain", []string{"ducklake/duck", "ducklake/metadata", "ducklake/publish"}},
	{"ducklake/laketest", []string{"ducklake/..."}},
	{"ducklake", []string{"ducklake/duck", "ducklake/types", "ducklake/extension", "ducklake/metadata", "ducklake/gate", "ducklake/feed", "ducklake/publish", "ducklake/maintain"}},
}

// The protocol is known at the edge only.
var protocolImports = []string{"google.golang.org/grpc", "github.com/apache/arrow-go/v18/arrow/flight"}

// DuckDB's C API is touched in one place; the benchmark measures that place against it.
const bindings = "github.com/duckdb/"

type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
	GoFiles                            []string
	Dir                                string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-tags", "duckdb_arrow", "-json=ImportPath,Imports,TestImports,XTestImports,GoFiles,Dir", module+"/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var pkgs []goPackage
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func within(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

func layerOf(path string) *layer {
	for i := range layers {
		exact := layers[i].prefix == "ivm" || layers[i].prefix == "ducklake"
		if path == layers[i].prefix || !exact && within(path, layers[i].prefix) {
			return &layers[i]
		}
	}
	return nil
}

func allowed(l *layer, imported string) bool {
	if imported == "fault" {
		return true
	}
	for _, a := range l.allow {
		if folder, all := strings.CutSuffix(a, "/..."); imported == a || all && within(imported, folder) {
			return true
		}
	}
	return false
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		l := layerOf(path)
		if l == nil {
			t.Errorf("%s has no place in the house: add it to the list of layers", path)
			continue
		}
		for _, imp := range p.Imports {
			if ours, ok := strings.CutPrefix(imp, module+"/"); ok && !allowed(l, ours) {
				t.Errorf("%s may not import %s", path, ours)
			}
			if within(path, "ivm") || within(path, "ducklake") {
				for _, proto := range protocolImports {
					if within(imp, proto) {
						t.Errorf("%s may not import %s: the protocol is known in flightsql only", path, imp)
					}
				}
			}
			if strings.HasPrefix(imp, bindings) && !within(path, "ducklake/duck") && path != "bench" {
				t.Errorf("%s may not import %s: DuckDB's C API is touched in ducklake/duck only", path, imp)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range listPackages(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		text, err := os.ReadFile(filepath.Join(p.Dir, "doc.go"))
		if err != nil {
			t.Errorf("%s: %v", p.ImportPath, err)
			continue
		}
		if lines := strings.Count(string(text), "\n"); lines > 60 {
			t.Errorf("%s: doc.go has %d lines, 60 are allowed", p.ImportPath, lines)
		}
	}
}

func TestFilesAreRooms(t *testing.T) {
	const limit = 900
	for _, p := range listPackages(t) {
		if base := filepath.Base(p.ImportPath); base == "util" || base == "common" || base == "base" || base == "manager" || base == "helper" {
			t.Errorf("%s: a package is named after what it holds", p.ImportPath)
		}
		for _, f := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), "\n"); n > limit {
				t.Errorf("%s/%s has %d lines; over %d a file is split", p.ImportPath, f, n, limit)
			}
		}
	}
}
