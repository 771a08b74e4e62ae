package ivmtest

import (
	"fmt"
	"strings"
)

// class is what kind of values an expression has, as far as queries care.
type class int

const (
	number class = iota
	text
	exact // DECIMAL
	date
	stamp
	truth
	list
	float // only passed on: never compared, ordered or grouped by
)

// columnTypes are the types of tables' columns.
var columnTypes = []struct {
	sql   string
	class class
}{
	{"INTEGER", number}, {"VARCHAR", text}, {"BIGINT", number}, {"DECIMAL(9,2)", exact}, {"DATE", date}, {"TIMESTAMP", stamp},
	{"BOOLEAN", truth}, {"SMALLINT", number}, {"DECIMAL(20,3)", exact}, {"UINTEGER", number}, {"HUGEINT", number}, {"INTEGER[]", list}, {"DOUBLE", float},
}

type schema struct{ tables []*genTable }

type genTable struct {
	name    string
	columns []genColumn
	time    string // the column of a watermark; "" is none
}

type genColumn struct {
	name, sql string
	class     class
}

func newSchema(t *tape) *schema {
	s := &schema{}
	for i := range 1 + t.n(3) {
		g := &genTable{name: fmt.Sprintf("t%d", i)}
		for c := range 2 + t.n(4) {
			k := t.n(len(columnTypes))
			if c == 0 {
				k = 0 // something to join by
			}
			g.columns = append(g.columns, genColumn{fmt.Sprintf("%c", 'a'+c), columnTypes[k].sql, columnTypes[k].class})
		}
		if t.chance(15) {
			for _, c := range g.columns {
				if c.class == stamp || c.class == date {
					g.time = c.name
				}
			}
		}
		s.tables = append(s.tables, g)
	}
	return s
}

func (g *genTable) ddl() string {
	var cols []string
	for _, c := range g.columns {
		cols = append(cols, c.name+" "+c.sql)
	}
	return fmt.Sprintf("CREATE TABLE %s (%s)", g.name, strings.Join(cols, ", "))
}

// literal is a value of a class, from few.
func literal(t *tape, c class) string {
	switch c {
	case number:
		return oneOf(t, "1", "2", "0", "3", "5", "4", "7", "100")
	case text:
		return oneOf(t, "'a'", "'b'", "''", "'A'", "'ab'", "'12'", "'a rather long text'", "'a rather long texT'", "'é'")
	case exact:
		return oneOf(t, "1.00", "0.50", "0.00", "2.25", "-1.50", "10.10")
	case date:
		return oneOf(t, "DATE '2024-01-01'", "DATE '2024-02-29'", "DATE '2023-12-31'", "DATE '1969-12-31'", "DATE '2024-01-02'")
	case stamp:
		return oneOf(t, "TIMESTAMP '2024-01-01 00:00:00'", "TIMESTAMP '2024-01-01 12:30:00'", "TIMESTAMP '2024-02-29 23:59:59.5'", "TIMESTAMP '1969-12-31 00:00:01'")
	case truth:
		return oneOf(t, "true", "false")
	case list:
		return oneOf(t, "[1]", "[1, 2]", "[]::INTEGER[]", "[NULL]::INTEGER[]", "[2, 2, NULL]")
	default:
		return oneOf(t, "0.5", "1.25", "-2.0", "0.0", "1024.0") + "::DOUBLE"
	}
}

// orNull is a literal or NULL.
func orNull(t *tape, c class) string {
	if t.chance(18) {
		return "NULL"
	}
	return literal(t, c)
}

// history draws what is done to tables.
type history struct {
	t *tape
	s *schema
}

func newHistory(t *tape, s *schema) *history { return &history{t, s} }

func (h *history) step() []string {
	var out []string
	for range 1 + h.t.n(3) {
		out = append(out, h.statement())
	}
	return out
}

func (h *history) statement() string {
	t := h.t
	g := h.s.tables[t.n(len(h.s.tables))]
	switch t.n(13) {
	default:
		return h.insert(g, 1+t.n(4))
	case 11:
		return h.merge(g)
	case 12:
		return clockTo + oneOf(t, "2024-01-01 00:30:00", "2024-01-01 12:30:00", "2024-01-01 13:30:00.000001", "2024-01-03 00:00:00", "2024-03-01 12:00:00")
	case 4, 5:
		return "DELETE FROM " + g.name + " WHERE " + h.where(g)
	case 6, 7:
		c := g.columns[t.n(len(g.columns))]
		return fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s", g.name, c.name, orNull(t, c.class), h.where(g))
	case 8:
		if t.chance(30) {
			return "DELETE FROM " + g.name
		}
		return h.insert(g, 6+t.n(20))
	case 9:
		return fmt.Sprintf("INSERT INTO %s SELECT DISTINCT * FROM %s WHERE %s", g.name, g.name, h.where(g))
	case 10:
		return h.bulk(g)
	}
}

func (h *history) insert(g *genTable, n int) string {
	var rows []string
	for range n {
		var vals []string
		for _, c := range g.columns {
			vals = append(vals, orNull(h.t, c.class))
		}
		rows = append(rows, "("+strings.Join(vals, ", ")+")")
	}
	return fmt.Sprintf("INSERT INTO %s VALUES %s", g.name, strings.Join(rows, ", "))
}

// clockTo begins a statement that moves the clock.
const clockTo = "-- clock "

// merge updates or deletes the rows of a key, or inserts one.
func (h *history) merge(g *genTable) string {
	t := h.t
	var vals []string
	for _, c := range g.columns {
		vals = append(vals, orNull(t, c.class))
	}
	c := g.columns[t.n(len(g.columns))]
	matched := fmt.Sprintf("UPDATE SET %s = %s", c.name, orNull(t, c.class))
	if t.chance(30) {
		matched = "DELETE"
	}
	return fmt.Sprintf("MERGE INTO %s USING (SELECT %s AS k) m ON %s.%s = m.k WHEN MATCHED THEN %s WHEN NOT MATCHED THEN INSERT VALUES (%s)",
		g.name, literal(t, g.columns[0].class), g.name, g.columns[0].name, matched, strings.Join(vals, ", "))
}

// bulk inserts rows whose columns step through a few values at different paces.
func (h *history) bulk(g *genTable) string {
	var vals []string
	for i, c := range g.columns {
		a, b := literal(h.t, c.class), orNull(h.t, c.class)
		vals = append(vals, fmt.Sprintf("CASE WHEN i %% %d = 0 THEN %s ELSE %s END", 2+i, a, b))
	}
	vals[0] = fmt.Sprintf("i %% %d", 3+h.t.n(40))
	return fmt.Sprintf("INSERT INTO %s SELECT %s FROM range(%d) r(i)", g.name, strings.Join(vals, ", "), 10+h.t.n(50))
}

func (h *history) where(g *genTable) string {
	t := h.t
	c := g.columns[t.n(len(g.columns))]
	if c.class == float || c.class == list {
		c = g.columns[0]
	}
	switch t.n(5) {
	case 1:
		return c.name + " IS NULL"
	case 2:
		return fmt.Sprintf("%s <> %s", c.name, literal(t, c.class))
	case 3:
		return fmt.Sprintf("%s > %s OR %s IS NULL", c.name, literal(t, c.class), c.name)
	case 4:
		return fmt.Sprintf("%s %% 2 = %d", g.columns[0].name, t.n(2))
	}
	return fmt.Sprintf("%s = %s", c.name, literal(t, c.class))
}
