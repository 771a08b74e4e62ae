package catalog

import "time"

// Options are the options stored with a traditional view.
type Options struct {
	RefreshInterval *time.Duration // nil: no interval; 0: after every source commit
	RefreshCron     string         // "": no cron
	RefreshTimezone string         // "": UTC; only with RefreshCron
	MaxStaleness    *time.Duration // nil: any
}
