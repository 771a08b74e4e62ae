package bind

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/refresh"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func reading(schema, name, nowSchema, nowName string, columns []string, renamed map[string]string) refresh.Reading {
	r := refresh.Reading{Source: catalog.Source{Name: catalog.Name{Schema: schema, Name: name}}, Now: catalog.Name{Schema: nowSchema, Name: nowName}, Renamed: renamed}
	for _, c := range columns {
		r.Source.Columns = append(r.Source.Columns, catalog.Column{Name: c})
	}
	return r
}

func TestRead(t *testing.T) {
	db, err := duck.Open("", duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	text := &Text{Lake: "lake", Parse: func(ctx context.Context, sql string) (string, error) {
		rows, err := conn.Rows(ctx, `SELECT json_serialize_sql(?::VARCHAR)`, sql)
		if err != nil {
			return "", err
		}
		return rows[0][0].(string), nil
	}}
	same := reading("main", "t", "main", "t", []string{"a", "b"}, nil)
	other := reading("s", "My Table", "s", "My Table", []string{"a"}, nil)
	moved := reading("main", "t", "main", "t2", []string{"a", "b"}, nil)
	renamed := reading("main", "t", "s", "other t", []string{"a", "b"}, map[string]string{"b": "new b"})

	for _, c := range []struct {
		name, query string
		read        refresh.Reading
		version     int64
		want        string
	}{
		{"nothing to do", `SELECT a FROM lake.main.t`, same, 0, `SELECT a FROM lake.main.t`},
		{"version", `SELECT a FROM lake.main.t`, same, 7, `SELECT a FROM lake.main.t AT (VERSION => 7)`},
		{"version behind an alias", `SELECT x.a FROM lake.main.t AS x WHERE true`, same, 7, `SELECT x.a FROM lake.main.t AS x AT (VERSION => 7) WHERE true`},
		{"version behind a bare alias", `SELECT x.a FROM lake.main.t x`, same, 7, `SELECT x.a FROM lake.main.t x AT (VERSION => 7)`},
		{"version behind column names", `SELECT p FROM lake.main.t AS x(p, "q r") , lake.main.t`, same, 7, `SELECT p FROM lake.main.t AS x(p, "q r") AT (VERSION => 7) , lake.main.t AT (VERSION => 7)`},
		{"version with comments", "SELECT a FROM lake /* a.b */ . main -- c\n. t /* x /* y */ */ AS x", same, 7, "SELECT a FROM lake /* a.b */ . main -- c\n. t /* x /* y */ */ AS x AT (VERSION => 7)"},
		{"version, quoted", `SELECT a FROM "lake"."s"."My Table"`, other, 7, `SELECT a FROM "lake"."s"."My Table" AT (VERSION => 7)`},
		{"version, behind other letters", `SELECT 'äöü 漢字 😀' AS s, a FROM lake.main.t`, same, 7, `SELECT 'äöü 漢字 😀' AS s, a FROM lake.main.t AT (VERSION => 7)`},
		{"CTEs are not tables", `WITH t AS (SELECT a FROM lake.main.t) SELECT * FROM t, (SELECT a FROM t) q`, same, 7, `WITH t AS (SELECT a FROM lake.main.t AT (VERSION => 7)) SELECT * FROM t, (SELECT a FROM t) q`},
		{"everywhere", `SELECT (SELECT max(a) FROM lake.main.t) FROM range(3) WHERE EXISTS (FROM lake.main.t WHERE a IN (SELECT b FROM lake.main.t)) UNION ALL FROM lake.main.t SELECT a`, same, 7,
			`SELECT (SELECT max(a) FROM lake.main.t AT (VERSION => 7)) FROM range(3) WHERE EXISTS (FROM lake.main.t AT (VERSION => 7) WHERE a IN (SELECT b FROM lake.main.t AT (VERSION => 7))) UNION ALL FROM lake.main.t AT (VERSION => 7) SELECT a`},
		{"moved", `SELECT a FROM lake.main.t`, moved, 0, `SELECT a FROM (SELECT "a" AS "a", "b" AS "b" FROM "lake"."main"."t2") AS "t"`},
		{"moved, with an alias", `SELECT x.a FROM lake.main.t x`, moved, 7, `SELECT x.a FROM (SELECT "a" AS "a", "b" AS "b" FROM "lake"."main"."t2" AT (VERSION => 7)) x`},
		{"moved, qualified columns", `SELECT lake.main.t.a, main.t.b, t.a FROM lake.main.t`, moved, 0, `SELECT t.a, t.b, t.a FROM (SELECT "a" AS "a", "b" AS "b" FROM "lake"."main"."t2") AS "t"`},
		{"renamed", `SELECT t.b FROM lake.main.t`, renamed, 0, `SELECT t.b FROM (SELECT "a" AS "a", "new b" AS "b" FROM "lake"."s"."other t") AS "t"`},
		{"renamed, counted by position", `SELECT q FROM lake.main.t x(p, q)`, renamed, 0, `SELECT q FROM (SELECT * RENAME ("new b" AS "b") FROM "lake"."s"."other t") x(p, q)`},
		{"no column", `SELECT count(*) FROM lake.main.t`, reading("main", "t", "main", "t2", nil, nil), 0, `SELECT count(*) FROM (SELECT NULL AS vega_no_column FROM "lake"."main"."t2") AS "t"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := text.Read(t.Context(), c.query, []refresh.Reading{c.read}, c.version)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if got, err := text.Read(t.Context(), `SELECT a FROM lake.main.stranger`, []refresh.Reading{same}, 7); err == nil {
		t.Errorf("a table that is no source: %s", got)
	}
	if got, err := text.Read(t.Context(), `SELECT FROM`, []refresh.Reading{same}, 7); err == nil {
		t.Errorf("no query: %s", got)
	}
}
