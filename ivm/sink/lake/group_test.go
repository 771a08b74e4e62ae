package lake

import (
	"context"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
)

// A panic while a group commits is the failure of those that are in it, and the next group goes on.
func TestPanicInAGroup(t *testing.T) {
	begun, others := make(chan struct{}), make(chan struct{})
	calls := 0 // one commit at a time
	g := &group{commit: func(_ context.Context, pubs ...publish.Publication) ([]publish.Result, error) {
		calls++
		switch calls {
		case 1:
			close(begun)
			<-others
			return make([]publish.Result, len(pubs)), nil
		case 2:
			panic("in the commit")
		}
		return make([]publish.Result, len(pubs)), nil
	}}
	type outcome struct {
		err      error
		panicked bool
	}
	ended := make(chan outcome, 3)
	run := func(uuid string, joined func()) {
		var out outcome
		defer func() {
			out.panicked = recover() != nil
			ended <- out
		}()
		_, out.err = g.publish(t.Context(), publish.Publication{Swap: publish.Swap{UUID: uuid}}, joined)
	}
	go run("a", nil)
	<-begun
	joined := make(chan struct{})
	go run("b", func() { joined <- struct{}{} })
	<-joined
	go run("c", func() { joined <- struct{}{} })
	<-joined
	close(others)
	fine, failed, panicked := 0, 0, 0
	for range 3 {
		switch out := <-ended; {
		case out.panicked:
			panicked++
		case out.err == nil:
			fine++
		case fault.CodeOf(out.err) == fault.InternalError:
			failed++
		}
	}
	if fine != 1 || failed != 1 || panicked != 1 {
		t.Errorf("%d fine, %d failed, %d panicked", fine, failed, panicked)
	}
	if _, err := g.publish(t.Context(), publish.Publication{}, nil); err != nil {
		t.Error(err)
	}
}
