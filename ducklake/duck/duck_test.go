package duck

import (
	"context"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open gives a connection to a new in-memory instance.
func open(t testing.TB) *Conn {
	t.Helper()
	db, err := Open("", Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := db.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		db.Close()
	})
	return c
}

func exec(t testing.TB, c *Conn, sql string, args ...any) int64 {
	t.Helper()
	n, err := c.Exec(context.Background(), sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func rows(t testing.TB, c *Conn, sql string, args ...any) [][]any {
	t.Helper()
	r, err := c.Rows(context.Background(), sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return r
}

func one(t testing.TB, c *Conn, sql string, args ...any) any {
	t.Helper()
	r := rows(t, c, sql, args...)
	if len(r) != 1 || len(r[0]) != 1 {
		t.Fatalf("%s: %d rows, one value was expected", sql, len(r))
	}
	return r[0][0]
}

func TestExecAndRows(t *testing.T) {
	c := open(t)
	if n := exec(t, c, "CREATE TABLE t(a INT, b VARCHAR); INSERT INTO t VALUES (1, 'x'), (2, NULL)"); n != 2 {
		t.Fatalf("%d rows changed", n)
	}
	if n := exec(t, c, "UPDATE t SET a = a + $1 WHERE b = $2", 10, "x"); n != 1 {
		t.Fatalf("%d rows changed", n)
	}
	got := rows(t, c, "SELECT a, b FROM t ORDER BY a")
	if len(got) != 2 || got[0][0] != int64(2) || got[0][1] != nil || got[1][0] != int64(11) || got[1][1] != "x" {
		t.Fatal(got)
	}
	if n := exec(t, c, ""); n != 0 {
		t.Fatal(n)
	}
}

func TestReaderStreams(t *testing.T) {
	c := open(t)
	r, err := c.Query(context.Background(), "SELECT i, i::VARCHAR AS s FROM range(300000) t(i)")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := c.Exec(context.Background(), "SELECT 1"); err != ErrBusy {
		t.Fatal(err)
	}
	n := int64(0)
	for r.Next() {
		n += r.RecordBatch().NumRows()
	}
	if r.Err() != nil || n != 300000 {
		t.Fatal(n, r.Err())
	}
	r.Close()
	exec(t, c, "SELECT 1")
}
