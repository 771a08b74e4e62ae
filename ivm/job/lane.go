package job

import "time"

// lanes decide which jobs may run beside which, so that short runs never wait until long ones have ended. There are as many places for
// short runs as for long ones. A job whose last runs were long takes a long place or waits for one; a run that turns out long leaves its
// short place as soon as a long one is free. What has never run takes a long place first, and all short places but one.
// lanes are not safe for concurrent use.
type lanes struct {
	size  int // places of each kind
	long  time.Duration
	runs  map[string]*run            // what runs, by subject
	known map[string][]time.Duration // how long the subject's last runs took, the newest last
}

// run is a job that has a place.
type run struct {
	since time.Time
	long  bool // its place is a long one
	new   bool // nothing was known about it
}

// remembered is how many runs of a subject count. The longest of them is what is expected of the next, since a refresh without anything
// to do says nothing about one that has.
const remembered = 8

func newLanes(size int, long time.Duration) lanes {
	return lanes{size: size, long: long, runs: map[string]*run{}, known: map[string][]time.Duration{}}
}

// enter gives a subject's job a place, if there is one for it.
func (l *lanes) enter(subject string, now time.Time) bool {
	if l.runs[subject] != nil {
		return false // one at a time
	}
	l.settle(now)
	long, short, unknown := l.taken()
	r := &run{since: now, new: len(l.known[subject]) == 0}
	switch {
	case r.new && long < l.size, l.expected(subject) > l.long && long < l.size:
		r.long = true
	case l.expected(subject) > l.long:
		return false
	case short == l.size, r.new && unknown >= max(1, l.size-1):
		return false
	}
	l.runs[subject] = r
	return true
}

// leave ends a subject's run. returned is when its work did; zero: there was none.
func (l *lanes) leave(subject string, returned time.Time) {
	r := l.runs[subject]
	delete(l.runs, subject)
	if r != nil && !returned.IsZero() {
		l.remember(subject, returned.Sub(r.since))
	}
}

// settle moves runs that turned out long to long places, the oldest first. It says whether one moved.
func (l *lanes) settle(now time.Time) bool {
	moved := false
	for long, _, _ := l.taken(); long < l.size; long++ {
		var oldest *run
		for _, r := range l.runs {
			if !r.long && now.Sub(r.since) > l.long && (oldest == nil || r.since.Before(oldest.since)) {
				oldest = r
			}
		}
		if oldest == nil {
			break
		}
		oldest.long, moved = true, true
	}
	return moved
}

// taken counts the places that are taken, and the short ones of them by jobs that nothing was known about.
func (l *lanes) taken() (long, short, unknown int) {
	for _, r := range l.runs {
		switch {
		case r.long:
			long++
		case r.new:
			unknown++
			short++
		default:
			short++
		}
	}
	return long, short, unknown
}

// recall replaces what is known.
func (l *lanes) recall(known map[string][]time.Duration) {
	l.known = map[string][]time.Duration{}
	for subject, runs := range known {
		for _, took := range runs {
			l.remember(subject, took)
		}
	}
}

func (l *lanes) remember(subject string, took time.Duration) {
	took = max(took, 0)
	k := append(l.known[subject], took)
	l.known[subject] = k[max(0, len(k)-remembered):]
}

func (l *lanes) expected(subject string) time.Duration {
	var most time.Duration
	for _, d := range l.known[subject] {
		most = max(most, d)
	}
	return most
}
