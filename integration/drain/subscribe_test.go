package drain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// TestSubscribersAreToldWhereToGoOn ends the server under a subscriber, who goes on in its next life.
func TestSubscribersAreToldWhereToGoOn(t *testing.T) {
	l := newLake(t)
	s := l.start(t, "5m")
	c := s.Connect(t)
	c.Must(t, "CREATE TABLE t (i INTEGER)")
	c.Must(t, "INSERT INTO t VALUES (1)")
	c.Must(t, "CREATE STREAMING MATERIALIZED VIEW v WITH (wait_for_ready = true) AS SELECT count(*) AS n FROM t")
	sub := process.NewSubscriber("main.v")
	if err := sub.Subscribe(t.Context(), s.Connect(t)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.Must(t, "INSERT INTO t VALUES (2)")
		for was := sub.Publications; sub.Publications == was; {
			if err := sub.Next(); err != nil {
				t.Fatal(err)
			}
		}
		sub.Compare(t, c)
	}
	terminate(t, s)
	var err error
	for err == nil {
		err = sub.Next()
	}
	process.Refused(t, err, "SERVER_DRAINING")
	if want := fmt.Sprintf("as_of = %d", sub.At); !strings.Contains(err.Error(), want) {
		t.Errorf("it does not say %s: %v", want, err)
	}
	if err := s.Ended(); err != nil {
		t.Errorf("the process ended badly: %v", err)
	}
	s = l.start(t, "1s")
	c = s.Connect(t)
	if err := sub.Subscribe(t.Context(), s.Connect(t)); err != nil {
		t.Fatal(err)
	}
	c.Must(t, "INSERT INTO t VALUES (3), (4)")
	for was := sub.Publications; sub.Publications == was; {
		if err := sub.Next(); err != nil {
			t.Fatal(err)
		}
	}
	sub.Compare(t, c)
}
