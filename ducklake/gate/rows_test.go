package gate

import (
	"slices"
	"strings"
	"testing"
)

func TestRows(t *testing.T) {
	_, s := newGate(t, newRealLake(t, sales...))
	for _, c := range []struct{ sql, twice string }{
		{"INSERT INTO t VALUES (?, ?)", "INSERT INTO t VALUES ($1, $2), ($3, $4)"},
		{"insert into t (b, a) values ($2, $1 + 1) ;", "insert into t (b, a) values ($2, $1 + 1), ($4, $3 + 1)"},
		{"INSERT INTO lake.main.t VALUES (1, upper($1)) -- one", "INSERT INTO lake.main.t VALUES (1, upper($1)), (1, upper($2))"},
		{"INSERT INTO t VALUES ($a, $b || 'values (?)' || $b)", "INSERT INTO t VALUES ($1, $2 || 'values (?)' || $2), ($3, $4 || 'values (?)' || $4)"},
		{"INSERT INTO t VALUES (coalesce(?, (2)), ?)", "INSERT INTO t VALUES (coalesce($1, (2)), $2), (coalesce($3, (2)), $4)"},
		{"INSERT INTO t VALUES (1, '2')", ""},
		{"INSERT INTO t VALUES (?, ?), (3, 'c')", ""},
		{"INSERT INTO t VALUES (?, ?) RETURNING a", ""},
		{"INSERT INTO t SELECT ?, ?", ""},
		{"INSERT INTO t SELECT * FROM (VALUES (?, ?))", ""},
		{"INSERT INTO t FROM (VALUES (?, 'x')) v(x, y)", ""},
		{"INSERT INTO t VALUES ((SELECT max(a) + 1 FROM t), ?)", ""},
		{"WITH w AS (SELECT ? AS i) INSERT INTO t VALUES (?, 'x')", ""},
		{"WITH w AS (SELECT random() AS r) INSERT INTO t VALUES (?, (SELECT r FROM w)::VARCHAR)", ""},
		{"INSERT INTO t SELECT 1, 'z' UNION ALL VALUES (?, 'u')", ""},
		{"INSERT INTO t SELECT 5, 'z' EXCEPT VALUES (?, 'u')", ""},
		{"INSERT INTO t VALUES (CASE WHEN?>0 THEN 1 END, 'x')", "INSERT INTO t VALUES (CASE WHEN $1>0 THEN 1 END, 'x'), (CASE WHEN $2>0 THEN 1 END, 'x')"},
		{"UPDATE t SET a = ?", ""},
		{"SELECT ?", ""},
	} {
		a, err := s.Analyze(t.Context(), c.sql, Env{})
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		twice := ""
		if r := a.Rows(); r != nil {
			two := r.For(2, nil)
			if twice = two.SQL; len(two.Params) != 2*len(a.Params) || r.For(1, nil) != a {
				t.Errorf("%s has %d parameters", twice, len(two.Params))
			}
		}
		if twice != c.twice {
			t.Errorf("%s\nis written for two rows as %q\nwant %q", c.sql, twice, c.twice)
		}
	}
}

