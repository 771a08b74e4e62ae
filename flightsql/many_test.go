package flightsql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// TestManyRowsOfParameters compares what many rows leave with what DuckDB computes, for statements that are run for several rows at once and for
// such that are not.
func TestManyRowsOfParameters(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "d", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}, Nullable: true}, {Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
	}, nil)
	const count = 1300 // more than two statements, and a rest
	var rows []string
	for i := range count {
		s, d, l := fmt.Sprintf("%q", fmt.Sprintf("it's ?$1 %d", i)), fmt.Sprintf(`"%d.25"`, i), fmt.Sprintf("[%d, null]", i)
		if i%7 == 0 {
			s, d, l = "null", "null", "null"
		}
		rows = append(rows, fmt.Sprintf(`{"i": %d, "s": %s, "d": %s, "l": %s}`, i, s, d, l))
	}
	batch := table(t, schema, "["+strings.Join(rows, ",")+"]")
	expect := `SELECT i::INTEGER, CASE WHEN i % 7 > 0 THEN 'it''s ?$1 ' || i END, CASE WHEN i % 7 > 0 THEN (i + 0.25)::DECIMAL(12,3) END,
		CASE WHEN i % 7 > 0 THEN [i, NULL]::INTEGER[] END FROM range(1300) r(i)`
	for _, insert := range []string{
		"INSERT INTO m VALUES (?, ?, ?, ?)", "INSERT INTO m (l, d, s, i) VALUES ($4, $3, $2, $1)", "INSERT INTO m VALUES ($1 + 0, lower(upper($2)) || substr($2, 1, 0), $3, $4);",
		"INSERT INTO m SELECT $1, $2, $3, $4",
	} {
		c.must("CREATE OR REPLACE TABLE m (i INTEGER, s VARCHAR, d DECIMAL(12,3), l INTEGER[])")
		want := expect
		if strings.Contains(insert, "lower") {
			want = strings.ReplaceAll(expect, "'it''s ?$1 ' || i", "lower('it''s ?$1 ' || i)")
		}
		if strings.Contains(insert, "SELECT") { // one by one takes long
			small := batch.NewSlice(0, 20)
			n, err := c.executemany(insert, small)
			if err != nil || n != 20 {
				t.Fatalf("%s: %d, %v", insert, n, err)
			}
			small.Release()
			want += " WHERE i < 20"
		} else if n, err := c.executemany(insert, batch); err != nil || n != count {
			t.Fatalf("%s: %d, %v", insert, n, err)
		}
		equal(t, insert, c.value("SELECT count(*) FROM ((FROM m EXCEPT ALL "+want+") UNION ALL ("+want+" EXCEPT ALL FROM m))"), "0")
	}
	// A row that fails among many leaves nothing.
	c.must("CREATE OR REPLACE TABLE m (i INTEGER)")
	_, err := c.executemany("INSERT INTO m VALUES (CASE WHEN ? = 700 THEN 'no number' ELSE '1' END::INTEGER)", batch)
	if err == nil || !strings.Contains(err.Error(), "no number") || strings.Contains(err.Error(), "LINE") {
		t.Error(err)
	}
	equal(t, "rows after a failure", c.value("SELECT count(*) FROM m"), "0")
}

// executemany runs a statement for the rows of a batch; columns that it has no parameters for are left out.
func (c *client) executemany(sql string, rows arrow.RecordBatch) (int64, error) {
	p := c.prepare(sql)
	defer func() { _ = p.Close(c.ctx()) }()
	if n := p.ParameterSchema().NumFields(); int64(n) < rows.NumCols() {
		kept := arrow.NewSchema(rows.Schema().Fields()[:n], nil)
		rows = array.NewRecordBatch(kept, rows.Columns()[:n], rows.NumRows())
		defer rows.Release()
	}
	p.SetParameters(rows)
	return p.ExecuteUpdate(c.ctx())
}
