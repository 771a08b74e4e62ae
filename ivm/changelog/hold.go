package changelog

import (
	"context"
	"time"
)

// hold keeps a view's history from a position on, before anything of it is read.
func (c *Changelog) hold(ctx context.Context, f *followed, position int64) error {
	select {
	case f.hold <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-f.hold }()
	if f.held != None && f.held <= position {
		return nil
	}
	if err := c.Holds.Hold(ctx, f.name, f.tableID, position); err != nil {
		return err
	}
	f.held, f.move = position, c.Clock.Now()
	return nil
}

// moveHolds lets go of what all subscribers have behind them.
func (c *Changelog) moveHolds(ctx context.Context) {
	c.mu.Lock()
	var due []*followed
	for _, f := range c.views {
		due = append(due, f)
	}
	c.mu.Unlock()
	for _, f := range due {
		if err := c.moveHold(ctx, f); err != nil && ctx.Err() == nil {
			c.log.Warn("moving the hold of a view's subscribers", "view", f.uuid, "err", err)
		}
	}
}

func (c *Changelog) moveHold(ctx context.Context, f *followed) error {
	select {
	case f.hold <- struct{}{}:
	default:
		return nil // somebody is at it
	}
	defer func() { <-f.hold }()
	if f.held == None || c.Clock.Now().Sub(f.move) < c.MoveHolds {
		return nil
	}
	oldest := int64(-1)
	c.mu.Lock()
	for s := range f.subscribers {
		if p := s.needs.Load(); oldest < 0 || p < oldest {
			oldest = p
		}
	}
	c.mu.Unlock()
	if oldest <= f.held {
		return nil
	}
	if err := c.Holds.Hold(ctx, f.name, f.tableID, oldest); err != nil {
		return err
	}
	f.held, f.move = oldest, c.Clock.Now()
	return nil
}

// releaseWait bounds how long letting go of a hold may take; what is left ends with the server's lease.
const releaseWait = 10 * time.Second

// releaseHold lets go of the hold of a view that nobody follows any more.
func (c *Changelog) releaseHold(f *followed) {
	f.hold <- struct{}{}
	defer func() { <-f.hold }()
	if f.held == None {
		return
	}
	f.held = None
	ctx, cancel := context.WithTimeout(context.Background(), releaseWait)
	defer cancel()
	if err := c.Holds.Release(ctx, f.name); err != nil {
		c.log.Warn("letting go of the hold of a view's subscribers", "view", f.uuid, "err", err)
	}
}
