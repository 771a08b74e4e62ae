package refresh

import (
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// Spec says when a view refreshes by itself. The zero Spec never does.
type Spec struct {
	Every    time.Duration // > 0: this long after the end of the last run
	OnCommit bool          // after every commit that changes a source
	Cron     *Cron
}

// NewSpec makes the Spec of a view's options; empty texts and a negative interval mean that the option is not set.
func NewSpec(interval time.Duration, hasInterval bool, cron, zone string) (Spec, error) {
	switch {
	case hasInterval && cron != "":
		return Spec{}, fault.InvalidOption.Newf("refresh_interval and refresh_cron exclude each other")
	case zone != "" && cron == "":
		return Spec{}, fault.InvalidOption.Newf("refresh_timezone needs refresh_cron")
	case hasInterval && interval < 0:
		return Spec{}, fault.InvalidOption.Newf("refresh_interval must not be negative")
	case hasInterval && interval == 0:
		return Spec{OnCommit: true}, nil
	case hasInterval:
		return Spec{Every: interval}, nil
	case cron != "":
		c, err := ParseCron(cron, zone)
		if err != nil {
			return Spec{}, err
		}
		return Spec{Cron: c}, nil
	}
	return Spec{}, nil
}

// IsZero says that nothing is scheduled.
func (s Spec) IsZero() bool { return s.Every == 0 && !s.OnCommit && s.Cron == nil }

// Next is the earliest time of the run that follows a run which ended at end, after so many failures in a row.
// A view that never ran counts from the moment its schedule was set. Ticks of a cron that passed while the last run was
// still going are skipped. The zero time means never.
func (s Spec) Next(end time.Time, failures int) time.Time {
	wait := Backoff(failures)
	switch {
	case s.OnCommit:
		return end.Add(wait)
	case s.Every > 0:
		return end.Add(max(s.Every, wait, leastPause))
	case s.Cron != nil:
		return s.Cron.Next(end.Add(wait))
	}
	return time.Time{}
}

const (
	leastPause   = 100 * time.Millisecond // however short the interval is, so that one view does not keep a worker and the catalog busy
	firstBackoff = 10 * time.Second
	lastBackoff  = time.Hour
)

// Backoff is the least time between a failed run's end and the next one's start.
func Backoff(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	d := firstBackoff
	for range min(failures-1, 16) {
		d *= 2
	}
	return min(d, lastBackoff)
}
