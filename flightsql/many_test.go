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
		if n, err := c.executemany(insert, batch); err != nil || n != count {
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

// TestManyRowsLeaveWhatOneAfterTheOtherLeaves runs changes for all rows at once and for one after the other, and compares what they leave and say.
func TestManyRowsLeaveWhatOneAfterTheOtherLeaves(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, {Name: "d", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "n", Type: arrow.BinaryTypes.String, Nullable: true},                                                                                    // numbers and dates as texts
		{Name: "y", Type: arrow.BinaryTypes.String, Nullable: true},                                                                                    // a text that is no number, for a row that is not there
		{Name: "z", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, {Name: "v", Type: arrow.FixedWidthTypes.MonthDayNanoInterval, Nullable: true}, // equal, and not the same
		{Name: "p", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	}, nil)
	distinct := `[{"k": 3, "s": "three", "f": 1.5, "d": "2024-01-03", "n": "3", "y": "33", "z": 0, "v": {"months": 1}, "p": 1},
		{"k": 5, "s": null, "f": null, "d": null, "n": " 5", "y": "5.5", "z": -0.0, "v": {"days": 30}, "p": 1}, {"k": null, "s": "x", "f": 0, "d": "2024-02-29", "n": null, "p": 2},
		{"k": 99, "s": "y", "f": 2, "d": "1999-12-31", "n": "99", "y": "bad", "p": 2}, {"k": 0, "s": "'?", "f": -1, "d": "2024-01-07", "n": "0", "p": 2}]`
	meeting := `[{"k": 3, "s": "a", "f": 1, "d": "2024-01-03", "n": "3"}, {"k": 4, "s": "b", "f": 2, "d": "2024-01-03", "n": "3"}, {"k": 3, "s": "c", "f": 3, "d": "2024-01-01", "n": "4"},
		{"k": 3, "s": "d", "f": 4, "d": "2024-01-02", "n": "3"}, {"k": 1, "s": "e", "f": 5, "d": "2024-01-02", "n": "1"}]`
	c.must("CREATE TABLE other AS SELECT i::INTEGER AS i, CASE i WHEN 3 THEN '3' ELSE 'v' || i END AS s, i / 2 AS f, DATE '2024-01-01' + (i % 5)::INTEGER AS d FROM range(12) r(i)")
	c.must("CREATE TABLE m AS FROM other")
	c.must("CREATE MACRO twice(x) AS x || (SELECT count(*) FROM lake.main.m WHERE s IS NOT NULL)")
	for _, at := range []string{distinct, meeting} {
		for _, change := range []struct{ sql, columns string }{
			{"UPDATE m SET s = ? WHERE i = ?", "sk"},
			{"UPDATE lake.main.m AS x SET s = $2, f = $1 WHERE x.i = $3", "fsk"},
			{"UPDATE m SET f = f + ?, s = s || ? WHERE i = ?", "fsk"}, // what it was before
			{"UPDATE m SET i = ? + 1 WHERE i = ?", "kk"},              // the next row may look at this one's
			{"UPDATE m SET s = coalesce(upper(?), s) WHERE i >= ? AND d IS NOT DISTINCT FROM ?", "skd"},
			{"UPDATE m SET s = ? WHERE i = ?", "sn"}, // texts that stand for numbers
			{"UPDATE m SET d = ? WHERE f = ?", "df"},
			{"UPDATE m SET s = ?", "s"},
			{"UPDATE m SET s = ? WHERE s = ?", "ss"},
			{"UPDATE m SET s = (SELECT max(s) FROM m) || ? WHERE i = ?", "sk"},
			{"UPDATE m SET s = ? FROM other o WHERE o.i = m.i AND o.i = ?", "sk"},
			{"UPDATE m SET s = CASE WHEN i = ? THEN ? ELSE s END WHERE d < ?", "ksd"},
			{"UPDATE m SET s = twice(?) WHERE i = ?", "sk"},
			{"DELETE FROM m WHERE i = ?", "k"},
			{"DELETE FROM m WHERE d = ? OR i = ? AND NOT (f IS NULL)", "dk"},
			{"DELETE FROM m WHERE i = ?", "n"},
			{"DELETE FROM m WHERE i < (SELECT count(*) FROM m) - ?", "k"},
			{"INSERT INTO m SELECT i, s || ?, f, d FROM other WHERE i = ?", "sk"},
			{"INSERT INTO m (s, i) SELECT ?, i FROM other WHERE i <= ? AND d > ?", "skd"},
			{"INSERT INTO m SELECT i + 1000, ?, f, d FROM m WHERE i = ?", "sk"}, // reads what the earlier rows wrote
			{"INSERT INTO m SELECT count(*), ?, max(f), NULL FROM other WHERE i < ?", "sk"},
			{"INSERT INTO m SELECT DISTINCT 7, ?, NULL::DOUBLE, NULL::DATE FROM other WHERE i < ?", "sk"},
			{"INSERT INTO m SELECT o.i, ?, p.f, p.d FROM other o JOIN other p ON o.i = p.i WHERE p.i IN (?, ?)", "skk"},
			{"INSERT INTO m SELECT ?, ?, ?, ?", "ksfd"},
			{"INSERT INTO m SELECT ?, ?, ?, ?", "nsfd"},
			{"UPDATE m SET f = ? WHERE i = ?", "yk"},                          // fails for no row
			{"UPDATE m SET f = ? WHERE i = ? AND i = 3 AND s = ?", "fkk"},     // other rows' s are no numbers
			{"UPDATE m SET s = round(f::DECIMAL(10,3), ?) WHERE i = ?", "pk"}, // of as many digits as the constant says
			{"INSERT INTO m (s, i) SELECT ?, i FROM other WHERE i > ?", "zp"},
			{"INSERT INTO m (s, i) SELECT ?, i FROM other WHERE i > ?", "vp"},
			{"INSERT INTO m (s, i) SELECT ?, o.i FROM other o LEFT JOIN other p ON o.i = p.i AND p.i = ?", "sk"},
			{"MERGE INTO m USING other o ON m.i = o.i AND o.i = ? WHEN MATCHED THEN UPDATE SET s = ?", "ks"},
		} {
			rows := table(t, schema, at)
			var names []string
			var columns []arrow.Array
			for i, name := range strings.Split(change.columns, "") {
				names = append(names, fmt.Sprintf("p%d", i))
				columns = append(columns, rows.Column(schema.FieldIndices(name)[0]))
			}
			fields := make([]arrow.Field, len(names))
			for i := range names {
				fields[i] = arrow.Field{Name: names[i], Type: columns[i].DataType(), Nullable: true}
			}
			all := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, rows.NumRows())
			fill := func() { c.must("CREATE OR REPLACE TABLE m AS FROM other") }
			fill()
			want, failed := int64(0), ""
			c.must("BEGIN")
			for i := range rows.NumRows() {
				one := all.NewSlice(i, i+1)
				n, err := c.executemany(change.sql, one)
				one.Release()
				if want += n; err != nil {
					failed = err.Error()
					break
				}
			}
			if failed != "" {
				c.must("ROLLBACK")
			} else {
				c.must("COMMIT")
			}
			left := "SELECT list(r)::VARCHAR FROM (SELECT m AS r FROM m ORDER BY ALL)"
			expected := c.value(left)
			fill()
			n, err := c.executemany(change.sql, all)
			if failed != "" {
				if err == nil {
					t.Errorf("%s: one after the other it fails: %s", change.sql, failed)
				}
			} else if err != nil || n != want {
				t.Errorf("%s: %d rows, %v; one after the other %d", change.sql, n, err, want)
			}
			equal(t, change.sql, c.value(left), expected)
			all.Release()
			rows.Release()
		}
	}
}

