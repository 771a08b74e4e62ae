package refusals

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"

	"github.com/vegadb/vega-flight/integration/process"
)

// TestSources changes what views read so that they cannot be refreshed; they keep their content.
func TestSources(t *testing.T) {
	s := newHouse(t).start(t)
	c := s.ConnectAs(t, "ann")
	for _, change := range []struct{ table, sql, word string }{
		{"dropped", "DROP TABLE dropped", "dropped"},
		{"without", "ALTER TABLE without DROP COLUMN used", "used"},
		{"retyped", "ALTER TABLE retyped ALTER COLUMN used SET DATA TYPE BIGINT", "used"},
	} {
		view := "of_" + change.table
		c.Must(t, "CREATE TABLE "+change.table+" (used INTEGER, other INTEGER)")
		c.Must(t, "INSERT INTO "+change.table+" VALUES (1, 2), (3, 4)")
		c.Must(t, "CREATE MATERIALIZED VIEW "+view+" AS SELECT used FROM "+change.table)
		c.Must(t, change.sql)
		before := c.Must(t, "SELECT id FROM lake.current_snapshot()")
		for range 2 {
			_, err := c.Query(t.Context(), "REFRESH MATERIALIZED VIEW "+view)
			process.Refused(t, err, "SOURCE_CHANGED")
			if !strings.Contains(err.Error(), change.word) {
				t.Errorf("the message does not name %q: %v", change.word, err)
			}
		}
		if after := c.Must(t, "SELECT id FROM lake.current_snapshot()"); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("%s: the lake went from snapshot %v to %v", view, before, after)
		}
		if rows := c.Must(t, "SELECT used FROM "+view+" ORDER BY used"); fmt.Sprint(rows) != "[[1] [3]]" {
			t.Errorf("%s: %v", view, rows)
		}
		if code := c.Value(t, "SELECT error_code FROM vega.jobs WHERE view = 'main."+view+"' ORDER BY submitted_at DESC LIMIT 1"); code != "SOURCE_CHANGED" {
			t.Errorf("%s: the job says %s", view, code)
		}
	}
	// The table comes back with the same columns, as pipelines do it.
	c.Must(t, "CREATE TABLE dropped AS SELECT 7::INTEGER AS used, 8::INTEGER AS other")
	c.Must(t, "REFRESH MATERIALIZED VIEW of_dropped")
	if rows := c.Must(t, "SELECT used FROM of_dropped"); fmt.Sprint(rows) != "[[7]]" {
		t.Errorf("after the source came back: %v", rows)
	}
}

// TestConflict changes a row in two transactions at once.
func TestConflict(t *testing.T) {
	s := newHouse(t).start(t)
	setup := s.ConnectAs(t, "ann")
	setup.Must(t, "CREATE TABLE src (k BIGINT, n BIGINT)")
	setup.Must(t, "INSERT INTO src VALUES (1, 0)")
	var txs [2]*flightsql.Txn
	for i := range txs {
		tx, err := s.ConnectAs(t, "ann").BeginTransaction(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecuteUpdate(t.Context(), fmt.Sprintf("UPDATE src SET n = %d", i+1)); err != nil {
			t.Fatal(err)
		}
		txs[i] = tx
	}
	if err := txs[1].Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	process.Refused(t, txs[0].Commit(t.Context()), "COMMIT_CONFLICT")
	if n := setup.Value(t, "SELECT n FROM src"); n != "2" {
		t.Errorf("n is %s", n)
	}
}
