package flightsql

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
)

// A statement that is asked for keeps its row for as long as it runs: any server removes rows that are over, and the
// row tells the next process of this one.
func TestAHandleThatIsAskedForKeepsItsRow(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	ctx := context.Background()
	hs := h.svc.handles
	other := h.again().handles
	live, err := hs.get(authed("ann"), said(t, c.running(c.submit(endless))).Handle)
	if err != nil {
		t.Fatal(err)
	}
	step := hs.limits.Abandon / 2
	now := time.Now()
	for range 10 {
		now = now.Add(step)
		live.touch(now, hs.limits.Abandon)
		hs.expire(ctx, now)
		if err := other.store.remove(ctx, now); err != nil {
			t.Fatal(err)
		}
		row, found, err := hs.store.byID(ctx, live.id)
		if err != nil || !found || row.expires.Before(now.Add(step)) {
			t.Fatalf("%s after the start: found %v, kept until %s later, %v", now.Sub(live.submitted), found, row.expires.Sub(now), err)
		}
	}
	// What has not moved much is not written again.
	kept := live.kept
	live.touch(now.Add(time.Second), hs.limits.Abandon)
	hs.expire(ctx, now.Add(time.Second))
	if row, _, err := hs.store.byID(ctx, live.id); err != nil || row.expires.UnixMicro() != kept.UnixMicro() {
		t.Errorf("kept until %v, was %v, %v", row.expires, kept, err)
	}
	// A call that waits asks all the time.
	waiting, cancel := context.WithCancel(c.ctx())
	gone := make(chan error, 1)
	go func() {
		_, err := c.Client.Client.GetFlightInfo(waiting, newDescriptor(live.id, 1))
		gone <- err
	}()
	for watched := 0; watched == 0; runtime.Gosched() {
		live.mu.Lock()
		watched = live.watched
		live.mu.Unlock()
	}
	for range 3 {
		now = now.Add(2 * hs.limits.Abandon)
		hs.expire(ctx, now)
	}
	if live.ended() {
		t.Error("a statement that somebody waits for was stopped")
	}
	if row, found, err := hs.store.byID(ctx, live.id); err != nil || !found || row.expires.Before(now) {
		t.Errorf("found %v, kept until %v at %v, %v", found, row.expires, now, err)
	}
	cancel()
	<-gone
	if _, err := c.CancelFlightInfo(c.ctx(), &flight.CancelFlightInfoRequest{Info: &flight.FlightInfo{FlightDescriptor: newDescriptor(live.id, 1)}}); err != nil {
		t.Fatal(err)
	}
	<-live.stopped
	// Its end decides how long it is kept, and nothing prolongs that.
	hs.prolong(ctx, map[*handle]time.Time{live: now.Add(100 * time.Hour)})
	if row, _, err := hs.store.byID(ctx, live.id); err != nil || row.expires.After(time.Now().Add(hs.limits.Keep+time.Minute)) {
		t.Errorf("ended, and kept until %v, %v", row.expires, err)
	}
}