// TestRowsTogether lists which changes run for several rows at once; what they leave is compared where they run.
func TestRowsTogether(t *testing.T) {
	_, s := newGate(t, newRealLake(t, slices.Concat(sales, []string{
		"CREATE TABLE u(a INTEGER, b VARCHAR)", "CREATE VIEW dice AS SELECT a, random() AS r FROM u", "CREATE TABLE place(rowid INTEGER, i INTEGER)", "CREATE MACRO twice(x) AS x || (SELECT max(b) FROM lake.main.t)",
	})...))
	for _, c := range []struct {
		sql      string
		together bool
	}{
		{"UPDATE t SET b = ? WHERE a = ?", true},
		{"UPDATE lake.main.t AS x SET b = $1 WHERE x.a = $2", true},
		{"UPDATE t SET b = upper(b) || ? WHERE a IS NOT DISTINCT FROM ?", true},
		{"UPDATE t SET b = ? WHERE b = ?", false},
		{"UPDATE t SET \"B\" = ? WHERE b = 'x' AND a = ?", false},
		{"UPDATE t SET b = ? WHERE t.b = ?", false},
		{"UPDATE t SET b = ? WHERE t = ?", false},
		{"UPDATE t SET b = ? WHERE rowid = ?", false},
		{"UPDATE t SET b = ? WHERE abs(a) = ?", false},
		{"UPDATE t SET b = ? WHERE a::VARCHAR = ?", false},
		{"UPDATE t SET b = ?", false},
		{"UPDATE t SET b = ? RETURNING a", false},
		{"UPDATE t SET b = random()::VARCHAR WHERE a = ?", false},
		{"UPDATE t SET b = twice(?) WHERE a = ?", false},
		{"UPDATE t SET b = (SELECT max(b) FROM t) || ? WHERE a = ?", false},
		{"UPDATE t SET b = o.region FROM sales.customer o WHERE a = ?", false},
		{"UPDATE place SET i = ? WHERE i = 3", false},
		{"UPDATE place SET rowid = ? WHERE i = ?", false},
		{"DELETE FROM t WHERE a = ? AND b IN (?, 'x')", true},
		{"DELETE FROM t WHERE a = (SELECT max(a) FROM t) - ?", false},
		{"DELETE FROM t WHERE ? <= a AND b IS NOT NULL AND a BETWEEN 1 AND ?", true},
		{"DELETE FROM t WHERE a = ? AND a NOT IN (1, ?) AND t.a <> 7", true},
		{"DELETE FROM t WHERE a = ? AND b = a", false},
		{"DELETE FROM t WHERE a = ? OR b = ?", false},
		{"DELETE FROM t WHERE a = ? AND b LIKE ?", false},
		{"INSERT INTO t SELECT a, ? FROM u WHERE a = ?", false},
		{"INSERT INTO t SELECT a, ? FROM t WHERE a = ?", false},
		{"INSERT INTO t SELECT count(*), ? FROM u WHERE a = ?", false},
		{"INSERT INTO t SELECT a, ? FROM u WHERE a = ? LIMIT 1", false},
		{"INSERT INTO t SELECT a, ? FROM u WHERE a = ? ORDER BY a", false},
		{"INSERT INTO t SELECT a, ? FROM u UNION SELECT a, 'x' FROM u", false},
		{"INSERT INTO t SELECT row_number() OVER (), ? FROM u", false},
		{"INSERT INTO t SELECT a, ? FROM u WHERE sqrt(a) > 1", false},
		{"INSERT INTO t SELECT a, ? FROM u LEFT JOIN sales.customer c ON a = c.id AND a = ?", false},
		{"INSERT INTO t SELECT a, r + ? FROM dice WHERE a = ?", false},
		{"UPDATE t SET b = strftime(DATE '2024-01-01', ?) WHERE a = ?", false},
	} {
		if a, err := s.Analyze(t.Context(), c.sql, Env{}); err != nil {
			t.Errorf("%s: %v", c.sql, err)
		} else if r := a.Rows(); (r != nil) != c.together {
			t.Errorf("%s: together %t", c.sql, r != nil)
		}
	}
}

// A statement for many rows is not much longer than one that somebody writes.
func TestRowsAreBounded(t *testing.T) {
	_, s := newGate(t, newRealLake(t, sales...))
	for _, c := range []struct{ literal, most int }{{1, 512}, {10_000, 104}, {1 << 21, 1}} {
		a, err := s.Analyze(t.Context(), "INSERT INTO t VALUES (?, '"+strings.Repeat("x", c.literal)+"')", Env{})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Rows().Most(); got != c.most {
			t.Errorf("%d rows for a literal of %d bytes, want %d", got, c.literal, c.most)
		}
	}
}
