package ivm_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
)

// shapes are queries without state over one table.
var shapes = map[string]string{
	"identity":  `SELECT * FROM lake.main.src`,
	"filtered":  `SELECT id, name FROM lake.main.src WHERE score >= 40`,
	"projected": `SELECT id % 3 AS g, upper(name) AS name, score * 2.5 AS s, score::DOUBLE / 3 AS d FROM lake.main.src`,
	"unnested":  `SELECT id, unnest(tags) AS tag FROM lake.main.src WHERE score < 80`,
}

// happenings are what may happen to the table; n is another number each time.
var happenings = []struct {
	name string
	do   func(s *server, n int)
}{
	{"append", func(s *server, n int) {
		s.exec(fmt.Sprintf(`INSERT INTO src SELECT %d + i, 'row ' || i, (i * 37) %% 100, [i, i + 1] FROM range(5) r(i)`, 1000*n))
	}},
	{"append many", func(s *server, n int) {
		s.exec(fmt.Sprintf(`INSERT INTO src SELECT %d + i, 'many ' || (i %% 50), (i * 37) %% 100, [i %% 4] FROM range(3000) r(i)`, 100000*n))
	}},
	{"append twins", func(s *server, _ int) { s.exec(`INSERT INTO src SELECT * FROM src WHERE id % 2 = 0 LIMIT 3`) }},
	{"delete", func(s *server, n int) { s.exec(fmt.Sprintf(`DELETE FROM src WHERE id %% 5 = %d`, n%5)) }},
	{"update", func(s *server, n int) {
		s.exec(fmt.Sprintf(`UPDATE src SET score = score + 11 WHERE id %% 4 = %d`, n%4))
	}},
	{"merge", func(s *server, n int) {
		s.exec(fmt.Sprintf(`MERGE INTO src USING (SELECT 2 AS id, 'merged' AS name, %d AS score UNION ALL SELECT -%d, 'new', 50) AS c ON src.id = c.id
			WHEN MATCHED THEN UPDATE SET name = c.name, score = c.score WHEN NOT MATCHED THEN INSERT VALUES (c.id, c.name, c.score, NULL)`, n%100, n))
	}},
	{"flush", func(s *server, _ int) { s.query(`CALL ducklake_flush_inlined_data('lake')`) }},
	{"compact", func(s *server, _ int) { s.query(`CALL ducklake_merge_adjacent_files('lake')`) }},
	{"truncate", func(s *server, _ int) { s.exec(`DELETE FROM src`) }},
}

// TestIncrementalRefresh lets things happen to a table, in random order, and compares views after each refresh with DuckDB's answer.
func TestIncrementalRefresh(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		s.exec(`CREATE TABLE src (id BIGINT, name VARCHAR, score INTEGER, tags INTEGER[])`,
			`INSERT INTO src SELECT i, 'n' || i, (i * 7) % 100, [i % 3, i % 3, NULL] FROM range(40) r(i)`)
		for name, query := range shapes {
			s.run(`CREATE MATERIALIZED VIEW ` + name + ` AS ` + query)
		}
		random := rand.New(rand.NewPCG(7, uint64(k)))
		modes := map[string]int{}
		for n := 1; n <= 60; n++ {
			what := ""
			for range 1 + random.IntN(2) {
				h := happenings[random.IntN(len(happenings))]
				h.do(s, n)
				what += " " + h.name
			}
			for name, query := range shapes {
				if random.IntN(4) == 0 {
					continue // it takes several happenings at once
				}
				r := s.run(`REFRESH MATERIALIZED VIEW ` + name)[0]
				modes[r["mode"]]++
				if r["mode"] == "rebuild" {
					t.Errorf("after%s, %s was rebuilt: %v", what, name, r)
				}
				if d := s.difference("lake.main."+name, query); d != "0" {
					t.Fatalf("after%s, refresh %d of %s: %s", what, n, name, d)
				}
			}
		}
		if modes["incremental"] < 50 {
			t.Errorf("modes: %v", modes)
		}
		s.clean()
	})
}

