package ivmtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// situation is a history of the tables a and b of the scripts that are about an operator; the same one for each of them.
type situation struct {
	name  string
	keys  string   // the type of the column k; "" is INTEGER
	steps []string // DML
}

// situations reads those of one table, or of two, of the files beside the scripts.
func situations(scripts string, two bool) ([]situation, error) {
	dir := filepath.Join(scripts, "..", "situations")
	file := "one_table"
	if two {
		file = "two_tables"
	}
	var out []situation
	err := eachBlock(filepath.Join(dir, file), func(head string, lines []string) error {
		steps := strings.Split(strings.Join(lines, "\n"), "\n--\n")
		out = append(out, situation{name: head, steps: steps})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, eachBlock(filepath.Join(dir, "keys"), func(head string, values []string) error {
		name, typ, _ := strings.Cut(head, " ")
		if len(values) != 4 {
			return fmt.Errorf("%s has %d values, not 4", name, len(values))
		}
		out = append(out, situation{name, typ, keySteps(values, two)})
		return nil
	})
}

// keySteps are a history of keys: three values, and the first one written otherwise.
func keySteps(v []string, two bool) []string {
	steps := []string{
		fmt.Sprintf("INSERT INTO a VALUES (%s, 1, 'p'), (%s, 2, 'q'), (%s, 3, 'r'), (NULL, 1, 't')", v[0], v[1], v[2]),
		fmt.Sprintf("INSERT INTO a VALUES (%s, 4, 's')", v[3]),
		fmt.Sprintf("DELETE FROM a WHERE s = 'p'; UPDATE a SET k = %s WHERE s = 'r'", v[1]),
		fmt.Sprintf("UPDATE a SET k = %s WHERE s = 's'", v[2]),
	}
	if two {
		steps[0] += fmt.Sprintf(";\nINSERT INTO b VALUES (%s, 1, 'u'), (%s, 3, 'w'), (%s, 2, 'x')", v[3], v[1], v[2])
		steps[3] += "; DELETE FROM b WHERE s = 'w'"
	}
	return steps
}

// eachBlock reads blocks of lines with empty lines between; those that begin with # are for readers.
func eachBlock(file string, take func(head string, lines []string) error) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		var lines []string
		for _, l := range strings.Split(block, "\n") {
			if !strings.HasPrefix(l, "#") {
				lines = append(lines, l)
			}
		}
		if len(lines) == 0 {
			continue
		}
		if err := take(lines[0], lines[1:]); err != nil {
			return err
		}
	}
	return nil
}

// begin makes the tables and views that stand before the first case.
func (s *script) begin(t *testing.T, keys string) {
	for _, d := range s.common {
		again := *d
		if again.Cmd == "table" && keys != "" {
			again.Input = strings.ReplaceAll(again.Input, "k INTEGER", "k "+keys)
		}
		s.command(t, &again)
	}
}

// situations has the views that stand before the first case go through situations.
func (s *script) situations(t *testing.T, d *datadriven.TestData) error {
	two := slices.ContainsFunc(s.common, func(c *datadriven.TestData) bool { return strings.Contains(c.Input, "CREATE TABLE b ") })
	all, err := situations(filepath.Dir(s.path), two)
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(d.Input) {
		i := slices.IndexFunc(all, func(x situation) bool { return x.name == name })
		if i < 0 {
			return fmt.Errorf("there is no situation %s", name)
		}
		if err := s.open(t.Context(), name, false); err != nil {
			return err
		}
		s.begin(t, all[i].keys)
		for _, dml := range all[i].steps {
			s.command(t, &datadriven.TestData{Pos: d.Pos, Cmd: "step", Input: dml})
		}
		s.end(t)
	}
	return nil
}
