package streamcrash

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/integration/process"
)

// sources are the tables that writers change.
var sources = []string{
	"CREATE TABLE moves (k INTEGER, v BIGINT)",
	"CREATE TABLE items (k INTEGER, name VARCHAR)",
	"CREATE TABLE big (k INTEGER, g INTEGER)",
	"INSERT INTO moves SELECT i % 20, i FROM range(500) t(i)",
	"INSERT INTO items SELECT i, 'item ' || i FROM range(15) t(i)",
	"INSERT INTO big SELECT i % 1000, i % 97 FROM range(140000) t(i)",
}

// view is one of the world's views. Views come after those that they read.
type view struct {
	name        string
	traditional bool
	query       string
}

const weighed = "SELECT b.g, count(*) AS n, sum(m.v)::BIGINT AS s FROM big b JOIN moves m ON b.k = m.k GROUP BY b.g"

var views = []view{
	{"totals", false, "SELECT k, count(*) AS n, sum(v)::BIGINT AS s FROM moves GROUP BY k"},
	{"joined", false, "SELECT m.k, i.name, m.v FROM moves m JOIN items i ON m.k = i.k"},
	{"spread", false, "SELECT n, count(*) AS groups, max(s) AS top FROM totals GROUP BY n"},
	{"named", false, "SELECT t.k, i.name, t.s FROM totals t LEFT JOIN items i ON t.k = i.k"},
	{"weighed", false, weighed},
	{"whole", true, "SELECT n % 3 AS r, count(*) AS groups, sum(s)::BIGINT AS s FROM totals GROUP BY n % 3"},
	{"over", false, "SELECT w.r, w.s, i.name FROM whole w LEFT JOIN items i ON i.k = w.groups"},
}

func (v view) create() string {
	if v.traditional {
		return "CREATE MATERIALIZED VIEW " + v.name + " WITH (refresh_interval = '1s') AS " + v.query
	}
	return "CREATE STREAMING MATERIALIZED VIEW " + v.name + " WITH (checkpoint_interval = '200ms') AS " + v.query
}

// world is a plain DuckDB that is told everything that the lake is told.
type world struct {
	t    *testing.T
	conn *duck.Conn
	rnd  *rand.Rand

	unsure []string // statements that may have been committed, all or none of them
	writes int
	next   int
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{t: t, conn: process.Plain(t), rnd: rand.New(rand.NewPCG(seed, 1)), next: 1000}
	w.exec(sources...)
	for _, v := range views {
		w.exec("CREATE VIEW " + v.name + " AS " + v.query)
	}
	return w
}

func (w *world) exec(statements ...string) {
	w.t.Helper()
	for _, sql := range statements {
		if _, err := w.conn.Exec(context.Background(), sql); err != nil {
			w.t.Fatalf("%s: %v", sql, err)
		}
	}
}

// rows are a query's, as text, with how often each is there.
func (w *world) rows(query string) map[string]int {
	w.t.Helper()
	r, err := w.conn.Query(w.t.Context(), "SELECT COLUMNS(*)::VARCHAR FROM ("+query+")")
	if err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	defer r.Close()
	var rows [][]string
	for r.Next() {
		rows = append(rows, process.Rows(r.RecordBatch())...)
	}
	if err := r.Err(); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	return counted(rows)
}

func counted(rows [][]string) map[string]int {
	out := map[string]int{}
	for _, row := range rows {
		out[strings.Join(row, "|")]++
	}
	return out
}

// same compares what the server has under a name with what is right. It gives the difference, "" for none.
func (w *world) same(c *process.Client, name, query string) string {
	w.t.Helper()
	want, have := w.rows(query), counted(c.Must(w.t, "SELECT COLUMNS(*)::VARCHAR FROM "+name))
	if maps.Equal(want, have) {
		return ""
	}
	return fmt.Sprintf("%s: missing %.1500v, too much %.1500v", name, less(want, have), less(have, want))
}

func less(a, b map[string]int) map[string]int {
	out := map[string]int{}
	for row, n := range a {
		if n > b[row] {
			out[row] = n - b[row]
		}
	}
	return out
}

