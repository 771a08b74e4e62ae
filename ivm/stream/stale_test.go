package stream

import (
	"context"
	"errors"
	"testing"

	"github.com/vegadb/vega-flight/ivm/catalog"
)

// A member ends by itself while the next generation, which was built beside it, takes its place: what is heard of the old one afterwards is
// none of the new one's concern.
func TestNewsOfAMemberThatWasReplaced(t *testing.T) {
	s := New(Config{})
	s.log = newCommitLog(nil, 1)
	view := catalog.Row{Kind: catalog.Streaming, UUID: "v", Name: catalog.Name{Schema: "main", Name: "v"}}.
		WithDefinition(catalog.Definition{Kind: catalog.Streaming, Query: "SELECT 1"})
	s.latest = catalog.Resolve(catalog.Facts{Rows: []catalog.Row{view}, Tables: []catalog.Table{{ID: 1, UUID: "v", Name: view.Name}}})
	made := func(generation int64) *member {
		return &member{c: &s.c, view: s.latest.ByUUID("v"), generation: generation, broken: true, result: idle{}}
	}
	old, next := made(1), made(2)
	before := newGroup(&s.c, s.log, s.tell, nil) // it has let go of its only member
	close(before.done)
	s.groups[before], s.groupOf["v"] = true, before
	sl := newSlot("v")
	sl.phase, sl.live, sl.generation, sl.beside = Live, old, 1, 2
	s.slots["v"] = sl

	ended, cancel := context.WithCancel(context.Background())
	cancel() // groups do nothing
	a := &attempt{done: make(chan struct{})}
	a.made.Store(next)
	s.hear(ended, built{uuid: "v", a: a})
	s.hear(ended, report{m: old, state: Failed, cause: errors.New("a row")})
	s.hear(ended, stalled{old, errors.New("slow")})
	g := s.groupOf["v"]
	if sl.phase != Live || sl.live != next || sl.generation != 2 || g == nil || g == before || !s.groups[g] || len(s.groups) != 1 {
		t.Errorf("the slot is %+v, its group %p, and the groups are %v", sl, g, s.groups)
	}
	s.hear(ended, report{m: next, state: Failed, cause: errors.New("a row")})
	if sl.phase != Blocked || sl.live != nil || sl.state != Failed || len(s.groups) != 0 || len(s.groupOf) != 0 {
		t.Errorf("the slot is %+v, and the groups are %v", sl, s.groups)
	}
	s.wg.Wait()
}

// idle is a result that nothing is done with.
type idle struct{ Result }

func (idle) Mark() Mark   { return Mark{Snapshot: 1} }
func (idle) Close() error { return nil }

// A view whose group has let it go, which is not heard of yet, is not said to have what was committed since.
func TestAViewThatWasLetGoIsNotSaidToBeAhead(t *testing.T) {
	s := New(Config{})
	s.log = newCommitLog(nil, 1)
	s.latest = catalog.Resolve(catalog.Facts{})
	m := &member{c: &s.c, view: &catalog.View{Row: catalog.Row{UUID: "v"}}, broken: true, result: idle{}, inputs: []*input{{reading: Reading{TableID: 7}}}}
	m.figures.Frontier.Store(1)
	g := newGroup(&s.c, s.log, s.tell, []*member{m})
	s.groups[g], s.groupOf["v"], s.shown["v"] = true, g, Status{State: Running, Figures: &m.figures}
	s.log.newest, s.log.touched[7] = 2, 2
	for _, when := range []string{"before", "after"} {
		if st, _ := s.Status("v"); st.Frontier != 1 {
			t.Errorf("%s it was let go, it is at %d", when, st.Frontier)
		}
		g.drop(m, report{state: SchemaBlocked, cause: errors.New("gone")})
	}
}
