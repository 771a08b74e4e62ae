package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/integration/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// blocks are the README's code blocks of a language, in order.
func blocks(t *testing.T, text, language string) []string {
	t.Helper()
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	if len(out) == 0 {
		t.Fatalf("the README has no %s block", language)
	}
	return out
}

func readme(t *testing.T) (root, text string) {
	t.Helper()
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return root, string(raw)
}

func TestWhatTheReadmeSaysRuns(t *testing.T) {
	root, text := readme(t)
	s := process.Start(t, process.Options{Lake: filepath.Join(t.TempDir(), "lake")})
	address := strings.TrimPrefix(s.Flight, "grpc://")
	here := func(code string) string { return strings.ReplaceAll(code, "127.0.0.1:8815", address) }

	for _, sql := range blocks(t, text, "sql") {
		if out, err := process.Run(t, "sql", s.Flight, "-c", sql); err != nil {
			t.Fatalf("%v\n%s", err, out)
		} else if !strings.Contains(out, "9.50") {
			t.Errorf("the view's rows are not printed:\n%s", out)
		}
	}
	line := regexp.MustCompile(`vega-flight sql grpc://127\.0\.0\.1:8815 -c "(.*?)"`).FindStringSubmatch(text)
	if line == nil {
		t.Fatal("the README has no command line example")
	}
	if out, err := process.Run(t, "sql", s.Flight, "-c", line[1]); err != nil || !strings.Contains(out, "9.50") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Run("python", func(t *testing.T) {
		python := process.Python(t)
		for _, code := range blocks(t, text, "python") {
			out, err := exec.Command(python, "-W", "error::SyntaxWarning", "-c", here(code)).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "9.50") {
				t.Errorf("%v\n%s\n%s", err, code, out)
			}
		}
	})
	t.Run("go", func(t *testing.T) {
		for _, code := range blocks(t, text, "go") {
			// Inside the module, so that its dependencies are found.
			dir, err := os.MkdirTemp(filepath.Join(root, ".build"), "readme-")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(goHead+here(code)+"}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("go", "run", "./"+filepath.Join(".build", filepath.Base(dir)))
			cmd.Dir = root
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "9.5") {
				t.Errorf("%v\n%s", err, out)
			}
		}
	})
}

const goHead = `package main

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

var _ = bytes.Contains

func main() {
	ctx := context.Background()
`
