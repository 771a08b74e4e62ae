package tables

import (
	"flag"
	"os"
	"regexp"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of the documentation")

var section = regexp.MustCompile(`(?s)<!-- ([a-z]+(?:: [a-z]+)?) -->\n(.*?)<!-- end -->`)

// Keep compares the tables of a page with those given, or writes them, and returns the page's text.
func Keep(t *testing.T, file string, tables map[string]string) (page string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	placed := map[string]bool{}
	page = section.ReplaceAllStringFunc(string(raw), func(s string) string {
		name := section.FindStringSubmatch(s)[1]
		body, ok := tables[name]
		if !ok {
			t.Errorf("%s has a table %q that nobody writes", file, name)
			return s
		}
		placed[name] = true
		return "<!-- " + name + " -->\n\n" + body + "\n<!-- end -->"
	})
	for name := range tables {
		if !placed[name] {
			t.Errorf("%s has no place for the table %q", file, name)
		}
	}
	switch {
	case t.Failed() || page == string(raw):
	case *update:
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the tables of %s are old: run this package's tests with -run %s -update", file, t.Name())
	}
	return page
}
