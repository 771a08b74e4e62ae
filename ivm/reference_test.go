package ivm

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/ddl"
)

var update = flag.Bool("update", false, "write the tables of docs/sql-reference.md")

// TestReference keeps the tables of the SQL reference as the code has them.
func TestReference(t *testing.T) {
	const file = "../docs/sql-reference.md"
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]string{
		"options: view":      optionTable(ddl.ViewOptions),
		"options: refresh":   optionTable(ddl.RefreshOptions),
		"options: streaming": optionTable(ddl.StreamingOptions),
		"options: subscribe": optionTable(ddl.SubscribeOptions),
		"options: settings":  optionTable(ddl.Settings),
		"columns: status":    columnTable(statusTable),
		"columns: accepted":  columnTable(acceptedTable),
		"columns: refresh":   columnTable(refreshTable),
		"columns: views":     columnTable(viewTable),
		"columns: create":    columnTable(createTable),
		"columns: jobs":      columnTable(jobTable),
		"columns: cancel":    columnTable(cancelTable),
		"columns: sources":   columnTable(sourceTable),
	}
	section := regexp.MustCompile(`(?s)<!-- ([a-z]+: [a-z]+) -->\n(.*?)<!-- end -->`)
	text := section.ReplaceAllStringFunc(string(old), func(s string) string {
		name := section.FindStringSubmatch(s)[1]
		body, ok := tables[name]
		if !ok {
			t.Errorf("the reference has a table %q that nobody writes", name)
		}
		delete(tables, name)
		return "<!-- " + name + " -->\n" + body + "<!-- end -->"
	})
	for name := range tables {
		t.Errorf("the reference has no place for the table %q", name)
	}
	switch {
	case text == string(old):
	case *update:
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the tables of %s are old: go test ./ivm -run Reference -update", file)
	}
	for _, name := range regexp.MustCompile("`[A-Z]+(_[A-Z]+)+`").FindAllString(text, -1) {
		name = strings.Trim(name, "`")
		if fault.Lookup(name) == nil && name != "NOT_POPULATED" {
			t.Errorf("the reference names the error %s, which does not exist", name)
		}
	}
}

func optionTable(specs []ddl.OptionSpec) string {
	var b strings.Builder
	b.WriteString("\n| option | value | default | |\n|---|---|---|---|\n")
	for _, s := range specs {
		def := ""
		if s.Default != "" {
			def = "`" + s.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, cell(s.Allowed()), def, cell(s.Doc))
	}
	return b.String() + "\n"
}

func columnTable[T any](t table[T]) string {
	var b strings.Builder
	b.WriteString("\n| column | type | |\n|---|---|---|\n")
	for _, c := range t {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.name, c.kind.sql, cell(c.doc))
	}
	return b.String() + "\n"
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
