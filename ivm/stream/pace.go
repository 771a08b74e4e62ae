package stream

import "time"

// pacing is how a group batches: what the options of its members allow all of them.
type pacing struct {
	rows          int64 // of an epoch
	bytes         int64 // likewise
	linger        time.Duration
	publishBytes  int64
	publishLinger time.Duration
}

// pacingOf is the closest of the members' options.
func pacingOf(members []*member) pacing {
	p := pacing{}
	for i, m := range members {
		o := m.options
		if i == 0 {
			p = pacing{o.BatchRows, o.BatchBytes, o.BatchLinger, o.PublishBytes, o.PublishLinger}
			continue
		}
		p.rows, p.bytes, p.linger = min(p.rows, o.BatchRows), min(p.bytes, o.BatchBytes), min(p.linger, o.BatchLinger)
		p.publishBytes, p.publishLinger = min(p.publishBytes, o.PublishBytes), min(p.publishLinger, o.PublishLinger)
	}
	return p
}

// flow is what a group has before it.
type flow struct {
	aloft bool // a publication is on its way

	work      bool // there is an epoch to take
	full      bool // it has all that it may have
	workSince time.Time

	pending      bool // changes of results wait to be published
	pendingBytes int64
	pendingSince time.Time
}

// deed is what a group does next.
type deed int

// The deeds.
const (
	rest    deed = iota // until something is new, or the time that is given with it
	step                // take the epoch
	publish             // what is pending
)

// next decides. What is idle is published at once: something is waited for only while a publication is on its way, or while more is there
// to be taken.
func (p pacing) next(f flow, now time.Time) (deed, time.Time) {
	switch {
	case f.pending && !f.aloft && (!f.work || f.pendingBytes >= p.publishBytes || now.Sub(f.pendingSince) >= p.publishLinger):
		return publish, time.Time{}
	case !f.work, f.pending && f.pendingBytes >= p.publishBytes:
		return rest, time.Time{}
	case f.aloft && !f.full && now.Sub(f.workSince) < p.linger:
		return rest, f.workSince.Add(p.linger)
	}
	return step, time.Time{}
}
