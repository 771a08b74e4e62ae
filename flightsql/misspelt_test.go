package flightsql

import (
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/fault"
)

func TestMisspeltStatements(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	for text, want := range map[string]string{
		"CREATE MATERIALISED VIEW v AS SELECT 1": "did you mean CREATE MATERIALIZED VIEW?", "REFRSH MATERIALIZED VIEW v": "did you mean REFRESH MATERIALIZED VIEW?",
		"SHOW MATERIALIZED VEIWS": "did you mean SHOW MATERIALIZED VIEWS?", "SHOW JOBZ": "did you mean SHOW JOBS?", "SELEC 1": "did you mean SELECT?",
		"SELECT 1; SUBSCRBE TO v": "did you mean SUBSCRIBE TO?", "CREATE MATERIALIZED VEIW v AS SELECT 1": "VIEW is expected",
	} {
		_, err := c.try(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, err := c.try("SELECT * FORM t")
	named(t, err, fault.SyntaxError)
	if strings.Contains(err.Error(), "did you mean") {
		t.Error(err)
	}
}
