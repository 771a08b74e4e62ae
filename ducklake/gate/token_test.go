package gate

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
)

func show(toks []token) string {
	out := make([]string, len(toks))
	for i, t := range toks {
		out[i] = [...]string{"w:", "q:", "s:", "n:", "p:", "o:"}[t.kind] + t.text
	}
	return strings.Join(out, " ")
}

func TestTokens(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{`select a, "B""c" from t`, `w:select w:a o:, q:B"c w:from w:t`},
		{`'it''s' e'\'' E'a\\' x'41' B'01' n'x'`, `s:it's s:e'\'' s:E'a\\' s:x'41' s:B'01' w:n s:x`},
		{`$$a;b$$ $x$ $$ $x$ $1 $name ? ?2`, `s:a;b s: $$  p:$1 p:$name p:? p:?2`},
		{"-- c\na--b\r/* x /* y */ z */b", `w:a w:b`},
		{`1.5e3 1e 1_000 0x1F .5 1..2 1and`, `n:1.5e3 n:1 w:e n:1_000 n:0 w:x1F n:.5 n:1 o:. n:.2 n:1 w:and`},
		{`a=>b a->>b ::int`, `w:a o:= o:> w:b w:a o:- o:> o:> w:b o:: o:: w:int`},
		{"f\u00a0(\u2003x\u200b)", `w:f o:( w:x o:)`},
		{"é_1$ ñ", `w:é_1$ w:ñ`},
		{`foo$bar fooe'x'`, `w:foo$bar w:fooe s:x`},
		{`@--x`, `o:@`},
		{`/*/ x */ a`, `w:a`},
	} {
		toks, clean, err := scan(c.sql)
		if err != nil {
			t.Errorf("%q: %v", c.sql, err)
			continue
		}
		if got := show(toks); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.sql, got, c.want)
		}
		if len(clean) != len(c.sql) {
			t.Errorf("%q: the cleaned text has another length", c.sql)
		}
	}
	for _, bad := range []string{"'a", `"a`, "/* a", "/* /* */", "$$a", "$x$ a $X$", "a\x00b", "a\xffb", `U&"a"`, "u&'a'", "$é$ $é$", "a $ b", "e'\\'"} {
		if _, _, err := scan(bad); err == nil || fault.CodeOf(err) != fault.SyntaxError {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// spellings of names that must be found, for the fuzzer to vary.
var seeds = []string{
	"select read_blob('x')", `select "READ_BLOB" /* c */ ('x') from t`, "from read_csv('x'), t", "with a as (from t) select query('x')", "insert into t select 1, glob('x')",
	"select * from t where a = $1 and b like 'x%' -- end", "create view w as select e'\\'' || read_text('x')", "select $$read_blob($$, $a$ ) $a$", "select 1.e5read_blob('x')",
	"explain analyze select * from 'x.parquet'", "update t set b = write_log('x')", "create macro m(a) as a + 1", "select a.read_text('x') from t", "select [x for x in [1] if sleep_ms(1)]",
	"merge into t using t s on s.a = t.a when matched then delete", "select \u00a0read_blob\u00a0('x')", "use lake.sales", "set timezone = 'UTC'", "select * from t at (version => 1)",
	"delete from __ducklake_metadata_lake.x", "select 1; drop table t", "pivot t on a in (1) using count(*)", "describe t", "from duckdb_settings()", "(((select 1)))",
}

// FuzzScan: the scanner takes any text without a panic, its tokens cover the text in order, and scanning the
// cleaned text again gives the same tokens.
func FuzzScan(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		toks, clean, err := scan(sql)
		if err != nil {
			return
		}
		end := 0
		for _, k := range toks {
			if k.start < end || k.end <= k.start || k.end > len(sql) {
				t.Fatalf("token %+v out of place", k)
			}
			end = k.end
		}
		again, _, err := scan(clean)
		if err != nil || show(again) != show(toks) {
			t.Fatalf("the cleaned text differs: %v\n%s\n%s", err, show(toks), show(again))
		}
		if st, err := read(toks, len(clean)); err == nil && st.kind == Unknown {
			t.Fatal("a statement without a kind is admitted")
		}
		_, _, _ = withoutAt(sql)
	})
}

// FuzzAnalyze: whatever is admitted names no denied function, by the gate's tokens and by DuckDB's own parser.
func FuzzAnalyze(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	for _, c := range admitted {
		f.Add(c.sql)
	}
	lake := newRealLake(f, sales...)
	_, s := newGate(f, lake)
	db, err := duck.Open("", duck.Options{})
	if err != nil {
		f.Fatal(err)
	}
	parser, err := db.Connect()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = parser.Close(); _ = db.Close() })
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, sql string) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		a, err := s.Analyze(ctx, sql, Env{})
		if ctx.Err() != nil {
			t.Fatalf("%q takes too long", sql)
		}
		if err != nil {
			if code := fault.CodeOf(err); code == nil || code == fault.InternalError {
				t.Fatalf("%q: %v", sql, err)
			}
			return
		}
		toks, _, err := scan(sql)
		if err != nil {
			t.Fatalf("admitted a text that cannot be scanned: %q", sql)
		}
		for len(toks) > 0 && toks[len(toks)-1].op(';') {
			toks = toks[:len(toks)-1]
		}
		st, err := read(toks, len(sql))
		if err != nil {
			t.Fatalf("admitted a text that cannot be read: %q", sql)
		}
		for i, k := range toks {
			if i != st.made && k.name() && i+1 < len(toks) && toks[i+1].op('(') && deniedFunction[k.lower] != "" && k.lower != "current_setting" {
				t.Fatalf("admitted %s in %q", k.text, sql)
			}
		}
		if a.Kind != Select {
			return
		}
		rows, err := parser.Rows(ctx, "SELECT unnest(from_json(json_extract(json_serialize_sql(?::VARCHAR)::JSON, '$..function_name'), '[\"VARCHAR\"]'))", a.SQL)
		if err != nil {
			return // DESCRIBE and its like have no JSON
		}
		for _, r := range rows {
			name := lower(r[0].(string))
			if deniedFunction[name] != "" && name != "current_setting" {
				t.Fatalf("DuckDB sees %s in %q", name, sql)
			}
		}
	})
}
