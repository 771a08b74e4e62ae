package flightsql

import (
	"strings"
	"testing"
)

func TestLoggedTextHasNoLiterals(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT 1", "SELECT ?"},
		{"select  a1,\n b FROM t WHERE x = 'se''cret' AND y>1.5e3", "select a1, b FROM t WHERE x = ? AND y>?"},
		{`INSERT INTO "my 1 table" VALUES ('a', E'b', $$c$$, $t$d$t$, $1, $name)`, `INSERT INTO "my 1 table" VALUES (?, E?, ?, ?, $?, $name)`},
		{"SELECT 1 -- 'secret'\n+ 2 /* secret */ FROM t", "SELECT ? + ? FROM t"},
		{"SELECT 'unterminated secret", "SELECT ?"},
		{"SELECT $$unterminated secret", "SELECT ?"},
		{"/* secret", ""},
		{`SELECT e'it\'s secret', E'\\', x`, `SELECT e?, E?, x`},
		{`SELECT 'a\', se'b\', 'c'`, `SELECT ?, se?, ?`},
		{"SELECT /* a /* b */ secret */ 1", "SELECT ?"},
	} {
		if got := skeleton(c.sql); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.sql, got, c.want)
		}
	}
	if got := skeleton("SELECT " + strings.Repeat("größe, ", 1000)); len(got) > maxLogged+10 {
		t.Errorf("%d bytes are logged", len(got))
	}
}

func FuzzLoggedText(f *testing.F) {
	f.Add("SELECT 'a' || $x$b$x$ -- c")
	f.Fuzz(func(t *testing.T, sql string) { skeleton(sql) })
}
