package poison

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

func TestAPoisonedInstanceEndsTheProcess(t *testing.T) {
	d := process.NewDisk(t, 64)
	options := process.Options{Lake: filepath.Join(d.Dir, "lake"), Wrap: d.Wrap, Args: []string{"--maintenance-interval", "0"}}
	s := process.Start(t, options)
	s.Expect()
	c := s.Connect(t)
	const query = "SELECT k, count(*) AS n, sum(i) AS s FROM src GROUP BY k"
	for _, sql := range []string{
		"CREATE TABLE big (text VARCHAR)", "CREATE TABLE src (k BIGINT, i BIGINT)", "INSERT INTO src SELECT i % 10, i FROM range(10000) r(i)",
		"CREATE MATERIALIZED VIEW v AS " + query, "CREATE MATERIALIZED VIEW w AS SELECT max(n) AS n FROM v",
	} {
		c.Must(t, sql)
	}
	// Room for the log of the catalog to grow until it is checkpointed, and not for the checkpoint.
	filling := d.Fill(t, 24<<20)
	acked := 0
	for {
		if _, err := c.Query(t.Context(), "INSERT INTO big SELECT repeat(md5(random()::VARCHAR), 300) FROM range(10)"); err != nil {
			break
		}
		acked++
	}
	<-s.Done()
	if err := s.Ended(); err == nil || !strings.Contains(err.Error(), "exit status") {
		t.Errorf("the process ended with: %v", err)
	}
	if n := strings.Count(s.Log(), "DuckDB's instance is unusable"); n != 1 {
		t.Errorf("the log has %d lines of why:\n%s", n, s.Log())
	}

	if err := os.Remove(filling); err != nil {
		t.Fatal(err)
	}
	s = process.Start(t, options)
	c = s.Connect(t)
	if n := c.Value(t, "SELECT count(*) FROM big"); n != fmt.Sprint(10*acked) && n != fmt.Sprint(10*acked+10) { // the last answer was lost
		t.Errorf("%s rows, and %d were acknowledged", n, 10*acked)
	}
	if n := c.Value(t, "SELECT count(*) FROM ((FROM v EXCEPT ALL ("+query+")) UNION ALL (("+query+") EXCEPT ALL FROM v))"); n != "0" {
		t.Errorf("view v differs from its query in %s rows", n)
	}
	if n := c.Value(t, "SELECT n FROM w"); n != "1000" {
		t.Errorf("view w has %s", n)
	}
	c.Must(t, "INSERT INTO src VALUES (77, 1)")
	c.Must(t, "REFRESH MATERIALIZED VIEW v")
	if out, err := process.Run(t, "check", s.Flight); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
}
