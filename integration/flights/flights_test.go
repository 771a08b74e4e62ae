package flights

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/integration/process"
)

// before is how many days of January are there when the views are made.
const before = 5

// TestTheFlightsOfAYear begins with some days and replays the next ones.
func TestTheFlightsOfAYear(t *testing.T) {
	dir := unpack(t)
	t.Run("embedded", func(t *testing.T) {
		s := process.Start(t, process.Options{Lake: filepath.Join(t.TempDir(), "lake")})
		o := newOracle(t)
		o.exec(source(dir)...)
		replay(t, s, o, connection{s.Connect(t), o}, number(t, "VEGA_FLIGHT_DAYS", 6))
	})
	t.Run("PostgreSQL, another program writes", func(t *testing.T) {
		dsn, schema, data := laketest.PostgresDSN(t), fmt.Sprintf("flights_%d", time.Now().UnixNano()), filepath.Join(t.TempDir(), "data")
		s := process.Start(t, process.Options{Lake: dsn, Args: []string{"--metadata-schema", schema, "--data-path", data, "--state-dir", t.TempDir()}})
		p := startProgram(t, fmt.Sprintf("ATTACH 'ducklake:postgres:%s' AS lake (DATA_PATH '%s/', METADATA_SCHEMA '%s')", dsn, data, schema), dir)
		o := newOracle(t)
		o.exec(source(dir)...)
		replay(t, s, o, p, number(t, "VEGA_FLIGHT_DAYS", 4))
	})
}

// replay makes the views over the first days and compares them after each day that the writer commits.
func replay(t *testing.T, s *process.Server, o *oracle, w writer, days int) {
	c := s.Connect(t)
	for _, name := range tables {
		where := ""
		if name == "flights" || name == "weather" {
			where = fmt.Sprintf(" WHERE month = 1 AND day <= %d", before)
		}
		o.exec("CREATE TABLE " + name + " AS FROM src." + name + where)
		o.ingest(c, name, "FROM "+name)
	}
	for _, v := range views {
		c.Must(t, "CREATE STREAMING MATERIALIZED VIEW "+v.name+" WITH (wait_for_ready = true) AS "+v.query)
		o.exec("CREATE VIEW " + v.name + " AS " + v.query)
	}
	commits := 0
	for day := range days + 1 {
		if day > 0 {
			for _, ch := range changes(before + day) {
				w.commit(t, ch)
				o.exec(ch.text())
				commits++
			}
		}
		settle(t, c)
		for _, v := range views {
			if n := o.compare(c, v.name); n == 0 {
				t.Errorf("day %d: %s is empty, which tests nothing", before+day, v.name)
			}
		}
		if t.Failed() {
			t.Fatalf("day %d", before+day)
		}
	}
	if out, err := process.Run(t, "check", s.Flight); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
	t.Log(days, "days,", commits, "commits,", o.rows("SELECT count(*) FROM flights")[0][0], "flights")
}

// changes of the n-th day of the year: its flights in two commits, then its weather, what was said wrongly of earlier days, and now and then
// something rare.
func changes(n int) []change {
	date := time.Date(2013, 1, n, 0, 0, 0, 0, time.UTC)
	on := fmt.Sprintf("month = %d AND day = %d", date.Month(), date.Day())
	was := date.AddDate(0, 0, -1)
	yesterday := fmt.Sprintf("month = %d AND day = %d", was.Month(), was.Day())
	all := []change{
		{into: "flights", query: "FROM src.flights WHERE " + on + " AND sched_dep_time < 1200"},
		{into: "flights", query: "FROM src.flights WHERE " + on + " AND sched_dep_time >= 1200"},
		{into: "weather", query: "FROM src.weather WHERE " + on},
		{sql: "UPDATE flights SET arr_delay = arr_delay + 7, dep_delay = dep_delay + 3 WHERE " + yesterday + " AND flight % 10 = 3"},
		{sql: "DELETE FROM flights WHERE " + yesterday + " AND dep_time IS NULL"},
	}
	switch n % 4 {
	case 0:
		all = append(all, change{sql: "UPDATE airlines SET name = name || ' (renamed)' WHERE carrier = 'B6'"})
	case 1:
		all = append(all, change{sql: "DELETE FROM weather WHERE " + yesterday + " AND hour < 9"})
	case 2:
		all = append(all, change{sql: "DELETE FROM airlines WHERE carrier = 'EV'"}, change{into: "airlines", query: "FROM src.airlines WHERE carrier = 'EV'"})
	case 3:
		all = append(all, change{sql: "UPDATE flights SET tailnum = 'N00000', dest = 'ZZZ' WHERE " + yesterday + " AND carrier = 'HA'"})
	}
	return all
}
