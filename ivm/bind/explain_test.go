package bind

import (
	"context"
	"strings"
	"testing"
)

// TestExplain keeps what is said of each operator.
func TestExplain(t *testing.T) {
	p := newPlanner(t)
	c := readCorpus(t, "testdata/explain/properties.txt")
	var got []string
	for _, e := range c.entries {
		pl, err := p.Plan(context.Background(), c.query(e.sql))
		if err != nil {
			t.Fatalf("%s: %v", e.sql, err)
		}
		var lines []string
		for _, line := range strings.Split(pl.ExplainText(), "\n") {
			lines = append(lines, strings.TrimRight(line, " "))
		}
		text := strings.Join(lines, "\n")
		if got = append(got, text); text != e.want && !*update {
			t.Errorf("%s\ngot:\n%swant:\n%s", e.sql, text, e.want)
		}
		if rows := pl.Explain(); len(rows) != len(pl.Nodes) || rows[0].ParentID != -1 {
			t.Errorf("%s: %d rows of %d operators", e.sql, len(rows), len(pl.Nodes))
		}
	}
	if *update {
		c.write(t, got)
	}
}
