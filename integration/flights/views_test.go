package flights

// view is a streaming view of the test; those that read others come after them.
type view struct{ name, query string }

var views = []view{
	{"carrier_days", `SELECT a.name AS airline, f.month, f.day, count(*) AS flights, count(f.dep_time) AS departed,
		sum(f.dep_delay) AS minutes, max(f.arr_delay) AS worst, round(avg(f.distance), 3) AS miles
		FROM flights f JOIN airlines a USING (carrier) GROUP BY a.name, f.month, f.day`},
	{"flight_weather", `SELECT f.month, f.day, f.carrier, f.flight, f.origin, f.dest, f.sched_dep_time, f.dep_delay, w.temp, w.visib, w.wind_speed, w.precip
		FROM flights f LEFT JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour`},
	{"worst_ten", `SELECT carrier, month, day, flight, origin, dest, arr_delay, tailnum FROM flights WHERE arr_delay IS NOT NULL
		QUALIFY row_number() OVER (PARTITION BY carrier ORDER BY arr_delay DESC, month, day, flight, origin, sched_dep_time) <= 10`},
	{"routes", `SELECT DISTINCT origin, dest, carrier FROM flights`},
	{"plane_log", `SELECT tailnum, month, day, carrier, flight, sched_dep_time, origin, dest,
		rank() OVER w AS leg, sum(distance) OVER w AS miles_so_far, count(*) OVER (PARTITION BY tailnum) AS legs
		FROM flights WHERE tailnum IS NOT NULL WINDOW w AS (PARTITION BY tailnum ORDER BY month, day, sched_dep_time)`},
	{"idle_planes", `SELECT p.tailnum, p.manufacturer, p.seats FROM planes p WHERE NOT EXISTS (SELECT 1 FROM flights f WHERE f.tailnum = p.tailnum)`},
	{"origin_days", `SELECT origin, month, day, count(*) AS flights, count(visib) AS seen, min(visib) AS worst_sight, max(wind_speed) AS wind,
		count(*) FILTER (dep_delay > 60) AS late FROM flight_weather GROUP BY origin, month, day`},
	{"bad_days", `SELECT o.month, o.day, o.late, o.worst_sight, c.airline, c.minutes FROM
		(SELECT month, day, sum(late)::BIGINT AS late, min(worst_sight) AS worst_sight FROM origin_days GROUP BY month, day) o
		JOIN carrier_days c ON c.month = o.month AND c.day = o.day WHERE o.late > 20 AND c.minutes > 100`},
}

// change is one commit of the writer: rows that come from the catalog src, or a statement.
type change struct {
	into, query string
	sql         string
}

// text is the change as one statement.
func (c change) text() string {
	if c.into != "" {
		return "INSERT INTO " + c.into + " " + c.query
	}
	return c.sql
}
