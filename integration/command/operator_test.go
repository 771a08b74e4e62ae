package command

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

func get(t *testing.T, s *process.Server, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.HTTP+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func TestHTTPTellsOperators(t *testing.T) {
	s := start(t, "--log-format", "json")
	c := s.Connect(t)
	c.Must(t, "CREATE TABLE t AS SELECT i AS k, i % 10 AS g, 'a secret' AS s FROM range(5000) r(i)")
	c.Must(t, "INSERT INTO t SELECT i, 1, 'a secret' FROM range(5000) r(i)")
	c.Must(t, "CREATE MATERIALIZED VIEW v AS SELECT g, sum(k) AS total FROM t GROUP BY g")
	c.Must(t, "REFRESH MATERIALIZED VIEW v WITH (full = true)")
	if _, err := c.Query(t.Context(), "SELECT * FROM missing"); err == nil {
		t.Fatal("a missing table was read")
	}
	c.Must(t, "SELECT * FROM v")

	for _, path := range []string{"/healthz", "/readyz"} {
		if code, text := get(t, s, path); code != http.StatusOK || text != "ok\n" {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if code, _ := get(t, s, "/"); code != http.StatusNotFound {
		t.Errorf("/: %d", code)
	}
	_, text := get(t, s, "/metrics")
	for _, c := range []struct {
		name, labels string
		least        float64
	}{
		{"vega_flight_sessions", "", 1},
		{"vega_flight_statement_seconds_count", `kind="INSERT",outcome="ok"`, 1},
		{"vega_flight_statement_seconds_count", `kind="statement",outcome="OBJECT_NOT_FOUND"`, 1},
		{"vega_flight_statement_rows_total", `kind="INSERT"`, 5000},
		{"vega_flight_arrow_bytes_total", `direction="sent"`, 1},
		{"vega_flight_jobs", `state="SUCCEEDED"`, 2},
		{"vega_flight_jobs", `state="RUNNING"`, 0},
		{"vega_flight_refresh_seconds_count", `outcome="ok"`, 2},
		{"vega_flight_commit_seconds_count", `kind="publish"`, 2},
		{"vega_flight_commit_seconds_count", `kind="write"`, 1},
		{"vega_flight_commit_wait_seconds_count", `kind="publish"`, 2},
		{"vega_flight_lake_data_files", "", 2},
		{"vega_flight_lake_data_bytes", "", 100},
		{"vega_flight_lake_delete_files", "", 0},
		{"vega_flight_lake_snapshots", "", 4},
		{"process_resident_memory_bytes", "", 1},
	} {
		labels := ""
		if c.labels != "" {
			labels = "{" + c.labels + "}"
		}
		m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(c.name+labels) + ` (\S+)$`).FindStringSubmatch(text)
		if m == nil {
			t.Errorf("no %s%s", c.name, labels)
			continue
		}
		if v, err := strconv.ParseFloat(m[1], 64); err != nil || v < c.least {
			t.Errorf("%s%s is %s, want at least %g", c.name, labels, m[1], c.least)
		}
	}
	log := s.Log()
	if strings.Contains(log, "a secret") || strings.Contains(text, "a secret") {
		t.Error("a literal of a statement is told")
	}
	line := regexp.MustCompile(`(?m)^\{.*"level":"INFO","msg":"statement",.*"kind":"INSERT","took":\d+,"rows":5000,.*\}$`)
	if n := len(line.FindAllString(log, -1)); n != 1 {
		t.Errorf("%d lines of the INSERT in the log:\n%s", n, log)
	}
}

func TestHTTPMayBeTurnedOff(t *testing.T) {
	s := start(t, "--http", "")
	if s.HTTP != "" {
		t.Errorf("the ready file has the address %s", s.HTTP)
	}
}
