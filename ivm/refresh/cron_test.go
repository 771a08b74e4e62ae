package refresh

import (
	"errors"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

const stamp = "2006-01-02T15:04:05Z07:00"

func at(t *testing.T, s string) time.Time {
	t.Helper()
	v, err := time.Parse(stamp, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Runs after a moment, on ordinary days and on the days when clocks are turned. Times are written with the offset that the clocks show.
func TestCron(t *testing.T) {
	for _, c := range []struct {
		name, cron, zone, after string
		want                    []string
	}{
		{"every quarter", "*/15 * * * *", "", "2026-01-01T00:07:00Z", []string{"2026-01-01T00:15:00Z", "2026-01-01T00:30:00Z"}},
		{"strictly after", "0 12 * * *", "", "2026-01-01T12:00:00Z", []string{"2026-01-02T12:00:00Z"}},
		{"local midnight", "@daily", "Europe/Berlin", "2026-07-01T12:00:00Z", []string{"2026-07-02T00:00:00+02:00", "2026-07-03T00:00:00+02:00"}},
		{"end of month", "0 0 31 * *", "", "2026-01-31T00:00:00Z", []string{"2026-03-31T00:00:00Z"}},
		{"leap day", "0 0 29 2 *", "", "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00:00Z"}},
		{"weekdays", "30 8 * * MON-FRI", "", "2026-01-02T09:00:00Z", []string{"2026-01-05T08:30:00Z"}},

		// Berlin, 29 March 2026: 02:00 is followed by 03:00.
		{"skipped time runs at the gap's end", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00", []string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"skipped times run once", "0,20,40 2 * * *", "Europe/Berlin", "2026-03-29T00:30:00+01:00", []string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"}},
		{"gap's end and its own time are one run", "0 2,3 * * *", "Europe/Berlin", "2026-03-29T01:00:00+01:00", []string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"}},
		{"free hour jumps the gap", "30 * * * *", "Europe/Berlin", "2026-03-29T00:45:00+01:00", []string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00"}},
		// Berlin, 25 October 2026: 03:00 summer time is followed by 02:00 winter time.
		{"repeated time runs once", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00+02:00", []string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		{"not again in the second hour", "30 2 * * *", "Europe/Berlin", "2026-10-25T02:10:00+01:00", []string{"2026-10-26T02:30:00+01:00"}},
		{"free hour follows real time", "30 * * * *", "Europe/Berlin", "2026-10-25T01:45:00+02:00", []string{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00"}},
		// New York, the other way round and on other days.
		{"New York gap", "15 2 * * *", "America/New_York", "2026-03-07T12:00:00-05:00", []string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:15:00-04:00"}},
		{"New York overlap", "15 1 * * *", "America/New_York", "2026-10-31T12:00:00-04:00", []string{"2026-11-01T01:15:00-04:00", "2026-11-02T01:15:00-05:00"}},
		// Midnight itself may not exist.
		{"no midnight", "0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00-03:00", []string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
		// Half an hour only.
		{"Lord Howe gap", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30", []string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
		{"Lord Howe overlap", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00+11:00", []string{"2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"}},
		// A whole day was left out: 30 December 2011 in Samoa.
		{"no such day", "0 9 * * *", "Pacific/Apia", "2011-12-29T12:00:00-10:00", []string{"2011-12-31T00:00:00+14:00", "2011-12-31T09:00:00+14:00"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cr, err := ParseCron(c.cron, c.zone)
			if err != nil {
				t.Fatal(err)
			}
			now := at(t, c.after)
			for _, w := range c.want {
				now = cr.Next(now)
				if want := at(t, w); !now.Equal(want) {
					t.Fatalf("next is %s, want %s", now.In(cr.loc).Format(stamp), w)
				}
			}
		})
	}
}

// Every run is later than the one before, and a fixed time runs exactly once a day, all year in every zone that turns its clocks.
func TestCronOnceADay(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Africa/Casablanca", "Asia/Kathmandu"} {
		for _, expr := range []string{"30 2 * * *", "0 0 * * *", "59 23 * * *", "0 3 * * *", "30 1 * * *"} {
			c, err := ParseCron(expr, zone)
			if err != nil {
				t.Fatal(err)
			}
			now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
			days := map[string]bool{}
			for range 365 {
				next := c.Next(now)
				day := next.In(c.loc).Format("2006-01-02")
				if !next.After(now) || days[day] {
					t.Fatalf("%s in %s: after %s comes %s", expr, zone, now.In(c.loc), next.In(c.loc))
				}
				days[day] = true
				now = next
			}
			if got := now.Sub(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)).Hours() / 24; got < 363.9 || got > 365.1 {
				t.Errorf("%s in %s: 365 runs took %.2f days", expr, zone, got)
			}
		}
	}
}

func TestCronRefused(t *testing.T) {
	for _, c := range [][2]string{
		{"", ""}, {"* * * *", ""}, {"* * * * * *", ""}, {"61 * * * *", ""}, {"0 0 30 2 *", ""}, {"@every 5s", ""}, {"TZ=", ""}, {"TZ=UTC * * * * *", ""},
		{"CRON_TZ=UTC 0 0 * * *", ""}, {"@nonsense", ""}, {"0 0 * * *", "Mars/Olympus"}, {"0 0 * * *", "Local"}, {"0 0 * * *", "../etc"},
	} {
		if _, err := ParseCron(c[0], c[1]); !errors.Is(err, fault.InvalidOption.Sentinel()) {
			t.Errorf("%q in %q: %v", c[0], c[1], err)
		}
	}
}
