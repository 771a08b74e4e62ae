package gate

import (
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
			two := r.For(2)
			if twice = two.SQL; len(two.Params) != 2*len(a.Params) || r.For(1) != a {
				t.Errorf("%s has %d parameters", twice, len(two.Params))
			}
		}
		if twice != c.twice {
			t.Errorf("%s\nis written for two rows as %q\nwant %q", c.sql, twice, c.twice)
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
