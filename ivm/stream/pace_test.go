package stream

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	now := time.Unix(1000, 0)
	ago := func(ms int) time.Time { return now.Add(-time.Duration(ms) * time.Millisecond) }
	p := pacing{linger: 10 * time.Millisecond, publishBytes: 100, publishLinger: 20 * time.Millisecond}
	for _, c := range []struct {
		name  string
		f     flow
		do    deed
		until time.Time
	}{
		{"nothing", flow{}, rest, time.Time{}},
		{"an idle view takes what comes at once", flow{work: true, workSince: now}, step, time.Time{}},
		{"and publishes it at once", flow{pending: true, pendingSince: now}, publish, time.Time{}},
		{"while a commit is on its way, an epoch waits for more", flow{aloft: true, work: true, workSince: ago(4)}, rest, ago(4).Add(p.linger)},
		{"not for ever", flow{aloft: true, work: true, workSince: ago(10)}, step, time.Time{}},
		{"not when it is full", flow{aloft: true, work: true, full: true, workSince: now}, step, time.Time{}},
		{"not when the commit is over", flow{work: true, workSince: now}, step, time.Time{}},
		{"what came of it waits for the commit", flow{aloft: true, pending: true, pendingBytes: 5, pendingSince: ago(50)}, rest, time.Time{}},
		{"and for what can be taken at once", flow{pending: true, pendingBytes: 5, pendingSince: ago(19), work: true, workSince: now}, step, time.Time{}},
		{"not for longer than it may", flow{pending: true, pendingBytes: 5, pendingSince: ago(20), work: true, workSince: now}, publish, time.Time{}},
		{"not when it is enough", flow{pending: true, pendingBytes: 100, pendingSince: now, work: true, workSince: now}, publish, time.Time{}},
		{"what is enough is published before anything else is taken", flow{aloft: true, pending: true, pendingBytes: 100, pendingSince: now, work: true, full: true}, rest, time.Time{}},
	} {
		if do, until := p.next(c.f, now); do != c.do || !until.Equal(c.until) {
			t.Errorf("%s: %d until %v, not %d until %v", c.name, do, until, c.do, c.until)
		}
	}
	atOnce := pacing{publishBytes: 100}
	if do, _ := atOnce.next(flow{pending: true, pendingSince: now, work: true, workSince: now}, now); do != publish {
		t.Errorf("without lingers, what has come is not published at once: %d", do)
	}
	if do, _ := atOnce.next(flow{aloft: true, work: true, workSince: now}, now); do != step {
		t.Errorf("without lingers, what comes is not taken at once: %d", do)
	}
}
