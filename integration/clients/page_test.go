package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// The programs of docs/clients.md, in their order, against one server.
func TestTheProgramsOfThePageRun(t *testing.T) {
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	s := process.Start(t, process.Options{Lake: filepath.Join(t.TempDir(), "lake")})
	here := func(code string) string {
		return strings.ReplaceAll(code, "127.0.0.1:8815", strings.TrimPrefix(s.Flight, "grpc://"))
	}
	blocks := regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	count := map[string]int{}
	for i, block := range blocks {
		language, code := block[1], block[2]
		count[language]++
		t.Run(fmt.Sprint(i, " ", language), func(t *testing.T) {
			switch language {
			case "sql":
				if out, err := process.Run(t, "sql", s.Flight, "-c", code); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			case "python":
				shows(t, exec.CommandContext(t.Context(), python(t), "-W", "error::SyntaxWarning", "-c", here(code)))
			case "java":
				file := filepath.Join(t.TempDir(), "Totals.java")
				write(t, file, here(code))
				shows(t, java(t, file))
			case "go":
				dir, err := os.MkdirTemp(filepath.Join(root, ".build"), "page-") // inside the module, whose dependencies it has
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := os.RemoveAll(dir); err != nil {
						t.Error(err)
					}
				}()
				write(t, filepath.Join(dir, "main.go"), here(code))
				cmd := exec.CommandContext(t.Context(), "go", "run", "./"+filepath.Join(".build", filepath.Base(dir)))
				cmd.Dir = root
				shows(t, cmd)
			case "rust":
				// What was built must be what the page says, but for the address.
				built, err := os.ReadFile(filepath.Join("rust", "src", "bin", "page.rs"))
				if err != nil {
					t.Fatal(err)
				}
				want := strings.Replace(code, `Endpoint::from_static("http://127.0.0.1:8815")`, `Endpoint::from_shared(std::env::args().nth(1).unwrap())?`, 1)
				if string(built) != want {
					t.Fatalf("rust/src/bin/page.rs is not the page's program; it should be\n%s", want)
				}
				shows(t, exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(rust(t)), "page"), "http://"+strings.TrimPrefix(s.Flight, "grpc://")))
			default:
				t.Errorf("nothing runs %s", language)
			}
		})
	}
	for language, n := range map[string]int{"sql": 1, "python": 6, "java": 1, "go": 2, "rust": 1} {
		if count[language] != n {
			t.Errorf("the page has %d programs in %s, want %d", count[language], language, n)
		}
	}
}

// shows runs a program, which must print something.
func shows(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	t.Log(string(out))
	if err != nil || len(out) == 0 {
		t.Error(err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
