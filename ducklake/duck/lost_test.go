package duck

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// Of 100 queries that fail while their rows are read, DuckDB forgets the reason of one to three; the Reader knows it of all.
func TestReasonOfAFailedStream(t *testing.T) {
	c := open(t)
	for range 100 {
		r, err := c.Query(t.Context(), "SELECT CASE WHEN i = 90000 THEN error('stop here') END, count(*) FROM range(100000) t(i) GROUP BY i")
		if err == nil {
			for r.Next() {
			}
			err = r.Err()
			r.Close()
		}
		var e *Error
		if !errors.As(err, &e) || e.Type != "Invalid Input" || !strings.Contains(e.Message, "stop here") {
			t.Fatal(err)
		}
	}
}

// What asks for a reason, and what is left as it is.
func TestReason(t *testing.T) {
	c := open(t)
	exec(t, c, "CREATE TABLE t AS SELECT 1 AS a")
	exec(t, c, "CREATE SEQUENCE s")
	lost := newError("INTERRUPT Error: Interrupted!", "")
	asked := c.interrupts.Load()
	ask := func(text string, args ...any) error { return c.reason(t.Context(), lost, asked, text, args) }

	for _, failing := range []struct {
		text string
		args []any
	}{
		{"SELECT CASE WHEN i = 9 THEN error('stop here') END FROM range(10) t(i)", nil},
		{"SELECT nextval('s'); SELECT CASE WHEN i = 9 THEN error('stop here') END FROM range(10) t(i)", nil},
		{"SELECT CASE WHEN i = $1 THEN error('stop here') END FROM range(10) t(i)", []any{int64(9)}},
	} {
		if err := ask(failing.text, failing.args...); !strings.Contains(err.Error(), "stop here") {
			t.Errorf("%s: %v", failing.text, err)
		}
	}
	if n := one(t, c, "SELECT nextval('s')"); n != int64(1) {
		t.Errorf("the statement before the last one ran again: %v", n)
	}
	for _, text := range []string{"SELECT a FROM t", "INSERT INTO t SELECT 2", "SELECT FROM", "SELECT a FROM nothing", ""} {
		if err := ask(text); err != error(lost) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if n := one(t, c, "SELECT count(*) FROM t"); n != int64(1) {
		t.Errorf("the INSERT ran again: %v", n)
	}

	failing := "SELECT error('stop here')"
	if other := errors.New("other"); c.reason(t.Context(), other, asked, failing, nil) != other {
		t.Error("an error with a reason was replaced")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := c.reason(ended, lost, asked, failing, nil); err != error(lost) {
		t.Errorf("after its context: %v", err)
	}
	exec(t, c, "BEGIN")
	if err := ask(failing); err != error(lost) {
		t.Errorf("in a transaction: %v", err)
	}
	exec(t, c, "ROLLBACK")
	c.Interrupt()
	if err := ask(failing); err != error(lost) {
		t.Errorf("after an interrupt that was asked for: %v", err)
	}
}
