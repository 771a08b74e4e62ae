package stream

import (
	"testing"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// TestAShortageIsTriedAgainLessAndLess has a view that runs until its next checkpoint finds the disk full, over and over.
func TestAShortageIsTriedAgainLessAndLess(t *testing.T) {
	sl := newSlot("u")
	wait := func() time.Duration { return time.Until(sl.due) }
	full := report{state: ResourceBlocked, cause: fault.DiskFull.Newf("full"), again: true}
	for range 12 {
		sl.block(full)
		sl.tries = 0
		sl.say(Running, Reason{})
	}
	if sl.block(full); wait() < 20*time.Second {
		t.Errorf("it is tried again in %v", wait())
	}
	if sl.reason.Hint == "" {
		t.Error("nothing says what helps")
	}
	sl.say(Running, Reason{})
	sl.since = time.Now().Add(-steady)
	if sl.block(full); wait() > 10*time.Second || sl.state != ResourceBlocked {
		t.Errorf("after a long good time it is %s and tried again in %v", sl.state, wait())
	}
}

// A view that a schema stops is tried when a schema has changed, also when that was while it was tried.
func TestNewsOfASchema(t *testing.T) {
	sl := newSlot("u")
	now := func() bool { return !sl.due.After(time.Now()) }
	wrong := report{state: SchemaBlocked, cause: fault.SourceChanged.Newf("dropped"), again: true}
	for range 12 {
		sl.block(wrong)
	}
	if now() {
		t.Error("it is tried again and again")
	}
	if sl.schemaMoved(); !now() {
		t.Error("it waits although a schema has changed")
	}
	sl.news, sl.phase = false, Building
	sl.schemaMoved()
	if sl.block(wrong); !now() {
		t.Error("what changed while it was tried is forgotten")
	}
	sl.news = false
	if sl.block(wrong); now() {
		t.Error("it is tried again without news")
	}
}
