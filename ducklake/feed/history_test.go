package feed_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/feed"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// column is a column of a table under test. The oracle keeps all that there ever were, under names that stay.
type column struct {
	key   string // the oracle's name
	name  string // the lake's, now
	typ   string // the oracle's type, the widest it will have
	lake  string // the lake's, now
	def   string // what rows older than it have
	fill  string // a value made of i
	id    int64  // the lake's
	gone  bool
	fixed bool // is not dropped
}

// subject is a table under test.
type subject struct {
	key     string // the oracle's name
	name    string // the lake's, now
	columns []*column
	added   int
	at      map[int64]bool // snapshots that the oracle has a copy for
	begin   int64
}

// history makes random changes to tables of a lake, and the same to the oracle.
type history struct {
	*lab
	r       *rand.Rand
	tables  []*subject
	begin   int64
	next    int // numbers that rows are made of
	files   int
	alter   bool
	rewrite bool
	other   *duck.Conn // commits beside, so that transactions are retried
	did     map[string]int
	foreign func(sql string) error // commits a statement from elsewhere; nil for none
}

func newHistory(b *lab, seed uint64, inlining []int) *history {
	h := &history{lab: b, r: rand.New(rand.NewPCG(seed, 7)), did: map[string]int{}, next: 1}
	h.other = b.connect()
	for i, limit := range inlining {
		h.create(fmt.Sprintf("t%d", i), limit)
	}
	h.begin = b.head()
	for _, s := range h.tables {
		h.keep(s, h.begin)
	}
	return h
}

func (h *history) create(name string, limit int) {
	s := &subject{key: name, name: name, at: map[int64]bool{}}
	s.columns = []*column{
		{key: "k", name: "k", typ: "BIGINT", lake: "INTEGER", fill: "i", fixed: true},
		{key: "s", name: "s", typ: "VARCHAR", lake: "VARCHAR", fill: `CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'it''s "q" ' || i WHEN 3 THEN 'A' WHEN 4 THEN 'a' WHEN 5 THEN 'a ' ELSE 'ünï ' || chr((i % 50 + 1)::INTEGER) END`, fixed: true},
		{key: "d", name: "d", typ: "DECIMAL(18,2)", lake: "DECIMAL(18,2)", fill: "(i % 1000)::DECIMAL(18,2) / 4"},
		{key: "ts", name: "ts", typ: "TIMESTAMP", lake: "TIMESTAMP", fill: "TIMESTAMP '1969-12-31 23:59:59.5' + to_seconds(i * 1000)"},
		{key: "da", name: "da", typ: "DATE", lake: "DATE", fill: "DATE '2020-01-01' + (i % 100)::INTEGER"},
		{key: "f", name: "f", typ: "DOUBLE", lake: "DOUBLE", fill: "CASE i % 5 WHEN 0 THEN 'Infinity'::DOUBLE ELSE i / 3.0 END"},
		{key: "b", name: "b", typ: "BOOLEAN", lake: "BOOLEAN", fill: "i % 3 = 0"},
		{key: "l", name: "l", typ: "BIGINT[]", lake: "BIGINT[]", fill: "CASE i % 4 WHEN 0 THEN NULL ELSE [i, NULL, -i] END"},
		{key: "st", name: "st", typ: "STRUCT(x BIGINT, y VARCHAR)", lake: "STRUCT(x BIGINT, y VARCHAR)", fill: "{'x': i, 'y': 'n' || i}"},
		{key: "bl", name: "bl", typ: "BLOB", lake: "BLOB", fill: `CASE i % 3 WHEN 0 THEN '\x00\xFF'::BLOB ELSE encode('b' || i) END`},
	}
	var lake, model []string
	for _, c := range s.columns {
		lake, model = append(lake, c.name+" "+c.lake), append(model, c.key+" "+c.typ)
	}
	h.do("CREATE TABLE lake.main." + name + " (" + strings.Join(lake, ", ") + ")")
	h.do(fmt.Sprintf("CALL lake.set_option('data_inlining_row_limit', %d, table_name => '%s')", limit, name))
	h.ask("CREATE TABLE " + s.key + " (" + strings.Join(model, ", ") + ")")
	h.identify(s)
	h.tables = append(h.tables, s)
}

// identify reads the ids that the lake gave to the columns.
func (h *history) identify(s *subject) {
	t := h.table(s.name)
	s.begin = t.Begin
	for _, c := range s.columns {
		if c.gone {
			continue
		}
		info, ok := t.Column(c.name)
		if !ok {
			h.t.Fatalf("no column %s in %s", c.name, s.name)
		}
		c.id = info.ID
	}
}

