package ivmtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fewestCases is how many situations the scripts go through.
const fewestCases = 500

// TestScriptsSayWhatTheyTest counts the cases: each has a name of its own within its file, and there are many.
func TestScriptsSayWhatTheyTest(t *testing.T) {
	begins := regexp.MustCompile(`(?m)^case (\S+)`)
	n := 0
	kinds := map[string]bool{}
	err := filepath.WalkDir(filepath.Join("testdata", "scripts"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		kind, _, _ := strings.Cut(filepath.Base(path), "_")
		kinds[kind] = true
		names := map[string]bool{}
		for _, m := range begins.FindAllStringSubmatch(string(text), -1) {
			if names[m[1]] {
				t.Errorf("%s: there are two cases %s", path, m[1])
			}
			names[m[1]] = true
		}
		n += len(names)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < fewestCases {
		t.Errorf("%d cases, not %d", n, fewestCases)
	}
	for _, k := range strings.Fields("01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 20") {
		if !kinds["kind"+k] {
			t.Errorf("no script is of kind %s", k)
		}
	}
	t.Logf("%d cases", n)
}
