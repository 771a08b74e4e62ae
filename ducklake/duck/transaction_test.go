package duck

import (
	"context"
	"testing"
)

// A connection knows whether a transaction may be open on it, and ends it.
func TestInTransaction(t *testing.T) {
	c := open(t)
	ctx := context.Background()
	for _, step := range []struct {
		sql  string
		open bool
	}{
		{"SELECT 1", false},
		{"BEGIN TRANSACTION", true}, {"SELECT 1", true}, {"COMMIT", false},
		{"BEGIN", true}, {"BEGIN", true}, {"SELECT error('no')", true}, {"ROLLBACK;", false},
		{"ROLLBACK", false}, {"COMMIT", false},
		{"BEGIN; SELECT 1", true}, {"SELECT error('no')", true}, {"COMMIT", false},
		{"CREATE TEMP TABLE t (i INTEGER PRIMARY KEY)", false}, {"INSERT INTO t VALUES (1), (1)", false},
	} {
		_, err := c.Exec(ctx, step.sql)
		if c.InTransaction() != step.open {
			t.Errorf("%s: %v (%v)", step.sql, c.InTransaction(), err)
		}
	}
	for _, sql := range []string{"BEGIN", "BEGIN; SELECT 1; ROLLBACK", "BEGIN; SELECT error('no')"} {
		_, _ = c.Exec(ctx, sql)
		if err := c.Settle(ctx); err != nil || c.InTransaction() {
			t.Errorf("%s: %v", sql, err)
		}
		if _, err := c.Rows(ctx, "SELECT 1"); err != nil {
			t.Errorf("after %s: %v", sql, err)
		}
	}
	// An open result keeps the transaction.
	if _, err := c.Exec(ctx, "BEGIN"); err != nil {
		t.Fatal(err)
	}
	r, err := c.Query(ctx, "SELECT i FROM range(1000000) t(i)")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Settle(ctx); err == nil || !c.InTransaction() {
		t.Error("settled beside an open result:", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Settle(ctx); err != nil {
		t.Error(err)
	}
}
