package ivm

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/docs/tables"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/plan"
)

// TestReference keeps the tables of the SQL reference as the code has them.
func TestReference(t *testing.T) {
	text := tables.Keep(t, "../docs/sql-reference.md", map[string]string{
		"options: view":      optionTable(ddl.ViewOptions),
		"options: refresh":   optionTable(ddl.RefreshOptions),
		"options: streaming": optionTable(ddl.StreamingOptions),
		"options: subscribe": optionTable(ddl.SubscribeOptions),
		"options: settings":  optionTable(ddl.Settings),
		"columns: status":    columnTable(statusTable),
		"columns: accepted":  columnTable(acceptedTable),
		"columns: refresh":   columnTable(refreshTable),
		"columns: views":     columnTable(viewTable),
		"columns: streams":   columnTable(streamingTable),
		"columns: create":    columnTable(createTable),
		"columns: jobs":      columnTable(jobTable),
		"columns: cancel":    columnTable(cancelTable),
		"columns: sources":   columnTable(sourceTable),
		"columns: explain":   columnTable(explainTable),
		"columns: analyze":   columnTable(analyzeTable),
		"reasons: streaming": reasonTable(),
	})
	known := map[string]bool{"NOT_POPULATED": true, "TABLE_GONE": true, "SCHEMA_BLOCKED": true, "PERMISSION_BLOCKED": true, "RESOURCE_BLOCKED": true} // states
	for _, c := range plan.Codes() {
		known[string(c.Code)] = true
	}
	for _, name := range regexp.MustCompile("`[A-Z]+(_[A-Z]+)+`").FindAllString(text, -1) {
		name = strings.Trim(name, "`")
		if fault.Lookup(name) == nil && !known[name] {
			t.Errorf("the reference names the error %s, which does not exist", name)
		}
	}
}

func reasonTable() string {
	var b strings.Builder
	b.WriteString("| reason | |\n|---|---|\n")
	for _, c := range plan.Codes() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.Code, cell(c.Doc))
	}
	return b.String()
}

func optionTable(specs []ddl.OptionSpec) string {
	var b strings.Builder
	b.WriteString("| option | value | default | |\n|---|---|---|---|\n")
	for _, s := range specs {
		def := ""
		if s.Default != "" {
			def = "`" + s.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, cell(s.Allowed()), def, cell(s.Doc))
	}
	return b.String()
}

func columnTable[T any](t table[T]) string {
	var b strings.Builder
	b.WriteString("| column | type | |\n|---|---|---|\n")
	for _, c := range t {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.name, c.kind.sql, cell(c.doc))
	}
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
