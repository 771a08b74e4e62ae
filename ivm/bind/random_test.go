package bind

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// maker writes random queries whose answer the rows alone decide: all columns are integers c0, c1, …, and every order is total up to
// equal rows.
type maker struct {
	*rand.Rand
	made []made
}

// made is a query that was written before: some are written twice.
type made struct {
	sql     string
	columns int
}

func (m *maker) one(of ...string) string { return of[m.IntN(len(of))] }

func columnsOf(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%sc%d", prefix, i)
	}
	return out
}

func as(es []string) string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = fmt.Sprintf("%s AS c%d", e, i)
	}
	return strings.Join(out, ", ")
}

func (m *maker) pred(cols []string, depth int) string {
	c := m.one(cols...)
	if depth > 0 {
		switch m.IntN(4) {
		case 0:
			return "(" + m.pred(cols, depth-1) + " AND " + m.pred(cols, depth-1) + ")"
		case 1:
			return "(" + m.pred(cols, depth-1) + " OR " + m.pred(cols, depth-1) + ")"
		case 2:
			return "NOT (" + m.pred(cols, depth-1) + ")"
		}
	}
	op := m.one("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
	switch m.IntN(7) {
	case 0:
		return c + " IS" + m.one("", " NOT") + " NULL"
	case 1:
		return fmt.Sprintf("%s%s IN (%d, %d, %d)", c, m.one("", " NOT"), m.IntN(7), m.IntN(7), m.IntN(7))
	case 2:
		return fmt.Sprintf("%s BETWEEN %d AND %s", c, m.IntN(3), m.one(cols...))
	case 3:
		return fmt.Sprintf("%s %s %s", c, op, m.expr(cols, 1))
	}
	return fmt.Sprintf("%s %s %d", c, op, m.IntN(7))
}

func (m *maker) expr(cols []string, depth int) string {
	if depth == 0 || m.IntN(3) == 0 {
		return m.one(append(cols, strconv.Itoa(m.IntN(7)))...)
	}
	a, b := m.expr(cols, depth-1), m.expr(cols, depth-1)
	switch m.IntN(5) {
	case 0:
		return "(" + a + " + " + b + ")"
	case 1:
		return "(" + a + " % " + b + ")"
	case 2:
		return "coalesce(" + a + ", " + b + ")"
	case 3:
		return "CASE WHEN " + m.pred(cols, 0) + " THEN " + a + " ELSE " + b + " END"
	}
	return "(" + a + " - " + b + ")"
}

// rel is a query in parentheses and how many columns it has.
func (m *maker) rel(depth int) (string, int) {
	if depth > 0 && len(m.made) > 0 && m.IntN(4) == 0 {
		again := m.made[m.IntN(len(m.made))]
		return again.sql, again.columns
	}
	sql, n := m.fresh(depth)
	if depth > 0 {
		m.made = append(m.made, made{sql, n})
	}
	return sql, n
}

func (m *maker) fresh(depth int) (string, int) {
	if depth == 0 {
		return m.one(
			"(SELECT a AS c0, b::INTEGER AS c1, k AS c2 FROM u)",
			"(SELECT a AS c0, b::INTEGER AS c1 FROM t)",
			"(SELECT cid AS c0, oid AS c1 FROM o)",
			"(SELECT k AS c0, a AS c1, k AS c2 FROM u)"), 2
	}
	in, n := m.rel(depth - 1 - m.IntN(2)*m.IntN(depth))
	x := columnsOf("x.", n)
	all := strings.Join(x, ", ")
	switch m.IntN(15) {
	case 0:
		return "(SELECT " + as(x) + " FROM " + in + " x WHERE " + m.pred(x, 2) + ")", n
	case 1:
		es := []string{m.expr(x, 2), m.one(x...), m.expr(x, 1)}
		return "(SELECT " + as(es) + " FROM " + in + " x)", len(es)
	case 2, 3:
		other, k := m.rel(m.IntN(depth))
		y := columnsOf("y.", k)
		on := m.one(x...) + m.one(" = ", " = ", " = ", " IS NOT DISTINCT FROM ", " < ") + m.one(y...)
		if m.IntN(2) == 0 {
			on += " AND " + m.pred(append(x, y...), 1)
		}
		kind := m.one("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN")
		if kind == "FULL JOIN" {
			on = m.one(x...) + " = " + m.one(y...)
		}
		es := []string{m.one(x...), m.one(x...)}
		if !strings.Contains("SEMI JOIN ANTI JOIN", kind) {
			es = append(es, m.one(y...))
		}
		return "(SELECT " + as(es) + " FROM " + in + " x " + kind + " " + other + " y ON " + on + ")", len(es)
	case 4, 5:
		g := m.one(x...)
		es := []string{g, "count(*)::INTEGER", m.one("sum", "min", "max", "count", "any_value") + "(" + m.one("", "DISTINCT ") + m.one(x...) + ")::INTEGER"}
		es[2] = strings.Replace(es[2], "any_value", "max", 1)
		if m.IntN(3) == 0 {
			es[2] = "sum(" + m.one(x...) + ") FILTER (WHERE " + m.pred(x, 0) + ")::INTEGER"
		}
		having := ""
		if m.IntN(3) == 0 {
			having = " HAVING " + m.pred([]string{g, "count(*)", "max(" + m.one(x...) + ")"}, 1)
		}
		group := " GROUP BY " + g
		switch m.IntN(6) {
		case 0:
			return "(SELECT " + as(es[1:]) + " FROM " + in + " x" + having2(having, g) + ")", 2
		case 1:
			h := m.one(x...)
			group = " GROUP BY GROUPING SETS ((" + g + "), (" + h + "), ())"
			having = ""
			if g == h {
				group = " GROUP BY ROLLUP (" + g + ")"
			}
		}
		return "(SELECT " + as(es) + " FROM " + in + " x" + group + having + ")", 3
	case 6:
		return "(SELECT DISTINCT " + as(x) + " FROM " + in + " x)", n
	case 7:
		other, k := m.rel(m.IntN(depth))
		w := min(n, k)
		return "(SELECT " + as(x[:w]) + " FROM " + in + " x " + m.one("UNION ALL", "UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL") +
			" SELECT " + as(columnsOf("y.", k)[:w]) + " FROM " + other + " y)", w
	case 8:
		return fmt.Sprintf("(SELECT %s FROM %s x ORDER BY %s LIMIT %d OFFSET %d)", as(x), in, all, 3+m.IntN(20), m.IntN(3)), n
	case 9:
		f := m.one("row_number()", "sum("+m.one(x...)+")::INTEGER", "count(*)::INTEGER", "lag("+m.one(x...)+")", "rank()") + " OVER (PARTITION BY " + m.one(x...) + " ORDER BY " + all + ")"
		return "(SELECT " + as([]string{x[0], f + "::INTEGER", m.one(x...)}) + " FROM " + in + " x)", 3
	case 10:
		f := m.one("row_number", "rank") + "() OVER (PARTITION BY " + m.one(x...) + " ORDER BY " + all + ")"
		return fmt.Sprintf("(SELECT %s FROM %s x QUALIFY %s %s %d)", as(x), in, f, m.one("<=", "=", "<"), 1+m.IntN(3)), n
	case 11, 12:
		other, k := m.rel(m.IntN(depth))
		y := columnsOf("y.", k)
		where := ""
		if m.IntN(2) == 0 {
			where = " WHERE " + m.one(y...) + m.one(" = ", " < ", " IS NOT DISTINCT FROM ") + m.one(x...)
			if m.IntN(2) == 0 {
				where += " AND " + m.pred(y, 1)
			}
		}
		var sub string
		switch m.IntN(5) {
		case 0, 1:
			sub = m.one("", "NOT ") + "EXISTS (SELECT 1 FROM " + other + " y" + where + ")"
		case 2, 3:
			sub = m.one(x...) + m.one(" IN (", " NOT IN (", " > ANY (", " <= ALL (") + "SELECT " + m.one(y...) + " FROM " + other + " y" + where + ")"
		default:
			sub = m.one(x...) + m.one(" = ", " < ") + "(SELECT " + m.one("max", "count", "sum") + "(" + m.one(y...) + ") FROM " + other + " y" + where + ")"
		}
		if m.IntN(3) == 0 {
			return "(SELECT " + as([]string{x[0], "(" + sub + ")::INTEGER"}) + " FROM " + in + " x)", 2
		}
		if m.IntN(3) == 0 {
			sub = "(" + sub + m.one(" AND ", " OR ") + m.pred(x, 1) + ")"
		}
		return "(SELECT " + as(x) + " FROM " + in + " x WHERE " + sub + ")", n
	case 13:
		return "(WITH q AS " + in + " SELECT " + as([]string{"x.c0", "y." + columnsOf("", n)[m.IntN(n)]}) + " FROM q x " + m.one("JOIN", "LEFT JOIN") + " q y ON x.c0 = y." + columnsOf("", n)[m.IntN(n)] + ")", 2
	}
	return "(SELECT " + as([]string{x[0], "unnest([" + m.one(x...) + ", " + m.one(x...) + "])"}) + " FROM " + in + " x)", 2
}

// having2 makes a HAVING without groups of one with a group.
func having2(having, group string) string {
	return strings.ReplaceAll(having, " "+group+" ", " count(*) ")
}

// TestRandomPlansMeanTheirQueries does what TestPlansMeanTheirQueries does with random queries. VEGA_PLANS is how many.
func TestRandomPlansMeanTheirQueries(t *testing.T) {
	count := 150
	if n, err := strconv.Atoi(os.Getenv("VEGA_PLANS")); err == nil {
		count = n
	}
	seed := uint64(1)
	if n, err := strconv.ParseUint(os.Getenv("VEGA_SEED"), 10, 64); err == nil {
		seed = n
	}
	p := newPlanner(t)
	ctx := context.Background()
	conn, run := openJudge(t)
	run("ATTACH ':memory:' AS lake; USE lake")
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 5))}
	c := readCorpus(t, "testdata/plans/scan.txt")
	for _, s := range c.tables {
		fillTable(m.Rand, s, 25, run)
	}
	compared, refused, shared := 0, 0, 0
	for i := range count {
		m.made = nil
		sql, _ := m.rel(1 + m.IntN(4))
		sql = strings.TrimSuffix(strings.TrimPrefix(sql, "("), ")")
		pl, err := p.Plan(ctx, c.query(sql))
		if err != nil {
			if _, own := conn.Rows(ctx, "SELECT count(*) FROM ("+sql+")"); own == nil {
				t.Errorf("%d: %s: %v", i, sql, err)
			}
			continue
		}
		if !pl.Admitted() {
			refused++
			t.Errorf("%d: %s\nis refused: %v", i, sql, pl.Reasons)
			continue
		}
		if strings.Contains(pl.Text(), "shared") {
			shared++
		}
		ours := toSQL(pl.Root)
		rows, err := conn.Rows(ctx, "SELECT (SELECT count(*) FROM (FROM ("+sql+") EXCEPT ALL FROM ("+ours+"))), (SELECT count(*) FROM (FROM ("+ours+") EXCEPT ALL FROM ("+sql+")))")
		if err != nil {
			if _, own := conn.Rows(ctx, sql); own == nil {
				t.Errorf("%d: %s\n%s\n%v", i, sql, ours, err)
			}
			continue
		}
		if compared++; rows[0][0] != int64(0) || rows[0][1] != int64(0) {
			t.Errorf("%d: %s\n%v rows are missing and %v are too many\n%s", i, sql, rows[0][0], rows[0][1], pl.Text())
		}
	}
	t.Logf("%d compared, %d refused, %d with shared parts", compared, refused, shared)
	if shared == 0 {
		t.Error("no query had a part twice")
	}
}
