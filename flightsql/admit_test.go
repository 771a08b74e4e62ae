package flightsql

import (
	"testing"

	"github.com/vegadb/vega-flight/fault"
)

// Whether a view may be read is asked at every execution, however it is read.
func TestViewsAreAdmittedAtEachExecution(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE src (i INTEGER)")
	c.must("INSERT INTO src VALUES (1)")
	// A limit of nothing makes every unreflected commit too old, so that no clock decides.
	const create = "CREATE OR REPLACE MATERIALIZED VIEW mv WITH (max_staleness = '0s') AS SELECT i FROM src"
	c.must(create)
	c.must("CREATE VIEW plain AS SELECT i FROM mv")
	c.must("CREATE TABLE target (i INTEGER)")
	p := c.prepare("SELECT * FROM plain WHERE i > ?")
	p.SetParameters(table(t, ints("x"), `[{"x": 0}]`))
	write := c.prepare("INSERT INTO target SELECT i FROM mv")
	read := func(want *fault.Code) {
		t.Helper()
		_, prepared := c.run(p)
		_, direct := c.try("WITH x AS (FROM mv) SELECT * FROM x")
		_, written := write.ExecuteUpdate(c.ctx())
		info, polled := c.ExecutePoll(c.ctx(), "SELECT * FROM plain", nil)
		for polled == nil && info.FlightDescriptor != nil {
			info, polled = c.Client.Client.PollFlightInfo(c.ctx(), info.FlightDescriptor)
		}
		for _, err := range []error{prepared, direct, written, polled} {
			if want == nil && err != nil {
				t.Error(err)
			} else if want != nil {
				wants(t, err, want)
			}
		}
	}
	read(nil)
	c.must("INSERT INTO src VALUES (2)")
	read(fault.ViewStale)
	c.must("REFRESH MATERIALIZED VIEW mv")
	read(nil)
	c.must(create + " WITH NO DATA")
	read(fault.NotPopulated)
	c.must("REFRESH MATERIALIZED VIEW mv")
	read(nil)
	equal(t, "rows written", c.value("SELECT count(*) FROM target"), "5")

	c.must("DELETE FROM src")
	read(fault.ViewStale)
	admin := h.client("admin") // who may accept stale results, and has to say so
	admin.fails("SELECT * FROM plain", fault.ViewStale)
	admin.must("SET vega.accept_stale = true")
	equal(t, "stale rows", len(admin.must("SELECT * FROM plain")), 2)
	admin.must("RESET vega.accept_stale")
	admin.fails("SELECT * FROM plain", fault.ViewStale)
}