// operation is the next thing that the writer does: statements of one transaction.
func (w *world) operation() []string {
	k := w.rnd.IntN(20)
	switch w.rnd.IntN(10) {
	case 0, 1, 2:
		n := 1 + w.rnd.IntN(20)
		w.next += n
		return []string{fmt.Sprintf("INSERT INTO moves SELECT i %% 20, i FROM range(%d, %d) t(i)", w.next-n, w.next)}
	case 3:
		return []string{fmt.Sprintf("DELETE FROM moves WHERE k = %d AND v %% 3 = %d", k, w.rnd.IntN(3))}
	case 4, 5:
		return []string{fmt.Sprintf("UPDATE moves SET k = %d, v = v + 1 WHERE k = %d AND v %% 5 = %d", w.rnd.IntN(20), k, w.rnd.IntN(5))}
	case 6:
		return []string{fmt.Sprintf("UPDATE items SET name = name || '%d' WHERE k = %d", w.rnd.IntN(10), k), "UPDATE items SET name = 'short' WHERE length(name) > 20"}
	case 7:
		return []string{fmt.Sprintf("DELETE FROM items WHERE k = %d", k), fmt.Sprintf("INSERT INTO items VALUES (%d, 'new'), (%d, NULL)", k, w.rnd.IntN(20))}
	case 8:
		return []string{fmt.Sprintf("UPDATE big SET g = %d WHERE k = %d", w.rnd.IntN(97), w.rnd.IntN(40))}
	default:
		return []string{"DELETE FROM moves WHERE v < (SELECT max(v) - 3000 FROM moves)"}
	}
}

// heavy is an operation whose result is written as files.
func (w *world) heavy() []string {
	w.next += 6000
	return []string{fmt.Sprintf("INSERT INTO moves SELECT i %% 20, i FROM range(%d, %d) t(i)", w.next-6000, w.next)}
}

// write does an operation on the server, and when it is known to be committed, here.
func (w *world) write(ctx context.Context, c *process.Client, statements []string) error {
	w.unsure = statements
	if err := commit(ctx, c, statements); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(statements, "; "), err)
	}
	w.unsure = nil
	w.exec(statements...)
	w.writes++
	return nil
}

func commit(ctx context.Context, c *process.Client, statements []string) error {
	if len(statements) == 1 {
		_, err := c.Query(ctx, statements[0])
		return err
	}
	tx, err := c.BeginTransaction(ctx)
	if err != nil {
		return err
	}
	for _, sql := range statements {
		if _, err := tx.ExecuteUpdate(ctx, sql); err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}

// settle finds out what became of the operation whose answer was lost: the sources are as before it or as after it.
func (w *world) settle(c *process.Client) {
	w.t.Helper()
	differs := func() (out string) {
		for _, table := range []string{"moves", "items", "big"} {
			const sum = "SELECT count(*) AS n, sum(hash(t))::VARCHAR AS h FROM %s t"
			query := fmt.Sprintf(sum, table)
			if want, have := w.rows(query), counted(c.Must(w.t, "SELECT COLUMNS(*)::VARCHAR FROM ("+query+")")); !maps.Equal(want, have) {
				out += fmt.Sprintf("%s is %v and should be %v; ", table, have, want)
			}
		}
		return out
	}
	before := differs()
	if before != "" && len(w.unsure) > 0 {
		w.exec(w.unsure...)
		if after := differs(); after != "" {
			w.t.Fatalf("the sources are neither as before %q nor as after it: %s and %s", w.unsure, before, after)
		}
	} else if before != "" {
		w.t.Fatalf("the sources are not what was committed: %s", before)
	}
	w.unsure = nil
}

// status is a streaming view's.
type status struct{ state, reason, stale, version string }

func statuses(t *testing.T, c *process.Client) map[string]status {
	t.Helper()
	out := map[string]status{}
	for _, row := range c.Must(t, "SELECT view_name, state, coalesce(reason_code || ' ' || reason, ''), coalesce(stale_since::VARCHAR, ''), coalesce(version::VARCHAR, '') FROM vega.streaming_views") {
		out[row[0]] = status{row[1], row[2], row[3], row[4]}
	}
	return out
}

// fresh waits until streaming views run and reflect all that was committed: those of the names, or all.
func fresh(t *testing.T, c *process.Client, names ...string) map[string]status {
	t.Helper()
	var now map[string]status
	process.Until(t, "all views are fresh", func() bool {
		now = statuses(t, c)
		for name, s := range now {
			if (len(names) == 0 || slices.Contains(names, name)) && (s.state != "RUNNING" || s.stale != "") {
				return false
			}
		}
		return true
	}, func() any { return now })
	return now
}
