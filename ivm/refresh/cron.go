package refresh

import (
	"strings"
	"time"
	_ "time/tzdata" // zones must be known on machines without a zone database

	"github.com/robfig/cron/v3"

	"github.com/vegadb/vega-flight/fault"
)

// Cron is a five-field cron expression in a time zone.
//
// On days when the clock is turned, the rule is the one of the classic cron: an expression whose hour is `*` follows real
// time (a quarter-hourly job runs every quarter of an hour, also in the repeated hour); one with fixed hours follows the wall
// clock: a time that the day skips runs when the gap ends, a time that the day has twice runs the first time only.
type Cron struct {
	text string
	loc  *time.Location
	wall *cron.SpecSchedule // matched against wall-clock times written as UTC
	real *cron.SpecSchedule // set when the hour is free
}

var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// freeField is the bit that the parser sets in a field written as `*`.
const freeField = 1 << 63

// ParseCron reads `minute hour day-of-month month day-of-week` or @hourly, @daily, @weekly, @monthly, @yearly. An empty zone is UTC.
func ParseCron(text, zone string) (*Cron, error) {
	bad := func(why string) error {
		return fault.InvalidOption.Newf("refresh_cron %q: %s", text, why).
			WithHint("five fields: minute hour day-of-month month day-of-week, e.g. '*/15 * * * *'")
	}
	if zone == "" {
		zone = "UTC"
	}
	loc, err := time.LoadLocation(zone)
	if err != nil || strings.EqualFold(zone, "Local") {
		return nil, fault.InvalidOption.Newf("refresh_timezone %q is not a time zone", zone).WithHint("use a name such as 'Europe/Berlin' or 'UTC'")
	}
	if strings.ContainsRune(text, '=') {
		return nil, bad("a zone belongs into refresh_timezone")
	}
	if len(strings.Fields(text)) == 0 {
		return nil, bad("it is empty")
	}
	if strings.HasPrefix(strings.TrimSpace(text), "@every") {
		return nil, fault.InvalidOption.Newf("refresh_cron %q: use refresh_interval", text)
	}
	parsed, err := cronParser.Parse(strings.TrimSpace(text))
	if err != nil {
		return nil, bad(err.Error())
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, bad("not a calendar expression")
	}
	c := &Cron{text: text, loc: loc}
	wall := *spec
	wall.Location = time.UTC
	c.wall = &wall
	if spec.Hour&freeField != 0 {
		free := *spec
		free.Location = loc
		c.real = &free
	}
	if c.wall.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, bad("no day ever matches")
	}
	return c, nil
}

// String is the expression as it was written.
func (c *Cron) String() string { return c.text }

// Next is the first run strictly after t, or the zero time.
func (c *Cron) Next(t time.Time) time.Time {
	if c.real != nil {
		return c.real.Next(t.In(c.loc)).UTC()
	}
	local := t.In(c.loc)
	wall := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), time.UTC)
	// After a gap the wall clock is ahead of ticks that run at the gap's end, and that end may still lie before them: start early.
	wall = wall.Add(-24 * time.Hour)
	for {
		if wall = c.wall.Next(wall); wall.IsZero() {
			return time.Time{}
		}
		if at := instant(wall, c.loc); at.After(t) {
			return at.UTC()
		}
	}
}

// instant is when the clocks of loc first show the wall time; when they skip it, the end of the gap.
func instant(wall time.Time, loc *time.Location) time.Time {
	_, before := wall.Add(-24 * time.Hour).In(loc).Zone()
	_, after := wall.Add(24 * time.Hour).In(loc).Zone()
	shows := func(offset int) (time.Time, bool) {
		at := wall.Add(-time.Duration(offset) * time.Second)
		_, o := at.In(loc).Zone()
		return at, o == offset
	}
	// The larger offset is the earlier instant.
	for _, offset := range []int{max(before, after), min(before, after)} {
		if at, ok := shows(offset); ok {
			return at
		}
	}
	at, _ := shows(before)
	start, _ := at.In(loc).ZoneBounds()
	if start.IsZero() {
		return at
	}
	return start
}
