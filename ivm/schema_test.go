package ivm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/cockroachdb/datadriven"

	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/job"
)

// TestColumns holds the columns of all results: what a statement announces, and what the vega tables are.
func TestColumns(t *testing.T) {
	e := &Engine{}
	datadriven.RunTest(t, "testdata/columns.txt", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "statement":
			items, err := ddl.Parse(d.Input)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			return describeSchema(e.ResultSchema(items[0].Stmt))
		case "vega":
			return strings.Join(VegaDDL(), "\n") + "\n"
		}
		d.Fatalf(t, "unknown command %s", d.Cmd)
		return ""
	})
}

func describeSchema(s *arrow.Schema) string {
	if s == nil {
		return "none\n"
	}
	var b strings.Builder
	for _, f := range s.Fields() {
		fmt.Fprintf(&b, "%s: %s", f.Name, f.Type)
		if f.Nullable {
			b.WriteString(", nullable")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Every statement of the engine's own has a schema, so that it can be prepared.
func TestEveryStatementHasASchema(t *testing.T) {
	e := &Engine{}
	for _, sql := range []string{
		"CREATE MATERIALIZED VIEW v AS SELECT 1", "REFRESH MATERIALIZED VIEW v", "ALTER MATERIALIZED VIEW v SET (max_staleness = '1s')",
		"ALTER MATERIALIZED VIEW v RESET (max_staleness)", "ALTER MATERIALIZED VIEW v RENAME TO w", "ALTER MATERIALIZED VIEW v OWNER TO w",
		"ALTER STREAMING MATERIALIZED VIEW v PAUSE", "ALTER STREAMING MATERIALIZED VIEW v REBUILD", "DROP MATERIALIZED VIEW v", "SHOW MATERIALIZED VIEWS",
		"SHOW STREAMING MATERIALIZED VIEWS", "SHOW MATERIALIZED VIEW v", "SHOW CREATE MATERIALIZED VIEW v", "SHOW JOBS", "SHOW JOB 'x'", "CANCEL JOB 'x'",
	} {
		items, err := ddl.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		if s := e.ResultSchema(items[0].Stmt); s == nil || s.NumFields() == 0 {
			t.Errorf("%s has no schema", sql)
		}
	}
}

// Rows have the announced schema, with NULL where there is nothing.
func TestRowsHaveTheirSchema(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	j := job.Job{ID: "j", Kind: job.Create, View: "main.v", State: job.Running, Progress: job.Unknown, SubmittedAt: at}
	for _, r := range []Result{status("X"), accepted("X", j), acceptedTable.result(acceptance{verb: "X"}), cancelled(j), jobTable.result(j, j), streamingTable.result()} {
		if !r.Records.Schema().Equal(r.Schema) {
			t.Errorf("rows have the schema %s, announced was %s", r.Records.Schema(), r.Schema)
		}
		for i, f := range r.Schema.Fields() {
			if !f.Nullable && r.Records.Column(i).NullN() > 0 {
				t.Errorf("column %s is NULL", f.Name)
			}
		}
		r.Release()
	}
	r := jobTable.result(j)
	defer r.Release()
	for name, want := range map[string]string{"progress": "(null)", "started_at": "(null)", "submitted_at": "2026-01-02T03:04:05.000006Z", "error_code": "(null)", "attempt": "0"} {
		i := r.Schema.FieldIndices(name)[0]
		if got := r.Records.Column(i).ValueStr(0); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
