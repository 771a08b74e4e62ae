package gate

import (
	"testing"

	"github.com/vegadb/vega-flight/fault"
)

// DuckDB ends for some parts that are computed.
func TestPartsOfDatesAreWritten(t *testing.T) {
	_, s := newGate(t, newRealLake(t, sales...))
	for _, sql := range []string{
		"SELECT date_part('epoch', now())", "SELECT main.datepart('julian', now())", "SELECT date_part(?, now())", "SELECT date_part(['epoch', 'day'], now())",
		"SELECT extract(epoch FROM now()), date_part FROM (SELECT 1 AS date_part)",
	} {
		if _, err := s.Analyze(t.Context(), sql, Env{}); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, sql := range []string{
		"SELECT date_part(b, now()) FROM t", `SELECT "DatePart"(b, now()) FROM t`, "SELECT b.date_part(now()) FROM t", "SELECT date_part('e' || b, now()) FROM t", "SELECT main.date_part((SELECT 'epoch'), now())",
		"CREATE MACRO part(p) AS date_part(p, now())", "SELECT list_transform(['epoch'], p -> date_part(p, now()))",
	} {
		if _, err := s.Analyze(t.Context(), sql, Env{}); fault.CodeOf(err) != fault.StatementForbidden {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
