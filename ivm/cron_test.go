package ivm

import (
	"testing"

	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/refresh"
)

// What the parser lets through, the schedule can keep, and the other way round.
func TestParserAndScheduleAgreeOnCron(t *testing.T) {
	spec, _ := ddl.LookupOption(ddl.ViewOptions, "refresh_cron")
	for _, text := range []string{"* * * * *", "*/15 * * * *", " 0  3 * * 1-5 ", "0 0 29 2 *", "0 0 30 2 *", "@daily", "@hourly", "@every 5m", "@never", "", " ",
		"* * * *", "0 * * * * *", "61 * * * *", "TZ=UTC * * * * *", "CRON_TZ=UTC 0 0 * * *", "0 0 * * MON", "0 0 1 JAN *", "0 0 * * 7", "0 0 L * *", "?"} {
		_, parsed := spec.Parse(text)
		_, kept := refresh.ParseCron(text, "")
		if (parsed == nil) != (kept == nil) {
			t.Errorf("%q: the parser says %v, the schedule %v", text, parsed, kept)
		}
	}
	zone, _ := ddl.LookupOption(ddl.ViewOptions, "refresh_timezone")
	for _, text := range []string{"UTC", "Europe/Berlin", "Local", "local", "Mars/Olympus", "../etc/passwd", "europe/berlin", "+01:00"} {
		_, parsed := zone.Parse(text)
		_, kept := refresh.ParseCron("* * * * *", text)
		if (parsed == nil) != (kept == nil) {
			t.Errorf("zone %q: the parser says %v, the schedule %v", text, parsed, kept)
		}
	}
}
