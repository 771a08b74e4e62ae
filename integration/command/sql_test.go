package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

const rowsOfThree = "SELECT * FROM (VALUES (1, 'a,b', 1.50), (2, NULL, NULL), (3, '', -0.25)) v(i, s, d) ORDER BY i"

func TestStatementsComeFromEverywhere(t *testing.T) {
	s := start(t)
	file := filepath.Join(t.TempDir(), "q.sql")
	if err := os.WriteFile(file, []byte("CREATE TABLE t (i INTEGER);\nINSERT INTO t VALUES (1), (2); -- done; really\nSELECT count(*) AS n FROM t;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, nil, "sql", s.Flight, "-f", file, "-o", "csv"); got.code != 0 || !strings.HasSuffix(got.out, "n\n2\n") || got.err != "" {
		t.Errorf("-f: %+v", got)
	}
	if got := run(t, nil, "sql", s.Flight, "-c", "SELECT sum(i)::INTEGER AS n FROM t", "-o", "csv"); got.out != "n\n3\n" {
		t.Errorf("-c: %+v", got)
	}
	if got := run(t, strings.NewReader("BEGIN; DELETE FROM t; ROLLBACK; SELECT count(*) AS n FROM t"), "sql", s.Flight, "-o", "csv"); !strings.HasSuffix(got.out, "n\n2\n") {
		t.Errorf("standard input: %+v", got)
	}
	if got := run(t, strings.NewReader("\n-- nothing\n"), "sql", s.Flight); got.code != 0 || got.out+got.err != "" {
		t.Errorf("nothing: %+v", got)
	}
}

func TestFormats(t *testing.T) {
	s := start(t)
	for format, want := range map[string]string{
		"table": "i  s         d\n-  ----  -----\n1  a,b    1.50\n2  NULL   NULL\n3        -0.25\n(3 rows)\n",
		"csv":   "i,s,d\n1,\"a,b\",1.50\n2,,\n3,\"\",-0.25\n",
		"json":  `{"i":1,"s":"a,b","d":1.50}` + "\n" + `{"i":2,"s":null,"d":null}` + "\n" + `{"i":3,"s":"","d":-0.25}` + "\n",
	} {
		if got := run(t, nil, "sql", s.Flight, "-c", rowsOfThree, "-o", format); got.out != want || got.code != 0 {
			t.Errorf("%s: %+v", format, got)
		}
	}
	got := run(t, nil, "sql", s.Flight, "-c", rowsOfThree, "-o", "arrow")
	r, err := ipc.NewReader(bytes.NewReader([]byte(got.out)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() || r.RecordBatch().NumRows() != 3 || r.RecordBatch().Column(0).(*array.Int32).Value(2) != 3 || r.Schema().Field(2).Type.ID() != arrow.DECIMAL128 {
		t.Errorf("arrow: %v %v", r.Schema(), r.Err())
	}
	empty := map[string]string{"table": "i\n-\n(0 rows)\n", "csv": "i\n", "json": ""}
	for format, want := range empty {
		if got := run(t, nil, "sql", s.Flight, "-c", "SELECT 1 AS i WHERE false", "-o", format); got.out != want || got.code != 0 {
			t.Errorf("no rows as %s: %+v", format, got)
		}
	}
}

// The first mistake ends it, with the server's message and its stable name.
func TestErrorsOfSQL(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{s.Flight, "-c", "SELECT * FROM missing; CREATE TABLE never (i INTEGER)"}, 1, "vega-flight: OBJECT_NOT_FOUND: "},
		{[]string{s.Flight, "-c", "REFRESH MATERIALIZED VIEW missing"}, 1, "vega-flight: MATERIALIZED_VIEW_NOT_FOUND: "},
		{[]string{s.Flight, "-c", "CREATE TABLE never (i INTEGER); CREATE MATERIALIZED VIEW"}, 1, "vega-flight: SYNTAX_ERROR: "},
		{[]string{"grpc://127.0.0.1:1", "-c", "SELECT 1"}, 1, "vega-flight: the server cannot be reached: "},
		{[]string{"http://127.0.0.1:1", "-c", "SELECT 1"}, 2, "the URI starts with"},
		{[]string{s.Flight, "-c", "SELECT 1", "-f", "x"}, 2, "exclude each other"},
		{[]string{s.Flight, "-f", filepath.Join(t.TempDir(), "none.sql")}, 1, "no such file"},
		{[]string{s.Flight, "-o", "xml", "-c", "SELECT 1"}, 2, "table, vertical, csv, json or arrow"},
		{[]string{s.Flight, "--token", "x", "--api-key", "y", "-c", "SELECT 1"}, 2, "exclude each other"},
	} {
		got := run(t, nil, append([]string{"sql"}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.err, c.want) || got.out != "" {
			t.Errorf("%v: %+v, want code %d and %q", c.args[1:], got, c.code, c.want)
		}
	}
	if n := s.Connect(t).Value(t, "SELECT count(*) FROM information_schema.tables WHERE table_name = 'never'"); n != "0" {
		t.Error("a statement after, or before, the mistake was run")
	}
}
