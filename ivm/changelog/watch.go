package changelog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// retryAfter is how long the watch waits when the catalog cannot be asked.
const retryAfter = time.Second

// watching finds the commits that views' subscribers wait for, while there are any.
func (c *Changelog) watching(ctx context.Context) {
	defer c.group.Done()
	heads := c.Source.Watch(ctx)
	retry, stop := (<-chan time.Time)(nil), func() bool { return true }
	defer func() { stop() }()
	var head int64
	for {
		select {
		case <-ctx.Done():
			return
		case h, open := <-heads:
			if !open {
				return
			}
			head = max(head, h)
		case <-retry:
		}
		stop()
		retry = nil
		if err := c.advance(ctx, head); err != nil && ctx.Err() == nil {
			c.log.Warn("looking for what subscribers wait for", "err", err)
			retry, stop = c.Clock.After(retryAfter)
		}
		c.moveHolds(ctx)
	}
}

// advance tells the views what happened up to a snapshot.
func (c *Changelog) advance(ctx context.Context, head int64) error {
	c.mu.Lock()
	from := c.at
	c.mu.Unlock()
	if head <= from {
		return nil
	}
	commits, err := c.Source.Commits(ctx, from, head)
	expired := errors.Is(err, fault.HistoryExpired.Sentinel())
	if err != nil && !expired {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil { // another watch goes on
		return nil
	}
	c.at = head
	for _, f := range c.views {
		f.advance(commits, head, expired)
	}
	return nil
}

// advance adds commits. When some are missing, subscribers that need them have to find out themselves.
func (f *followed) advance(commits []stream.Commit, head int64, missing bool) {
	if missing {
		f.from, f.commits = head, nil
	}
	f.commits = append(f.commits, touching(commits, f.tableID, f.at)...)
	if over := len(f.commits) - maxCommits; over > 0 {
		f.from = f.commits[over-1].snapshot
		f.commits = slices.Delete(f.commits, 0, over)
	}
	f.at = max(f.at, head)
	close(f.grew)
	f.grew = make(chan struct{})
}

// touching are the commits after a snapshot that touched a table.
func touching(commits []stream.Commit, table, after int64) (out []commit) {
	for _, c := range commits {
		if t, ok := c.Tables[table]; ok && c.Snapshot > after {
			out = append(out, commit{snapshot: c.Snapshot, rows: t.Rows && !t.Gone, foreign: t.Rows && !t.Ours, schema: t.Schema, gone: t.Gone})
		}
	}
	return out
}
