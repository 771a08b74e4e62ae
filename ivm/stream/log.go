package stream

import (
	"context"
	"slices"
	"sync"
)

// commitLog is the newest part of the lake's history, read once for all groups.
type commitLog struct {
	source Source

	mu      sync.Mutex
	began   int64 // what tables were touched by before is not known
	from    int64 // commits after this snapshot are here
	newest  int64
	commits []Commit
	// The newest snapshot since the log began that touched a table, and that somebody else's writes are in.
	touched, foreign map[int64]int64
}

// logKept is how many commits are kept; whoever is further behind reads the catalog.
const logKept = 4096

func newCommitLog(source Source, at int64) *commitLog {
	return &commitLog{source: source, began: at, from: at, newest: at, touched: map[int64]int64{}, foreign: map[int64]int64{}}
}

// head is the newest snapshot that is known.
func (l *commitLog) head() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newest
}

// extend reads the commits up to a snapshot and gives those that are new.
func (l *commitLog) extend(ctx context.Context, to int64) ([]Commit, error) {
	from := l.head()
	if to <= from {
		return nil, nil
	}
	added, err := l.source.Commits(ctx, from, to)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest = to
	for _, c := range added {
		for id, t := range c.Tables {
			l.touched[id] = c.Snapshot
			if !t.Ours && t.Rows {
				l.foreign[id] = c.Snapshot
			}
		}
	}
	l.commits = append(l.commits, added...)
	if n := len(l.commits) - logKept; n > 0 {
		l.from = l.commits[n-1].Snapshot
		l.commits = slices.Delete(l.commits, 0, n)
	}
	return added, nil
}

// skip goes on at a snapshot. What came before is not known any more.
func (l *commitLog) skip(to int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began, l.from, l.newest, l.commits = to, to, to, nil
	clear(l.touched)
	clear(l.foreign)
}

// reached is how far who has a frontier and follows these tables is: at the head if none of them was touched since.
func (l *commitLog) reached(frontier int64, tables map[int64]bool) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if frontier < l.began {
		return frontier
	}
	for id := range tables {
		if l.touched[id] > frontier {
			return frontier
		}
	}
	return max(frontier, l.newest)
}

// showing is a snapshot that shows all of some tables as they were at their marks: the head, if none of them was touched since. 0 is not known:
// what came before the log began, when commits were missed too, may have touched them.
func (l *commitLog) showing(marks map[int64]int64, tables map[int64]bool) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range tables {
		if mark, ok := marks[id]; !ok || mark < l.began || mark > l.newest || l.touched[id] > mark {
			return 0
		}
	}
	return l.newest
}

// wrote is the newest snapshot in which somebody else wrote into a table, since the log began.
func (l *commitLog) wrote(table int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.foreign[table]
}

// since gives the commits in (from, to].
func (l *commitLog) since(ctx context.Context, from, to int64) ([]Commit, error) {
	if from >= to {
		return nil, nil
	}
	l.mu.Lock()
	if from >= l.from && to <= l.newest {
		i, _ := slices.BinarySearchFunc(l.commits, from+1, func(c Commit, at int64) int { return int(c.Snapshot - at) })
		out := slices.Clone(l.commits[i:])
		l.mu.Unlock()
		return out, nil
	}
	l.mu.Unlock()
	return l.source.Commits(ctx, from, to)
}
