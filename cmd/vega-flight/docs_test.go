package main

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vegadb/vega-flight/docs/tables"
)

// TestOperationsListEveryOptionAndFigure keeps the tables of the operations page as the code has them.
func TestOperationsListEveryOptionAndFigure(t *testing.T) {
	tables.Keep(t, "../../docs/operations.md", map[string]string{"options": optionsTable(), "metrics": metricsTable(t)})
}

// The design notes name the tests that try to break what always holds: they exist.
func TestDesignNotesNameTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("git", "-C", "../..", "grep", "-hoE", `^func Test\w+`, "--", "*_test.go").Output()
	if err != nil {
		t.Skipf("no git checkout: %v", err)
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) == 0 {
		t.Fatal("the page names no test")
	}
	for _, m := range named {
		if !strings.Contains(string(out), "func "+m[1]+"\n") {
			t.Errorf("there is no %s", m[1])
		}
	}
}

func optionsTable() string {
	var b strings.Builder
	b.WriteString("| option | default | |\n|---|---|---|\n")
	new(Config).fields(func(name string, tag reflect.StructTag, v reflect.Value) {
		def := tag.Get("default")
		switch {
		case def != "":
			def = "`" + def + "`"
		case v.Kind() == reflect.Bool:
			def = "`false`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, def, sentence(tag.Get("usage")))
	})
	return b.String()
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

func metricsTable(t *testing.T) string {
	figures := newMetrics()
	figures.registry.MustRegister(newLakeFigures(nil), newStreamFigures(nil))
	all := make(chan *prometheus.Desc, 1000)
	figures.registry.Describe(all)
	close(all)
	form := regexp.MustCompile(`^Desc\{fqName: "(vega_\w+)", help: "(.*?)"(?:, unit: "\w*")?, constLabels: \{\}, variableLabels: \{(.*)\}\}$`)
	var rows []string
	for d := range all {
		if m := form.FindStringSubmatch(d.String()); m != nil {
			labels := ""
			if m[3] != "" {
				labels = "`" + strings.ReplaceAll(m[3], ",", "`, `") + "`"
			}
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", m[1], labels, m[2]))
		}
	}
	if len(rows) < 10 {
		t.Fatalf("only %d figures", len(rows))
	}
	slices.Sort(rows)
	return "| figure | labels | |\n|---|---|---|\n" + strings.Join(rows, "")
}
