package bind

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

var update = flag.Bool("update", false, "write the expected plans anew")

// corpus is a file of queries with their expected plans: blocks of a query, a line of dashes and the plan, with empty lines between. A
// block without dashes is a table, a view or a macro of the file's own. Lines that begin with # are for readers.
type corpus struct {
	file    string
	tables  []*plan.Source
	setup   []string // views and macros
	entries []*entry
	text    []string // the blocks, as they were
	at      []int    // each entry's block
}

type entry struct{ name, sql, want string }

// usual are the tables of files that have none of their own.
var usual = []string{
	`t(a INTEGER, b BIGINT, c VARCHAR, d DOUBLE, e DECIMAL(10,2), ts TIMESTAMP, tz TIMESTAMPTZ, dt DATE, s STRUCT(x INTEGER, y VARCHAR), l INTEGER[], n VARCHAR COLLATE nocase)`,
	`u(a INTEGER, b BIGINT, c VARCHAR, k INTEGER)`,
	`o(oid INTEGER, cid INTEGER, amt DECIMAL(18,2), note VARCHAR, ts TIMESTAMP)`,
	`cu(cid INTEGER, region VARCHAR, since TIMESTAMP)`,
}

func readCorpus(t testing.TB, file string) *corpus {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &corpus{file: file}
	for i, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		c.text = append(c.text, block)
		var body []string
		for _, line := range strings.Split(block, "\n") {
			if !strings.HasPrefix(line, "# ") {
				body = append(body, line)
			}
		}
		head, want, isQuery := strings.Cut(strings.Join(body, "\n")+"\n", "\n----\n")
		switch {
		case isQuery:
			c.entries = append(c.entries, &entry{fmt.Sprintf("%s/%d", strings.TrimSuffix(filepath.Base(file), ".txt"), len(c.entries)+1), head, want})
			c.at = append(c.at, i)
		case strings.HasPrefix(head, "create view ") || strings.HasPrefix(head, "create macro "):
			c.setup = append(c.setup, strings.TrimSpace(head))
		case strings.TrimSpace(head) != "":
			c.tables = append(c.tables, table(strings.TrimPrefix(strings.TrimSpace(head), "create table ")))
		}
	}
	if c.tables == nil {
		for _, u := range usual {
			c.tables = append(c.tables, table(u))
		}
	}
	return c
}

func (c *corpus) query(sql string) Query { return Query{SQL: sql, Sources: c.tables, Setup: c.setup} }

