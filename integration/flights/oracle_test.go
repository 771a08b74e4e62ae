package flights

import (
	"context"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/integration/process"
)

// oracle is plain DuckDB with copies of the sources, and of the views as plain views.
type oracle struct {
	t    *testing.T
	conn *duck.Conn
}

func newOracle(t *testing.T) *oracle {
	t.Helper()
	return &oracle{t, process.Plain(t)}
}

func (o *oracle) exec(sql ...string) {
	o.t.Helper()
	for _, s := range sql {
		if _, err := o.conn.Exec(o.t.Context(), s); err != nil {
			o.t.Fatalf("%s: %v", s, err)
		}
	}
}

func (o *oracle) rows(sql string) [][]any {
	o.t.Helper()
	rows, err := o.conn.Rows(o.t.Context(), sql)
	if err != nil {
		o.t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// ingest appends what a query of the oracle gives to a table of the server's.
func (o *oracle) ingest(c *process.Client, table, query string) {
	o.t.Helper()
	r, err := o.conn.Query(o.t.Context(), query)
	if err != nil {
		o.t.Fatalf("%s: %v", query, err)
	}
	_, err = c.Ingest(o.t.Context(), table, r)
	if end := r.Close(); err != nil || end != nil {
		o.t.Fatalf("ingest %s: %v %v", table, err, end)
	}
}

// compare takes the difference of a view of the server's and the oracle's own, both ways.
func (o *oracle) compare(c *process.Client, name string) (rows int64) {
	o.t.Helper()
	info, err := c.Execute(o.t.Context(), "SELECT * FROM "+name)
	if err != nil {
		o.t.Fatal(err)
	}
	r, err := c.DoGet(o.t.Context(), info.Endpoint[0].Ticket)
	if err != nil {
		o.t.Fatal(err)
	}
	release, err := o.conn.RegisterArrow("stream", r)
	if err != nil {
		o.t.Fatal(err)
	}
	o.exec("CREATE OR REPLACE TEMP TABLE got AS FROM stream")
	if err := release(); err != nil {
		o.t.Fatal(err)
	}
	r.Release()
	diff := o.rows("SELECT * FROM ((SELECT 'too much', * FROM (FROM got EXCEPT ALL FROM " + name + ")) UNION ALL (SELECT 'missing', * FROM (FROM " + name + " EXCEPT ALL FROM got))) LIMIT 20")
	if len(diff) > 0 {
		o.t.Errorf("%s: %v", name, diff)
	}
	return o.rows("SELECT count(*) FROM got")[0][0].(int64)
}

// settle waits until all streaming views reflect all that was committed: what another program commits has no event here.
func settle(t *testing.T, c *process.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		behind := c.Must(t, "SELECT view_name, state, reason, staleness_ms, version, source_version FROM vega.streaming_views WHERE state <> 'RUNNING' OR staleness_ms > 0")
		if len(behind) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("these views do not come to the end: %v", behind)
		}
	}
}