// TestManyRowsAreOneChange looks at a row that fails among many, alone and in the client's own transaction, and at how many snapshots they are.
func TestManyRowsAreOneChange(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String}, {Name: "b", Type: arrow.PrimitiveTypes.Int64}}, nil)
	var rows []string
	for i := range 3000 {
		text := fmt.Sprint(i)
		if i == 2500 {
			text = "no number"
		}
		rows = append(rows, fmt.Sprintf(`{"a": %q, "b": %d}`, text, i))
	}
	batch := table(t, schema, "["+strings.Join(rows, ",")+"]")
	defer batch.Release()
	good := batch.NewSlice(0, 2500)
	defer good.Release()
	for _, sql := range []string{
		"UPDATE m SET v = ?::INTEGER WHERE i = ?", "UPDATE m SET v = ? WHERE i = ?", "INSERT INTO m SELECT ?::INTEGER, i FROM other WHERE i = ?", "DELETE FROM m WHERE v = ? AND i = ?",
	} {
		c.must("CREATE OR REPLACE TABLE m AS SELECT i::INTEGER AS v, i::INTEGER AS i FROM range(3000) r(i)")
		c.must("CREATE OR REPLACE TABLE other AS FROM m")
		before := c.value("SELECT max(snapshot_id) FROM lake.snapshots()")
		if n, err := c.executemany(sql, batch); err == nil || !strings.Contains(err.Error(), "no number") {
			t.Errorf("%s: %d, %v", sql, n, err)
		}
		equal(t, sql, c.value("SELECT max(snapshot_id) FROM lake.snapshots()"), before)
		equal(t, sql, c.value("SELECT count(*) FROM ((FROM m EXCEPT ALL FROM other) UNION ALL (FROM other EXCEPT ALL FROM m))"), "0")
		if n, err := c.executemany(sql, good); err != nil || n != 2500 {
			t.Errorf("%s: %d, %v", sql, n, err)
		}
		equal(t, sql, c.value("SELECT max(snapshot_id) - "+before+" FROM lake.snapshots()"), "1")
	}
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
