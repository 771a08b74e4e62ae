package command

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// figure is a figure of the server, and whether it tells it.
func figure(t *testing.T, text, name string) (float64, bool) {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(name, err)
	}
	return v, true
}

// The figures of a streaming view are of what it has done.
func TestHTTPTellsOfStreamingViews(t *testing.T) {
	s := start(t)
	c := s.Connect(t)
	for _, sql := range []string{
		"CREATE TABLE e (id BIGINT, ts TIMESTAMP)", "INSERT INTO e SELECT i, TIMESTAMP '2024-01-01 10:00:00' + INTERVAL 1 MINUTE * i FROM range(30) r(i)",
		`CREATE STREAMING MATERIALIZED VIEW w WITH (wait_for_ready = true, checkpoint_interval = '100ms', watermark_column = 'ts', watermark_delay = '5 minutes') AS
			SELECT time_bucket(INTERVAL 10 MINUTE, ts) AS b, count(*) AS n FROM e GROUP BY b`,
		"CREATE TABLE words (w VARCHAR)", "INSERT INTO words VALUES ('one')", "CREATE STREAMING MATERIALIZED VIEW numbers AS SELECT w::INTEGER AS n FROM words",
		"INSERT INTO e VALUES (100, '2024-01-01 09:00:00'), (101, '2024-01-01 10:31:00')", // the first is late
	} {
		c.Must(t, sql)
	}
	const view = `{view="main.w"}`
	var text string
	least := map[string]float64{
		"vega_flight_stream_epochs_total" + view: 1, "vega_flight_stream_rows_in_total" + view: 2, "vega_flight_stream_rows_out_total" + view: 1,
		"vega_flight_stream_publications_total" + view: 1, "vega_flight_stream_late_rows_total" + view: 1, "vega_flight_stream_rows" + view: 4,
		"vega_flight_stream_state_bytes" + view: 1, "vega_flight_stream_busy_seconds" + view: 0, "vega_flight_stream_healed_total" + view: 0,
		"vega_flight_stream_lag_seconds" + view: 0, `vega_flight_stream_views{state="RUNNING"}`: 1, `vega_flight_stream_views{state="FAILED"}`: 1,
		`vega_flight_stream_views{state="PAUSED"}`: 0, "vega_flight_subscriptions": 0,
	}
	process.Until(t, "the figures are of what was written", func() bool {
		_, text = get(t, s, "/metrics")
		for name, min := range least {
			if v, there := figure(t, text, name); !there || v < min {
				return false
			}
		}
		for _, name := range []string{"checkpoint_seconds", "checkpoint_age_seconds", "publish_seconds"} {
			if v, there := figure(t, text, "vega_flight_stream_"+name+view); !there || v <= 0 {
				return false
			}
		}
		lag, _ := figure(t, text, "vega_flight_stream_lag_seconds"+view)
		return lag == 0
	}, func() any { return text })
	if late, _ := figure(t, text, "vega_flight_stream_late_rows_total"+view); late != 1 {
		t.Errorf("%v rows are late", late)
	}
	// What the statements say is the same.
	if n := c.Value(t, "SELECT late_rows FROM vega.streaming_views WHERE view_name = 'w'"); n != "1" {
		t.Errorf("%s rows are late", n)
	}
	// A view that stands still has a lag.
	c.Must(t, "ALTER STREAMING MATERIALIZED VIEW w PAUSE")
	c.Must(t, "INSERT INTO e VALUES (102, '2024-01-01 10:32:00')")
	process.Until(t, "the view is behind", func() bool {
		_, text = get(t, s, "/metrics")
		lag, _ := figure(t, text, "vega_flight_stream_lag_seconds"+view)
		paused, _ := figure(t, text, `vega_flight_stream_views{state="PAUSED"}`)
		return lag > 0 && paused == 1
	}, func() any { return text })
}
