package ivmtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fewestCases is how many cases the scripts have, and how often they go through situations.
const fewestCases, fewestSituations = 300, 300

// TestScriptsSayWhatTheyTest counts the cases: each has a name of its own within its file, and there are many.
func TestScriptsSayWhatTheyTest(t *testing.T) {
	begins := regexp.MustCompile(`(?m)^case (\S+)`)
	n, situations := 0, 0
	listed := regexp.MustCompile(`(?m)^situations\n([^-]+)\n----`)
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
		for _, m := range listed.FindAllStringSubmatch(string(text), -1) {
			situations += len(strings.Fields(m[1]))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < fewestCases {
		t.Errorf("%d cases, not %d", n, fewestCases)
	}
	if situations < fewestSituations {
		t.Errorf("%d times a situation, not %d", situations, fewestSituations)
	}
	for _, k := range strings.Fields("01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 20") {
		if !kinds["kind"+k] {
			t.Errorf("no script is of kind %s", k)
		}
	}
	t.Logf("%d cases, and %d times a situation", n, situations)
}
