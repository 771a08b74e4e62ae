package main

import (
	"github.com/vegadb/vega-flight/ivm/changelog"
	source "github.com/vegadb/vega-flight/ivm/source/lake"
)

// subscriberFeeds is how many connections read for subscribers. They are not those that views are kept up to date with.
const subscriberFeeds = 3

// openChanges makes what subscribers read. It works only while there are any.
func (h *house) openChanges(c *Config) {
	h.subscribed = source.New(source.Config{Lake: h.lake, Feeds: subscriberFeeds})
	h.changes = changelog.New(changelog.Config{
		Source: h.subscribed, Holds: &source.Holds{Store: h.lake.Store(), Fence: h.fence},
		Dir: c.resultsDir(), DiskBytes: c.spoolBytes(), Log: h.log.With("component", "changelog"),
	})
}

// closeChanges lets go of it, when nobody subscribes any more.
func (h *house) closeChanges() error {
	if h.changes == nil {
		return nil
	}
	h.changes.Close()
	return h.subscribed.Close()
}
