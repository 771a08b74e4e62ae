package stream_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/ivmtest"
)

// operatorSteps are a history of the tables a and b that the scripts about operators have: keys and values that are NULL, come several times, move
// while what they meet goes, and vanish.
var operatorSteps = []string{
	`INSERT INTO a SELECT i % 11, i % 7, 'text ' || (i % 5) FROM range(120) r(i); INSERT INTO b SELECT i % 13, i % 5, 'other ' || (i % 3) FROM range(40) r(i)`,
	`INSERT INTO a VALUES (NULL, 2, 'x'), (1, NULL, 'y'), (1, 1, NULL), (NULL, NULL, NULL), (5, 6, 'z'), (5, 6, 'z'); INSERT INTO b VALUES (NULL, 2, 'x'), (1, NULL, NULL)`,
	`UPDATE a SET v = v + 2, k = (k * 3) % 11 WHERE s = 'text 2'; DELETE FROM b WHERE k IN (3, 6, 9)`,
	`restore`,
	`UPDATE b SET k = NULL WHERE k = 1; DELETE FROM a WHERE k = 1 OR v IS NULL; INSERT INTO a SELECT i % 4, 9, 'text 2' FROM range(9) r(i)`,
	`DELETE FROM a WHERE k > 0`,
	`DELETE FROM b; INSERT INTO a VALUES (2, 3, 'back'), (2, 3, 'back')`,
}

var viewOfScript = regexp.MustCompile(`(?s)\nview (\S+)([^\n]*)\n(.*?)\n----\n`)

// TestEveryOperatorOverALake has all views of the scripts about operators at the same time, half of them over a lake of each kind.
func TestEveryOperatorOverALake(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred views")
	}
	paths, err := filepath.Glob("../ivmtest/testdata/scripts/op_*")
	if err != nil || len(paths) < 40 {
		t.Fatal(len(paths), err)
	}
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l, m := newTests(t, kind)
		m.calm = true
		ivmtest.Run(t, l, operatorScript(t, paths, int(kind)))
		if n := l.Counts.Views.Load(); n < 50 {
			t.Errorf("%d views, and %d are left out", n, l.Counts.Skipped.Load())
		}
	})
}

// operatorScript writes a script with the views of every second path.
func operatorScript(t *testing.T, paths []string, from int) string {
	t.Helper()
	var script strings.Builder
	script.WriteString("case every_operator\n----\n\ntable\nCREATE TABLE a (k INTEGER, v INTEGER, s VARCHAR);\nCREATE TABLE b (k INTEGER, v INTEGER, s VARCHAR)\n----\n\n")
	for i := from; i < len(paths); i += 2 {
		path := paths[i]
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(text), "\ncase ")
		for _, v := range viewOfScript.FindAllStringSubmatch(head, -1) {
			fmt.Fprintf(&script, "view %s_%s%s\n%s\n----\n\n", filepath.Base(path), v[1], v[2], v[3])
		}
	}
	for _, s := range operatorSteps {
		if s != "restore" {
			s = "step\n" + s
		}
		script.WriteString(s + "\n----\n\n")
	}
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