// write puts what was found into the file.
func (c *corpus) write(t *testing.T, got []string) {
	t.Helper()
	for i, block := range c.at {
		head, _, _ := strings.Cut(c.text[block], "\n----")
		c.text[block] = head + "\n----\n" + strings.TrimSuffix(got[i], "\n")
	}
	if err := os.WriteFile(c.file, []byte(strings.Join(c.text, "\n\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// table makes a source of "name(column type, …)".
func table(text string) *plan.Source {
	name, rest, _ := strings.Cut(text, "(")
	s := &plan.Source{Schema: "main", Name: strings.TrimSpace(name)}
	rest = strings.TrimSuffix(strings.TrimSpace(rest), ")")
	depth, start := 0, 0
	for i := 0; i <= len(rest); i++ {
		switch {
		case i == len(rest) || rest[i] == ',' && depth == 0:
			column, typ, _ := strings.Cut(strings.TrimSpace(rest[start:i]), " ")
			s.Columns = append(s.Columns, plan.TableColumn{ID: int64(len(s.Columns) + 1), Name: column, Type: row.MustType(typ)})
			start = i + 1
		case rest[i] == '(':
			depth++
		case rest[i] == ')':
			depth--
		}
	}
	return s
}

func newPlanner(t testing.TB) *Planner {
	t.Helper()
	p, err := NewPlanner(context.Background(), "lake")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func corpora(t testing.TB) []*corpus {
	t.Helper()
	files, err := filepath.Glob("testdata/plans/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var out []*corpus
	for _, f := range files {
		out = append(out, readCorpus(t, f))
	}
	return out
}

// TestPlans compares the plan of each query with the one that is written beside it.
func TestPlans(t *testing.T) {
	p := newPlanner(t)
	n := 0
	for _, c := range corpora(t) {
		var got []string
		for _, e := range c.entries {
			n++
			var text string
			pl, err := p.Plan(context.Background(), c.query(e.sql))
			if err != nil {
				text = "error: " + err.Error() + "\n"
			} else {
				text = pl.Text()
				for _, r := range pl.Reasons {
					text += "refused: " + r.String() + "\n"
				}
				if pl.Admitted() == strings.Contains(text, "refused: ") {
					t.Errorf("%s: admitted is not what the reasons say", e.name)
				}
			}
			text = strings.ReplaceAll(text, "\n\n", "\n")
			if got = append(got, text); text != e.want && !*update {
				t.Errorf("%s: %s\ngot:\n%swant:\n%s", e.name, e.sql, text, e.want)
			}
		}
		if *update {
			c.write(t, got)
		}
	}
	if n < 150 {
		t.Errorf("only %d queries", n)
	}
}

// moment is the clock of TestPlansMeanTheirQueries.
const moment = "1704110400000000"

// TestPlansMeanTheirQueries lets DuckDB run each query and its plan, written as SQL, over the same random rows.
func TestPlansMeanTheirQueries(t *testing.T) {
	p := newPlanner(t)
	ctx := context.Background()
	ran := 0
	for _, c := range corpora(t) {
		conn, run := openJudge(t)
		run("SET TimeZone = 'UTC'; ATTACH ':memory:' AS lake; USE lake")
		r := rand.New(rand.NewPCG(7, 11))
		for _, s := range c.tables {
			fillTable(r, s, 60, run)
		}
		for _, sql := range c.setup {
			run(sql)
		}
		for _, e := range c.entries {
			pl, err := p.Plan(ctx, c.query(e.sql))
			if err != nil || !pl.Admitted() || chooses(pl) {
				continue
			}
			tree, err := p.parse(ctx, e.sql)
			if err != nil {
				t.Fatal(err)
			}
			query := withClock(e.sql, tree, c.tables)
			query = strings.ReplaceAll(query, "$vega_now", moment)
			ours := strings.ReplaceAll(toSQL(pl.Root), "$vega_now", moment)
			rows, err := conn.Rows(ctx, "SELECT (SELECT count(*) FROM ("+query+")), (SELECT count(*) FROM (FROM ("+query+") EXCEPT ALL FROM ("+ours+"))), (SELECT count(*) FROM (FROM ("+ours+") EXCEPT ALL FROM ("+query+")))")
			if err != nil {
				if _, own := conn.Rows(ctx, query); own == nil { // else these rows are an error of the query itself
					t.Errorf("%s: %s\n%s\n%v", e.name, e.sql, ours, err)
				}
				continue
			}
			if ran++; rows[0][1] != int64(0) || rows[0][2] != int64(0) {
				t.Errorf("%s: %s\nof %v rows, %v are missing and %v are too many\n%s\n%s", e.name, e.sql, rows[0][0], rows[0][1], rows[0][2], pl.Text(), ours)
			}
		}
	}
	if t.Logf("%d queries ran", ran); ran < 120 {
		t.Errorf("only %d queries ran", ran)
	}
}

// chooses says that DuckDB's answer need not be ours.
func chooses(p *plan.Plan) bool {
	for _, i := range p.Nodes {
		if i.Choice {
			return true
		}
	}
	return false
}

func fillTable(r *rand.Rand, s *plan.Source, n int, run func(string)) {
	var cols, rows []string
	for _, c := range s.Columns {
		col := c.Name + " " + c.Type.String()
		if c.Type.Collation != "" {
			col += " COLLATE " + c.Type.Collation
		}
		cols = append(cols, col)
	}
	run("CREATE TABLE " + s.Name + " (" + strings.Join(cols, ", ") + ")")
	for range n {
		var vs []string
		for _, c := range s.Columns {
			vs = append(vs, randomValue(r, c.Type))
		}
		rows = append(rows, "("+strings.Join(vs, ", ")+")")
	}
	run("INSERT INTO " + s.Name + " VALUES " + strings.Join(rows, ", "))
}

func randomValue(r *rand.Rand, t row.Type) string {
	if r.IntN(8) == 0 {
		return "NULL"
	}
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	switch t.Kind {
	case row.Varchar:
		return pick("'x'", "'y'", "'X'", "'abz'", "'ABC'", "'EU'", "'1'", "'42'", "''")
	case row.Double:
		return pick("0", "0.5", "1", "2.25", "-3", "8")
	case row.Decimal:
		return pick("0", "1.25", "10.5", "11", "-2")
	case row.Timestamp, row.TimestampTZ:
		return fmt.Sprintf("TIMESTAMP '2024-01-01 00:00:00' + INTERVAL (%d) MINUTE", r.IntN(40)*36)
	case row.Date:
		return fmt.Sprintf("DATE '2024-01-01' + %d", r.IntN(3))
	case row.Struct:
		return fmt.Sprintf("{'x': %s, 'y': %s}", randomValue(r, t.Children[0]), randomValue(r, t.Children[1]))
	case row.Map:
		if r.IntN(3) == 0 {
			return "MAP {}::" + t.String()
		}
		return fmt.Sprintf("MAP {'a': %s, 'b': %s}", randomValue(r, t.Children[1]), randomValue(r, t.Children[1]))
	case row.List:
		var es []string
		for range r.IntN(4) {
			es = append(es, randomValue(r, t.Children[0]))
		}
		return "[" + strings.Join(es, ", ") + "]::" + t.String()
	}
	return fmt.Sprint(r.IntN(7))
}

// openJudge is a DuckDB that runs queries and plans alike. Like every lake's it does without join_filter_pushdown, which filters rows before
// a LIMIT takes its choice of them.
func openJudge(t *testing.T) (*duck.Conn, func(sql string)) {
	t.Helper()
	db, err := duck.Open("", duck.Options{Config: map[string]string{"disabled_optimizers": "join_filter_pushdown"}})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(conn.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	return conn, func(sql string) {
		t.Helper()
		if _, err := conn.Exec(context.Background(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}