// keep copies a table as it is at a snapshot.
func (h *history) keep(s *subject, at int64) {
	if !s.at[at] {
		h.ask(fmt.Sprintf("CREATE TABLE %s_%d AS FROM %s", s.key, at, s.key))
		s.at[at] = true
	}
}

// version is the oracle's copy of a table at a snapshot.
func (s *subject) version(at int64) string {
	for ; !s.at[at]; at-- {
	}
	return fmt.Sprintf("%s_%d", s.key, at)
}

// content is the table at a snapshot in the columns of a reader.
func (h *history) content(s *subject, r *feed.Reader, at int64) string {
	had := map[string]bool{}
	for _, v := range h.ask("SELECT column_name FROM duckdb_columns() WHERE table_name = ?", s.version(at)) {
		had[v[0].(string)] = true
	}
	var list []string
	for _, want := range r.Columns() {
		for _, c := range s.columns {
			if c.id == want.ID {
				e := c.key
				if !had[c.key] {
					e = "NULL"
					if c.def != "" {
						e = c.def
					}
				}
				list = append(list, fmt.Sprintf("CAST(%s AS %s) AS %s", e, want.SQLType(), metadata.QuoteIdent(want.Name)))
			}
		}
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + s.version(at)
}

// both writes a statement for the lake and for the oracle. $T is the table, $k… its columns.
func (s *subject) both(text string) (lake, oracle string) {
	lake = strings.ReplaceAll(text, "$T", "lake.main."+s.name)
	oracle = strings.ReplaceAll(text, "$T", s.key)
	for _, c := range s.columns {
		lake = strings.ReplaceAll(lake, "$"+c.key+"$", c.name)
		oracle = strings.ReplaceAll(oracle, "$"+c.key+"$", c.key)
	}
	return lake, oracle
}

// rows is a SELECT of n new rows in all columns that the table has.
func (h *history) rows(s *subject, n int) (text string) {
	from := h.next
	h.next += n
	return s.rowsFrom(from, n)
}

func (s *subject) list() string {
	var out []string
	for _, c := range s.columns {
		if !c.gone {
			out = append(out, "$"+c.key+"$")
		}
	}
	return strings.Join(out, ", ")
}

func (s *subject) rowsFrom(from, n int) string {
	var out []string
	for _, c := range s.columns {
		if !c.gone {
			out = append(out, "CAST("+c.fill+" AS "+c.lake+") AS $"+c.key+"$")
		}
	}
	return fmt.Sprintf("SELECT %s FROM (SELECT unnest(range(%d, %d)) AS i)", strings.Join(out, ", "), from, from+n)
}

// statement is a random change of rows.
func (h *history) statement(s *subject) (name, text string) {
	m := 2 + h.r.IntN(9)
	where := fmt.Sprintf("$k$ %% %d = %d", m, h.r.IntN(m))
	few := fmt.Sprintf("$k$ BETWEEN %d AND %d", h.r.IntN(h.next), h.r.IntN(h.next))
	if h.r.IntN(3) > 0 {
		lo := h.r.IntN(h.next)
		few = fmt.Sprintf("$k$ BETWEEN %d AND %d", lo, lo+h.r.IntN(4))
	}
	switch p := h.r.IntN(100); {
	case p < 22:
		return "insert few", "INSERT INTO $T (" + s.list() + ") " + h.rows(s, 1+h.r.IntN(4))
	case p < 40:
		return "insert many", "INSERT INTO $T (" + s.list() + ") " + h.rows(s, 12+h.r.IntN(40))
	case p < 52:
		return "delete few", "DELETE FROM $T WHERE " + few
	case p < 62:
		return "delete many", "DELETE FROM $T WHERE " + where
	case p < 74:
		return "update few", "UPDATE $T SET $s$ = 'u' || $k$, $k$ = $k$ + 1 WHERE " + few
	case p < 82:
		return "update many", "UPDATE $T SET $s$ = concat($s$, '+') WHERE " + where
	case p < 85:
		return "delete all", "DELETE FROM $T"
	case p < 88:
		return "truncate", "TRUNCATE $T"
	case p < 91:
		return "delete nothing", "DELETE FROM $T WHERE $k$ < -1"
	}
	from := h.r.IntN(h.next)
	action := []string{"UPDATE SET $s$ = 'm' || n.$k$", "DELETE"}[h.r.IntN(2)]
	return "merge", "MERGE INTO $T USING (SELECT * FROM (" + s.rowsFrom(from, 1+h.r.IntN(25)) + ") WHERE $k$ NOT IN (SELECT $k$ FROM $T GROUP BY 1 HAVING count(*) > 1)) n ON $T.$k$ = n.$k$" +
		" WHEN MATCHED THEN " + action + " WHEN NOT MATCHED THEN INSERT (" + s.list() + ") VALUES (n." + strings.ReplaceAll(s.list(), ", ", ", n.") + ")"
}
