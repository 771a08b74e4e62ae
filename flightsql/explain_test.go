package flightsql

import (
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/fault"
)

func TestExplainStreaming(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.update("CREATE TABLE orders (id INTEGER, customer INTEGER, amount DECIMAL(18,2))")
	c.update("CREATE TABLE customers (id INTEGER, region VARCHAR)")
	info, err := c.Execute(c.ctx(), "EXPLAIN STREAMING SELECT region, sum(amount) AS s FROM orders JOIN customers ON customer = customers.id GROUP BY region")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.rows(info)
	if err != nil {
		t.Fatal(err)
	}
	var operators []string
	for _, r := range rows {
		operators = append(operators, r[2])
		if len(r) != 14 || r[12] != "true" || r[13] != "(null)" {
			t.Errorf("a row: %v", r)
		}
	}
	equal(t, "operators", strings.Join(operators, " "), "project aggregate join scan scan")

	text := c.value("EXPLAIN STREAMING (FORMAT text) SELECT now(), random(), string_agg(region) FROM customers")
	for _, reason := range []string{"CLOCK_OUTSIDE_FILTER at 39", "VOLATILE_FUNCTION at 46", "NO_TOTAL_ORDER at 56"} {
		if !strings.Contains(text, reason) {
			t.Errorf("%s is missing: %s", reason, text)
		}
	}

	// A prepared statement knows its columns and gives the same.
	st, err := c.Prepare(c.ctx(), "EXPLAIN STREAMING SELECT id FROM orders")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close(c.ctx())
	equal(t, "columns", st.DatasetSchema().NumFields(), 14)
	if info, err = st.Execute(c.ctx()); err != nil {
		t.Fatal(err)
	}
	if rows, err = c.rows(info); err != nil || len(rows) != 1 || rows[0][3] != "orders (id)" {
		t.Errorf("prepared: %v %v", rows, err)
	}
	c.fails("EXPLAIN STREAMING SELECT id FROM nothing", fault.ObjectNotFound)
	c.fails("EXPLAIN STREAMING DROP TABLE orders", fault.InvalidParameter)
}
