package lake

import (
	"context"
	"slices"
	"sync"

	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
)

// group lets publications that are ready at the same time share a commit: while one commit is on its way, or waits for its turn, those that
// come gather, and the next commit takes them all.
type group struct {
	commit func(ctx context.Context, pubs ...publish.Publication) ([]publish.Result, error)

	mu      sync.Mutex
	busy    bool // a commit is on its way
	waiting []*member
}

// member is what one caller publishes: a publication, or several that are committed all or none.
type member struct {
	ctx     context.Context
	pubs    []publish.Publication
	lead    chan struct{} // closed when this one is to commit for all that wait
	done    chan struct{} // closed when the results are there
	ended   bool          // done is closed
	results []publish.Result
	err     error
}

func (m *member) end(r []publish.Result, err error) {
	m.results, m.err, m.ended = r, err, true
	close(m.done)
}

// publish commits the publication, alone or with others. It returns when its own outcome is known, also after ctx has ended: what is left out
// of a commit is left out by its own transaction, which sees the job's state.
func (g *group) publish(ctx context.Context, pub publish.Publication, joined func()) (publish.Result, error) {
	results, err := g.bundle(ctx, []publish.Publication{pub}, joined)
	if len(results) != 1 {
		return publish.Result{}, err
	}
	return results[0], results[0].Err
}

// bundle is publish for several publications. Without an error there is a result of each, which may have one.
func (g *group) bundle(ctx context.Context, pubs []publish.Publication, joined func()) ([]publish.Result, error) {
	m := &member{ctx: ctx, pubs: pubs, lead: make(chan struct{}), done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, m)
	if !g.busy {
		g.busy = true
		close(m.lead)
	}
	g.mu.Unlock()
	if joined != nil {
		joined()
	}
	select {
	case <-m.lead:
		g.run(g.take())
	case <-m.done:
	}
	return m.results, m.err
}

// take removes those that wait; of each table only the first.
func (g *group) take() []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	var now, later []*member
	seen := map[string]bool{}
	for _, m := range g.waiting {
		if slices.ContainsFunc(m.pubs, func(p publish.Publication) bool { return seen[p.Swap.UUID] }) {
			later = append(later, m)
		} else {
			now = append(now, m)
		}
		for _, p := range m.pubs { // those that come later stay later
			seen[p.Swap.UUID] = true
		}
	}
	g.waiting = later
	return now
}

// run commits for all members, then lets the first of those that came meanwhile do the same.
func (g *group) run(members []*member) {
	defer g.next()
	defer func() {
		for _, m := range members {
			if !m.ended { // a panic fails the job that leads; nobody may wait for what does not come any more
				m.end(nil, fault.InternalError.Newf("the commit with other views ended before its outcome was known"))
			}
		}
	}()
	var pubs []publish.Publication
	for _, m := range members {
		pubs = append(pubs, m.pubs...)
	}
	ctx, stop := whileAny(members)
	defer stop()
	results, err := g.commit(ctx, pubs...)
	for _, m := range members {
		switch {
		case len(results) >= len(m.pubs):
			m.end(results[:len(m.pubs):len(m.pubs)], nil)
			results = results[len(m.pubs):]
		case len(members) == 1:
			m.end(nil, err)
		default: // a publication that nobody could commit must not keep the others from it
			own, err := g.commit(m.ctx, m.pubs...)
			if len(own) == len(m.pubs) {
				err = nil
			}
			m.end(own, err)
		}
	}
}

func (g *group) next() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.busy = false
		return
	}
	close(g.waiting[0].lead)
}

// whileAny is a context that ends when all members' have.
func whileAny(members []*member) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(members[0].ctx))
	var mu sync.Mutex
	left := len(members)
	stops := make([]func() bool, len(members))
	for i, m := range members {
		stops[i] = context.AfterFunc(m.ctx, func() {
			mu.Lock()
			defer mu.Unlock()
			if left--; left == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}
