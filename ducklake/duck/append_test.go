package duck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// readRows is what a query gives, as a reader that stays when the connection goes on.
func readRows(t *testing.T, c *Conn, sql string) array.RecordReader {
	t.Helper()
	r, err := c.Query(context.Background(), sql)
	must(t, err)
	defer r.Close()
	var batches []arrow.RecordBatch
	for r.Next() {
		b := r.RecordBatch()
		b.Retain()
		batches = append(batches, b)
	}
	must(t, r.Err())
	kept, err := array.NewRecordReader(r.Schema(), batches)
	must(t, err)
	for _, b := range batches {
		b.Release()
	}
	return kept
}

func TestAppendArrow(t *testing.T) {
	ctx := context.Background()
	c := open(t)
	const all = `SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE repeat('x', CAST(i % 40 AS INTEGER)) || i END AS s, CAST(i * 7 AS DECIMAL(12,2)) AS d, [i, NULL] AS l,
		{'a': i, 'b': 'é' || i} AS st, CAST(lpad(to_hex(i), 32, '0') AS UUID) AS u, TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_days(CAST(i % 99 AS INTEGER)) AS tz FROM range(5000) t(i)`
	for _, sql := range []string{"CREATE SCHEMA a", "CREATE TABLE a.\"t \"\" 1\" AS " + all + " LIMIT 0", "BEGIN"} {
		_, err := c.Exec(ctx, sql)
		must(t, err)
	}
	r := readRows(t, c, all)
	defer r.Release()
	n, err := c.AppendArrow(ctx, "memory", "a", `t " 1`, r)
	must(t, err)
	if n != 5000 {
		t.Fatalf("%d rows", n)
	}
	differ := func() string {
		rows, err := c.Rows(ctx, `SELECT (SELECT count(*) FROM (FROM a."t "" 1" EXCEPT ALL `+all+`)), (SELECT count(*) FROM (`+all+` EXCEPT ALL FROM a."t "" 1"))`)
		must(t, err)
		return fmt.Sprint(rows[0])
	}
	if d := differ(); d != "[0 0]" {
		t.Fatalf("the rows differ: %s", d)
	}
	_, err = c.Exec(ctx, "ROLLBACK")
	must(t, err)
	if d := differ(); d != "[0 5000]" {
		t.Fatalf("rows were appended outside of the transaction: %s", d)
	}
}

func TestAppendArrowErrors(t *testing.T) {
	ctx := context.Background()
	c := open(t)
	_, err := c.Exec(ctx, "CREATE TABLE k(i BIGINT PRIMARY KEY, j BIGINT)")
	must(t, err)
	appended := func(sql string) error {
		r := readRows(t, c, sql)
		defer r.Release()
		_, err := c.AppendArrow(ctx, "memory", "main", "k", r)
		return err
	}
	must(t, appended("SELECT 1::BIGINT, 2::BIGINT"))
	must(t, appended("SELECT 2::INTEGER, '7'")) // cast
	for sql, want := range map[string]string{
		"SELECT 1::BIGINT, 3::BIGINT": "Duplicate key",
		"SELECT 5::BIGINT":            "column",
		"SELECT 5::BIGINT, 'x'":       "x",
		"SELECT range, range FROM range(2, 4000) UNION ALL SELECT 1, 1": "Duplicate key",
	} {
		var e *Error
		if err := appended(sql); err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &e) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	var e *Error
	empty := readRows(t, c, "SELECT 1 WHERE false")
	defer empty.Release()
	if _, err := c.AppendArrow(ctx, "memory", "main", "none", empty); !errors.As(err, &e) {
		t.Errorf("a table that is not there: %v", err)
	}
	// A batch that breaks its promise leaves nothing behind, nor does an error within a transaction.
	bad := &broken{RecordReader: readRows(t, c, "SELECT 8::BIGINT, 8::BIGINT")}
	defer bad.Release()
	if _, err := c.AppendArrow(ctx, "memory", "main", "k", bad); err == nil {
		t.Error("a malformed batch was appended")
	}
	_, err = c.Exec(ctx, "BEGIN")
	must(t, err)
	must(t, appended("SELECT 9::BIGINT, 9::BIGINT"))
	if err := appended("SELECT 1::BIGINT, 9::BIGINT"); err == nil {
		t.Error("a duplicate key was appended")
	}
	_, _ = c.Exec(ctx, "ROLLBACK")
	rows, err := c.Rows(ctx, "FROM k ORDER BY i")
	must(t, err)
	if got := fmt.Sprint(rows); got != "[[1 2] [2 7]]" {
		t.Errorf("the table has %s", got)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.AppendArrow(canceled, "memory", "main", "k", empty); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled context: %v", err)
	}
}

// broken gives its batches, then one that is not of its schema.
type broken struct {
	array.RecordReader
	over bool
	last arrow.RecordBatch
}

func (b *broken) Next() bool {
	if b.over {
		return false
	}
	if !b.RecordReader.Next() {
		b.over = true
		builder := array.NewInt32Builder(memory.DefaultAllocator)
		defer builder.Release()
		builder.Append(1)
		column := builder.NewInt32Array()
		defer column.Release()
		b.last = array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32}, {Name: "b", Type: arrow.PrimitiveTypes.Int32}}, nil), []arrow.Array{column, column}, 1)
	}
	return true
}

func (b *broken) RecordBatch() arrow.RecordBatch {
	if b.over {
		return b.last
	}
	return b.RecordReader.RecordBatch()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
