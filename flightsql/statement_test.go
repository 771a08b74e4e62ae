package flightsql

import (
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	"github.com/vegadb/vega-flight/fault"
)

func TestEffectsHappenInGetFlightInfoOnce(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE t (i INTEGER)")
	info, err := c.Execute(c.ctx(), "INSERT INTO t VALUES (1), (2)")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "rows before the fetch", c.value("SELECT count(*) FROM t"), "2")
	equal(t, "total records", info.TotalRecords, 2)
	rows, err := c.rows(info)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "count", rows[0][0], "2")
	equal(t, "rows after the fetch", c.value("SELECT count(*) FROM t"), "2")

	// A statement that fails when it runs fails at GetFlightInfo, not at a fetch that may never come.
	_, err = c.Execute(c.ctx(), "INSERT INTO t SELECT 'no number'::INTEGER")
	wants(t, err, fault.SQLError)
}

func TestEveryStatementHasItsSchema(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	for _, sql := range []string{
		"CREATE TABLE s (i INTEGER, x DOUBLE)", "INSERT INTO s VALUES (1, 2)", "SELECT * FROM s", "SELECT sum(i), avg(x) FROM s",
		"CREATE TABLE s2 AS SELECT * FROM s", "UPDATE s SET i = 2", "DELETE FROM s2", "DESCRIBE s", "SHOW TABLES", "EXPLAIN SELECT * FROM s",
		"CREATE VIEW v AS SELECT i FROM s", "SELECT * FROM v", "ALTER TABLE s ADD COLUMN y VARCHAR", "COMMENT ON TABLE s IS 'x'",
		"CREATE SCHEMA other", "USE other", "USE lake.main", "SET TimeZone = 'Asia/Tokyo'", "RESET TimeZone", "BEGIN", "COMMIT", "BEGIN TRANSACTION", "ROLLBACK",
		"SET vega.isolation = 'snapshot'", "RESET vega.isolation", "SHOW vega.settings",
		"CREATE TEMP TABLE own AS SELECT 1 AS i", "SELECT * FROM own", "INSERT INTO own VALUES (2) RETURNING i", "DROP TABLE own",
		"CREATE MATERIALIZED VIEW mv AS SELECT i FROM s", "REFRESH MATERIALIZED VIEW mv", "SHOW MATERIALIZED VIEWS", "SHOW MATERIALIZED VIEW mv",
		"EXPLAIN STREAMING SELECT i, count(*) FROM s GROUP BY i", "EXPLAIN STREAMING (FORMAT json) SELECT i FROM mv", "EXPLAIN STREAMING (FORMAT text) SELECT random() FROM s",
		"SHOW CREATE MATERIALIZED VIEW mv", "SHOW JOBS", "SELECT * FROM vega.jobs", "SELECT * FROM vega.materialized_views",
		"ALTER MATERIALIZED VIEW mv SET (max_staleness = '1 hour')", "DROP MATERIALIZED VIEW mv", "DROP VIEW v", "DROP TABLE s", "DROP SCHEMA other",
	} {
		if _, err := c.try(sql); err != nil { // try compares the two schemas
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestTextOfSeveralStatements(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	equal(t, "last result", c.value("CREATE TABLE m (i INTEGER); INSERT INTO m VALUES (1), (2); SELECT sum(i)::INTEGER FROM m;"), "3")
	equal(t, "last count", c.update("INSERT INTO m VALUES (5); DELETE FROM m WHERE i < 3"), 2)
	_, err := c.try("INSERT INTO m VALUES (6); SELECT * FROM nothing; INSERT INTO m VALUES (7)")
	wants(t, err, fault.ObjectNotFound)
	equal(t, "what ran before the error stays", c.value("SELECT max(i) FROM m"), "6")
	c.fails("", fault.SyntaxError)
	c.fails(" ; -- nothing", fault.SyntaxError)
	equal(t, "view statements among others", c.value("CREATE MATERIALIZED VIEW mm AS SELECT i FROM m; SELECT count(*) FROM mm"), "2")
}

// As in DuckDB, a text is read to its end before its first statement runs; whether names mean something is seen when their turn comes.
func TestTextWithoutMeaningRunsNothing(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	for _, text := range []string{
		"DROP TABLE t; )", "DROP TABLE t; SELEC 1", "DROP TABLE t; SELECT FROM WHERE", "DROP TABLE t; SELECT 'a", "SELECT (; DROP TABLE t",
		"CREATE MATERIALIZED VIEW v AS SELECT 1 AS i; SELECT 1 +; DROP TABLE t", "DROP TABLE t; CREATE MATERIALIZED VIEW AS SELECT 1",
		"BEGIN; DROP TABLE t; COMMIT; ROLLBACK TO",
	} {
		c.must("CREATE OR REPLACE TABLE t AS SELECT 1 AS i")
		_, err := c.try(text)
		wants(t, err, fault.SyntaxError)
		equal(t, text, c.value("SELECT count(*) FROM t"), "1")
		_, err = c.ExecuteUpdate(c.ctx(), text)
		wants(t, err, fault.SyntaxError)
		equal(t, text, c.value("SELECT count(*) FROM t"), "1")
	}
	equal(t, "names that earlier statements make", c.value("CREATE TABLE n AS SELECT 7 AS i; CREATE TEMP MACRO m(x) AS x + 1; SELECT m(i) FROM n"), "8")
	c.fails("DROP TABLE t; SELECT * FROM nowhere", fault.ObjectNotFound)
	c.fails("SELECT * FROM t", fault.ObjectNotFound)
}

func TestErrorsSayWhere(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	text := "SELECT 1;\n SELECT missing FROM range(3)"
	_, err := c.try(text)
	wants(t, err, fault.SQLError)
	st, _ := status.FromError(err)
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			equal(t, "reason", info.Reason, fault.SQLError.Name())
			equal(t, "position", info.Metadata["position"], strconv.Itoa(strings.Index(text, "missing")))
			return
		}
	}
	t.Errorf("%v has no details", err)
}

func TestResultIsReadOnceByItsOwner(t *testing.T) {
	h := open(t)
	ann, bob := h.client("ann"), h.client("bob")
	info, err := ann.Execute(ann.ctx(), "SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = bob.rows(info)
	wants(t, err, fault.HandleNotFound)
	other := h.client("ann") // another connection of the same user may read it
	if _, err := other.rows(info); err != nil {
		t.Fatal(err)
	}
	_, err = ann.rows(info)
	wants(t, err, fault.HandleNotFound)

	forged, err := flightsql.CreateStatementQueryTicket([]byte("vqr_forged"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = ann.rows(&flight.FlightInfo{Endpoint: []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: forged}}}})
	wants(t, err, fault.HandleNotFound)
}

func TestGetSchemaRunsNothing(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE g (i INTEGER)")
	for _, sql := range []string{"SELECT * FROM g", "INSERT INTO g VALUES (1)", "CREATE MATERIALIZED VIEW gm AS SELECT * FROM g"} {
		if _, err := c.GetExecuteSchema(c.ctx(), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	equal(t, "rows", c.value("SELECT count(*) FROM g"), "0")
	c.fails("SELECT * FROM gm", fault.ObjectNotFound)
}

func TestSubstraitIsRefused(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	_, err := c.ExecuteSubstrait(c.ctx(), flightsql.SubstraitPlan{Plan: []byte("x"), Version: "0.1"})
	wants(t, err, fault.NotYetSupported)
	_, err = c.PrepareSubstrait(c.ctx(), flightsql.SubstraitPlan{Plan: []byte("x"), Version: "0.1"})
	wants(t, err, fault.NotYetSupported)
}
