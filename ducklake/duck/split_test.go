package duck

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

func TestSplit(t *testing.T) {
	c := open(t)
	for _, text := range []string{
		"", " \n", ";", ";;", "SELECT 1", "SELECT 1;", ";SELECT 1;;SELECT 2;", "SELECT 1 -- a; b\n; SELECT 2", "-- only a comment;", "/* only ; */",
		"SELECT /* ; /* nested; */ ; */ 1; SELECT 2", "SELECT 'a;''b;' ; SELECT 2", `SELECT 1 AS "a;""b;"; SELECT 2`, `SELECT E'a;\';b' ; SELECT 2`, `SELECT e'\\'; SELECT 2`,
		"SELECT $$a;'b$$; SELECT 2", "SELECT $tag$ ; $$ ; $tag$; SELECT 2", "SELECT $1; SELECT $name", "SELECT 'a\\'; SELECT 2", "SELECT type'x;' FROM t; SELECT 2",
		"SELECT \"e'x\" FROM t; SELECT 2", "SELECT 1e5; SELECT 2", "SELECT a$b$c; SELECT d$b$e", "SELECT x'00'; SELECT 2", "SELECT 'ü;'; SELECT ü", "SELECT 1;\r\nSELECT 2",
		"CREATE MACRO m(a) AS (a + 1); SELECT m(1)", "SELECT 1 --\r; SELECT 2", "SELECT -1; SELECT 2-- x", "SELECT 4/2; SELECT 4 / /* ; */ 2", "SELECT [1;2]", "BEGIN; COMMIT;",
		"SELECT $1$2; SELECT 3", "SELECT $1;$2", "SELECT 1; /* a */ -- b\n SELECT 2 /* c */ ; /* d */", "SELECT 'a' 'b;'; SELECT 1", "SELECT U&'a;b'; SELECT 2", "SELECT date'2020-01-01'; SELECT 2",
	} {
		got, err := Split(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for _, s := range got {
			if text[s.Offset:s.Offset+len(s.Text)] != s.Text || strings.TrimSpace(s.Text) != s.Text || s.Text == "" {
				t.Errorf("%q: statement %q at %d", text, s.Text, s.Offset)
			}
		}
		var list ddb.ExtractedStatements
		n := int(ddb.ExtractStatements(c.raw, text, &list))
		message := ddb.ExtractStatementsError(list)
		ddb.DestroyExtracted(&list)
		if message != "" {
			continue // what DuckDB does not parse has no number of statements
		}
		if len(got) != n {
			t.Errorf("%q: %d statements, DuckDB finds %d: %v", text, len(got), n, got)
		}
		for _, s := range got {
			if again, err := Split(s.Text); err != nil || len(again) != 1 || again[0].Text != s.Text {
				t.Errorf("%q split again: %v", s.Text, again)
			}
		}
	}
	for _, open := range []string{"SELECT 'a", `SELECT "a`, "SELECT /* a", "SELECT $$a", "SELECT e'a\\'", "SELECT 1; SELECT '"} {
		if got, err := Split(open); err == nil {
			t.Errorf("%q: %v", open, got)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"SELECT 1; SELECT 'a;b'", "/* ; */ SELECT $a$;$a$;", "e'\\';';x"} {
		f.Add(s)
	}
	c := open(f)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Split(text)
		if err != nil || strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
			return
		}
		end := 0
		for _, s := range got {
			if s.Offset < end || text[s.Offset:s.Offset+len(s.Text)] != s.Text {
				t.Fatalf("%q: %v", text, got)
			}
			end = s.Offset + len(s.Text)
		}
		var list ddb.ExtractedStatements
		n := int(ddb.ExtractStatements(c.raw, text, &list))
		failed := ddb.ExtractStatementsError(list) != ""
		ddb.DestroyExtracted(&list)
		if !failed && n > len(got) {
			t.Fatalf("%q: %d statements, DuckDB finds %d: %v", text, len(got), n, got)
		}
	})
}

func TestErrors(t *testing.T) {
	c := open(t)
	exec(t, c, "CREATE TABLE t(a INT PRIMARY KEY); INSERT INTO t VALUES (1)")
	for _, x := range []struct {
		sql, typ string
		position int
	}{
		{"SELECT\n  nope FROM t", "Binder", 9},
		{"SELECT * FROM nope", "Catalog", 14},
		{"SELEC 1", "Parser", 0},
		{"SELECT 1; SELECT nope", "Binder", -1},
		{"INSERT INTO t VALUES (1)", "Constraint", -1},
		{"SELECT 'x'::INT", "Conversion", 10},
		{"SELECT 1 +", "Parser", -1},
		{"SELECT " + strings.Repeat("1, ", 200) + "nope", "Binder", 607},
		{"SELECT '🦆🦆', nope", "Binder", 19},
		{"FROM read_csv('/nowhere.csv')", "IO", -1},
		{"COMMIT", "TransactionContext", -1},
		{"SELECT error('x')", "Invalid Input", -1},
		{"SELECT 1\x00; SELECT 2", "Parser", -1},
		{"SELECT '\xff'", "Parser", -1},
	} {
		_, err := c.Exec(context.Background(), x.sql)
		e, ok := err.(*Error)
		if !ok {
			t.Errorf("%.60s: %v", x.sql, err)
			continue
		}
		if e.Type != x.typ || e.Position != x.position && x.position >= 0 {
			t.Errorf("%.60s: type %q, position %d, want %q, %d\n%s", x.sql, e.Type, e.Position, x.typ, x.position, e)
		}
		if e.Error() != fmt.Sprintf("%s Error: %s", e.Type, e.Message) {
			t.Errorf("%q, %q", e.Error(), e.Message)
		}
	}
	if c.db.Poisoned() != nil {
		t.Fatal(c.db.Poisoned())
	}
}