// TestWhatARefreshWrites counts as a client is told.
func TestWhatARefreshWrites(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE src (id BIGINT, name VARCHAR, score INTEGER, tags INTEGER[])`, `INSERT INTO src VALUES (1, 'a', 50, NULL), (2, 'b', 20, NULL)`)
	s.run(`CREATE MATERIALIZED VIEW v AS ` + shapes["filtered"])
	for _, c := range []struct{ sql, mode, rows string }{
		{`INSERT INTO src VALUES (3, 'c', 90, NULL), (4, 'd', 1, NULL)`, "incremental", "1"},
		{`INSERT INTO src VALUES (5, 'e', 2, NULL)`, "incremental", "0"}, // nothing matches; the version moves on
		{`UPDATE src SET name = 'z' WHERE id = 3`, "incremental", "1"},
		{`DELETE FROM src WHERE id = 1`, "incremental", "0"},
		{`SELECT 1`, "no_op", "0"},
		{`ALTER TABLE src ADD COLUMN more INTEGER`, "no_op", "0"},
		{`INSERT INTO src VALUES (6, 'f', 77, NULL, 1)`, "incremental", "1"},
	} {
		s.exec(c.sql)
		r := s.run(`REFRESH MATERIALIZED VIEW v`)[0]
		if r["mode"] != c.mode || r["rows_written"] != c.rows {
			t.Errorf("%s: %v, want %s of %s rows", c.sql, r, c.mode, c.rows)
		}
		s.matches("lake.main.v", shapes["filtered"])
	}
	if r := s.run(`REFRESH MATERIALIZED VIEW v WITH (full = true)`)[0]; r["mode"] != "rebuild" || r["rows_written"] != "2" {
		t.Errorf("full: %v", r)
	}
	s.clean()
}

// TestWhatIsRebuilt are the refreshes that cannot go on from what there is.
func TestWhatIsRebuilt(t *testing.T) {
	s := start(t, laketest.NewPlace(t, laketest.DuckDB), options{})
	s.exec(`CREATE TABLE src (id BIGINT, name VARCHAR, score INTEGER, tags INTEGER[])`, `INSERT INTO src VALUES (1, 'a', 50, NULL), (2, 'b', 20, NULL)`,
		`CREATE TABLE two (id BIGINT)`, `INSERT INTO two VALUES (1)`)
	rebuilt := func(view, query string) {
		t.Helper()
		if r := s.run(`REFRESH MATERIALIZED VIEW ` + view)[0]; r["mode"] != "rebuild" {
			t.Errorf("%s: %v", view, r)
		}
		s.matches("lake.main."+view, query)
	}
	for view, query := range map[string]string{
		"summed":   `SELECT count(*) AS n FROM lake.main.src`,
		"joined":   `SELECT src.id FROM lake.main.src JOIN lake.main.two USING (id)`,
		"chosen":   `SELECT id FROM lake.main.src ORDER BY id LIMIT 1`,
		"volatile": `SELECT id, random() < 2 AS r FROM lake.main.src`,
	} {
		s.run(`CREATE MATERIALIZED VIEW ` + view + ` AS ` + query)
		s.exec(`INSERT INTO src VALUES (-9, 'x', 1, NULL)`)
		rebuilt(view, query)
	}
	query := shapes["filtered"]
	s.run(`CREATE MATERIALIZED VIEW v AS ` + query)
	old := s.run(`REFRESH MATERIALIZED VIEW v`)[0]["source_version"]
	s.query(`INSERT INTO lake.main.v VALUES (99, 'by somebody else')`)
	s.exec(`INSERT INTO src VALUES (10, 'y', 99, NULL)`)
	rebuilt("v", query)
	if r := s.run(`REFRESH MATERIALIZED VIEW v WITH (source_version = ` + old + `)`)[0]; r["mode"] != "rebuild" {
		t.Errorf("back to an older version: %v", r)
	}
	if r := s.run(`REFRESH MATERIALIZED VIEW v`)[0]; r["mode"] != "incremental" {
		t.Errorf("forward again: %v", r)
	}
	s.matches("lake.main.v", query)
	// A row without a value fails a refresh as it does the query.
	s.run(`CREATE MATERIALIZED VIEW cast_names AS SELECT id, name::INTEGER AS n FROM lake.main.src WHERE id > 100`)
	s.exec(`INSERT INTO src VALUES (101, '7', 1, NULL)`)
	if r := s.run(`REFRESH MATERIALIZED VIEW cast_names`)[0]; r["mode"] != "incremental" {
		t.Errorf("a good row: %v", r)
	}
	s.exec(`INSERT INTO src VALUES (102, 'seven', 1, NULL)`)
	s.fails(fault.SQLError, `REFRESH MATERIALIZED VIEW cast_names`)
	s.exec(`DELETE FROM src WHERE id = 102`)
	if r := s.run(`REFRESH MATERIALIZED VIEW cast_names`)[0]; r["mode"] != "incremental" {
		t.Errorf("the bad row is gone: %v", r)
	}
	s.matches("lake.main.cast_names", `SELECT id, name::INTEGER AS n FROM lake.main.src WHERE id > 100`)
	s.clean()
}
