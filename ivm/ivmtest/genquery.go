package ivmtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// generator draws a query that leaves no choice: what has an order has a total one.
type generator struct {
	t     *tape
	s     *schema
	names int
	with  []string   // CTEs
	made  []relation // queries in FROM, which may come again
	cols  []column   // of the view
}

// refers finds a column in an expression.
var refers = regexp.MustCompile(`\br[0-9]+\.`)

func newGenerator(t *tape, s *schema) *generator { return &generator{t: t, s: s} }

func (g *generator) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

// relation is a query with named columns.
type relation struct {
	sql  string
	cols []column // ref is the bare name
}

// over draws a query over another view.
func (g *generator) over(view string, cols []column) string {
	s := &schema{tables: slices.Clone(g.s.tables)}
	t := &genTable{name: view}
	for _, c := range cols {
		if c.class != float {
			t.columns = append(t.columns, genColumn{name: c.ref, class: c.class})
		}
	}
	if len(t.columns) == 0 {
		return ""
	}
	s.tables = append([]*genTable{t}, s.tables...)
	next := newGenerator(g.t, s)
	next.names = g.names
	sql := next.view()
	if !strings.Contains(sql, view+" r") {
		return ""
	}
	return sql
}

// view draws the whole query.
func (g *generator) view() string {
	r := g.query(1 + g.t.n(3))
	g.cols = r.cols
	if len(g.with) > 0 {
		return "WITH " + strings.Join(g.with, ",\n") + "\n" + r.sql
	}
	return r.sql
}

// query draws a query that nests so deep.
func (g *generator) query(depth int) relation {
	switch g.t.n(11) {
	case 1, 2, 3:
		return g.aggregate(depth)
	case 4:
		return g.distinct(depth)
	case 5, 6:
		return g.setOperation(depth)
	case 7, 8:
		return g.window(depth)
	case 9:
		return g.topK(depth)
	case 10:
		return g.unnest(depth)
	}
	return g.plain(depth)
}

// from is a FROM clause with its columns.
func (g *generator) from(depth int) (string, []column) {
	sql, scope := g.item(depth)
	for range g.joins() {
		switch g.t.n(20) {
		case 18:
			join, more := g.lateral(scope)
			sql, scope = sql+join, append(slices.Clone(scope), more...)
			continue
		case 19:
			if join, more, ok := g.asOf(scope); ok {
				sql, scope = sql+join, append(slices.Clone(scope), more...)
				continue
			}
		}
		right, more := g.item(depth - 1)
		kind := oneOf(g.t, "JOIN", "LEFT JOIN", "FULL JOIN", "RIGHT JOIN", "SEMI JOIN", "ANTI JOIN", "CROSS JOIN")
		if kind == "CROSS JOIN" {
			sql += " CROSS JOIN " + right
			scope = append(slices.Clone(scope), more...)
			continue
		}
		sql += " " + kind + " " + right + " ON " + g.on(scope, more, kind)
		if kind != "SEMI JOIN" && kind != "ANTI JOIN" {
			scope = append(slices.Clone(scope), more...)
		}
	}
	return sql, scope
}

// lateral is a query in FROM that knows the rows before it.
func (g *generator) lateral(outer []column) (string, []column) {
	from, scope := g.item(0)
	c := g.comparable(outer)
	where := fmt.Sprintf("%s %s %s", g.expr(scope, c, 0), oneOf(g.t, "=", "=", "<", ">="), g.expr(outer, c, 0))
	alias, name := g.name("r"), g.name("x")
	call := oneOf(g.t, "count(*)", "max("+g.expr(scope, number, 0)+")", "sum("+g.expr(scope, number, 1)+")")
	return fmt.Sprintf(" %s LATERAL (SELECT %s AS %s FROM %s WHERE %s) %s ON true", oneOf(g.t, "JOIN", "LEFT JOIN"), call, name, from, where, alias),
		[]column{{alias + "." + name, number}}
}

// asOf joins each row with the nearest of a relation whose rows differ in what decides.
func (g *generator) asOf(left []column) (string, []column, bool) {
	inner, in := g.item(0)
	c := g.comparable(in)
	a, ok := g.columnOf(left, c)
	b, also := g.columnOf(in, c)
	k, third := g.columnOf(left, number)
	l, fourth := g.columnOf(in, number)
	if !ok || !also || !third || !fourth || c == text {
		return "", nil, false
	}
	alias := g.name("r")
	key, at, n := g.name("x"), g.name("x"), g.name("x")
	return fmt.Sprintf(" ASOF %s (SELECT %s AS %s, %s AS %s, count(*) AS %s FROM %s GROUP BY ALL) %s ON %s = %s.%s AND %s %s %s.%s",
			oneOf(g.t, "JOIN", "LEFT JOIN"), l, key, b, at, n, inner, alias, k, alias, key, a, oneOf(g.t, ">=", ">", "<=", "<"), alias, at),
		[]column{{alias + "." + key, number}, {alias + "." + at, c}, {alias + "." + n, number}}, true
}

func (g *generator) joins() int { return oneOf(g.t, 0, 1, 0, 1, 2) }

// on is a join's condition.
func (g *generator) on(left, right []column, kind string) string {
	c := g.comparable(right)
	a, ok := g.columnOf(left, c)
	b, also := g.columnOf(right, c)
	if !ok || !also {
		c = number
		a, b = g.expr(left, c, 1), g.expr(right, c, 0)
	}
	op := "="
	if g.t.chance(12) {
		op = "IS NOT DISTINCT FROM"
	}
	on := fmt.Sprintf("%s %s %s", a, op, b)
	if kind != "FULL JOIN" && g.t.chance(30) {
		k := g.comparable(left)
		on += fmt.Sprintf(" AND %s %s %s", g.expr(left, k, 1), oneOf(g.t, "<", ">=", "<>"), g.expr(right, k, 0))
	}
	if g.t.chance(15) {
		on += " AND " + g.pred(right, 1, 0)
	}
	return on
}

// item is one relation of a FROM clause: a table, a query, or a CTE that is used again.
func (g *generator) item(depth int) (string, []column) {
	alias := g.name("r")
	if depth <= 0 || g.t.n(3) < 2 {
		t := g.s.tables[g.t.n(len(g.s.tables))]
		var scope []column
		for _, c := range t.columns {
			scope = append(scope, column{alias + "." + c.name, c.class})
		}
		return t.name + " " + alias, scope
	}
	var r relation
	if len(g.made) > 0 && g.t.chance(15) {
		r = oneOf(g.t, g.made...)
	} else {
		r = g.query(depth - 1)
		g.made = append(g.made, r)
	}
	var scope []column
	for _, c := range r.cols {
		scope = append(scope, column{alias + "." + c.ref, c.class})
	}
	if g.t.chance(20) { // twice: one plan for both, also when it is written out
		cte, other := "("+r.sql+")", g.name("r")
		if g.t.chance(50) {
			cte = g.name("w")
			g.with = append(g.with, cte+" AS ("+r.sql+")")
		}
		if k := slices.IndexFunc(r.cols, func(c column) bool { return c.class != float && c.class != list }); k >= 0 {
			on := fmt.Sprintf("%s.%s = %s.%s", alias, r.cols[k].ref, other, r.cols[k].ref)
			for _, c := range r.cols {
				scope = append(scope, column{other + "." + c.ref, c.class})
			}
			return fmt.Sprintf("%s %s %s %s %s ON %s", cte, alias, oneOf(g.t, "JOIN", "LEFT JOIN"), cte, other, on), scope
		}
		return cte + " " + alias, scope
	}
	return "(" + r.sql + ") " + alias, scope
}

// where is a WHERE clause, or none.
func (g *generator) where(scope []column, depth int) string {
	if g.t.chance(55) {
		return " WHERE " + g.pred(scope, 2, depth)
	}
	if at, ok := g.columnOf(scope, stamp); ok && g.t.chance(12) { // the clock decides
		return " WHERE CAST(" + at + " AS TIMESTAMPTZ) " + oneOf(g.t, ">", ">=", "<", "<=") + " now() " + oneOf(g.t, "", "- INTERVAL 1 HOUR", "+ INTERVAL 1 DAY")
	}
	return ""
}

// selected draws columns of a result.
func (g *generator) selected(scope []column, few int, floats bool) (items []string, cols []column) {
	for range 1 + g.t.n(few) {
		c := scope[g.t.n(len(scope))]
		e := c.ref
		switch {
		case c.class == float && !floats:
			c.class = number
			e = g.expr(scope, number, 1)
		case c.class != float && g.t.chance(35):
			e = g.expr(scope, c.class, 2)
		}
		name := g.name("x")
		items = append(items, e+" AS "+name)
		cols = append(cols, column{name, c.class})
	}
	return items, cols
}

func (g *generator) plain(depth int) relation {
	from, scope := g.from(depth - 1)
	items, cols := g.selected(scope, 4, true)
	if g.t.chance(12) { // a scalar subquery
		inner, in := g.from(0)
		k := g.comparable(scope)
		name := g.name("x")
		items = append(items, fmt.Sprintf("(SELECT %s FROM %s WHERE %s = %s) AS %s",
			oneOf(g.t, "count(*)", "sum("+g.expr(in, number, 0)+")", "max("+g.expr(in, number, 0)+")"), inner, g.expr(in, k, 0), g.expr(scope, k, 0), name))
		cols = append(cols, column{name, number})
	}
	return relation{"SELECT " + strings.Join(items, ", ") + " FROM " + from + g.where(scope, depth-1), cols}
}

func (g *generator) distinct(depth int) relation {
	from, scope := g.from(depth - 1)
	items, cols := g.selected(scope, 3, false)
	return relation{"SELECT DISTINCT " + strings.Join(items, ", ") + " FROM " + from + g.where(scope, depth-1), cols}
}

// aggregateCall is an aggregate function whose value depends on the rows alone.
func (g *generator) aggregateCall(scope []column) (string, class) {
	t := g.t
	c := g.comparable(scope)
	x := g.expr(scope, c, 1)
	num := g.expr(scope, number, 1)
	distinct := ""
	if t.chance(15) {
		distinct = "DISTINCT "
	}
	call, out := "count(*)", number
	switch t.n(16) {
	case 1:
		call = "count(" + distinct + x + ")"
	case 2, 3:
		call = "sum(" + distinct + num + ")"
	case 4:
		call, out = "sum("+distinct+g.expr(scope, exact, 1)+")", exact
	case 5, 6:
		call, out = oneOf(t, "min", "max")+"("+x+")", c
	case 7:
		call, out = oneOf(t, "bool_and", "bool_or")+"("+g.expr(scope, truth, 1)+")", truth
	case 8:
		call, out = "avg("+distinct+num+")", float
	case 9:
		s := g.expr(scope, text, 0)
		if refers.MatchString(s) {
			call, out = fmt.Sprintf("string_agg(%s, ',' ORDER BY %s)", s, s), text
		}
	case 10:
		call = "quantile_disc(" + num + ", 0.5)"
	case 11:
		call, out = "list("+num+" ORDER BY "+num+")", float
	case 12:
		call = oneOf(t, "bit_or", "bit_and", "bit_xor") + "(" + fmt.Sprintf("CAST(%s AS BIGINT)", num) + ")"
	case 13:
		call = "count_if(" + g.pred(scope, 1, 0) + ")"
	case 14:
		call, out = oneOf(t, "median", "stddev", "var_pop")+"("+num+")", float
	case 15:
		if col, ok := g.columnOf(scope, float); ok {
			call = "count(" + col + ")"
		}
	}
	if t.chance(20) {
		call += " FILTER (WHERE " + g.pred(scope, 1, 0) + ")"
	}
	return call, out
}

func (g *generator) aggregate(depth int) relation {
	from, scope := g.from(depth - 1)
	where := g.where(scope, depth-1)
	var items, groups []string
	var cols []column
	for range g.t.n(4) % 3 {
		c := g.comparable(scope)
		e := g.expr(scope, c, oneOf(g.t, 0, 1))
		if !refers.MatchString(e) { // a constant is no group
			continue
		}
		name := g.name("x")
		items, groups = append(items, e+" AS "+name), append(groups, e)
		cols = append(cols, column{name, c})
	}
	for range 1 + g.t.n(3) {
		call, c := g.aggregateCall(scope)
		name := g.name("x")
		items, cols = append(items, call+" AS "+name), append(cols, column{name, c})
	}
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + from + where
	if len(groups) > 0 {
		by := strings.Join(groups, ", ")
		if g.t.chance(10) {
			by = oneOf(g.t, "ROLLUP", "CUBE") + " (" + by + ")"
		}
		sql += " GROUP BY " + by
	}
	if g.t.chance(20) {
		sql += " HAVING " + oneOf(g.t, "count(*) > 1", "max("+g.expr(scope, number, 0)+") > 2", "count("+g.expr(scope, text, 0)+") = 1", "sum("+g.expr(scope, number, 0)+") IS NOT NULL")
	}
	return relation{sql, cols}
}

// canonical is the type to which both sides of a set operation are cast.
var canonical = map[class]string{number: "BIGINT", text: "VARCHAR", exact: "DECIMAL(34,3)", date: "DATE", stamp: "TIMESTAMP", truth: "BOOLEAN", list: "BIGINT[]"}

func (g *generator) setOperation(depth int) relation {
	op := oneOf(g.t, "UNION ALL", "UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL")
	var classes []class
	var sides []string
	var cols []column
	for side := range 2 {
		from, scope := g.from(depth - 1)
		if side == 0 {
			for range 1 + g.t.n(2) {
				c := g.comparable(scope)
				classes = append(classes, c)
				cols = append(cols, column{g.name("x"), c})
			}
		}
		var items []string
		for i, c := range classes {
			items = append(items, fmt.Sprintf("CAST(%s AS %s) AS %s", g.expr(scope, c, 1), canonical[c], cols[i].ref))
		}
		sides = append(sides, "SELECT "+strings.Join(items, ", ")+" FROM "+from+g.where(scope, depth-1))
	}
	return relation{"(" + sides[0] + ") " + op + " (" + sides[1] + ")", cols}
}

// total is a relation of few columns without floats, as a FROM item, and an order over all of it.
func (g *generator) total(depth int) (from string, scope []column, order []string) {
	inner, in := g.from(depth - 1)
	items, cols := g.selected(in, 3, false)
	alias := g.name("r")
	for _, c := range cols {
		scope = append(scope, column{alias + "." + c.ref, c.class})
		order = append(order, alias+"."+c.ref+oneOf(g.t, "", " DESC", " NULLS FIRST", " DESC NULLS LAST"))
	}
	return "(SELECT " + strings.Join(items, ", ") + " FROM " + inner + g.where(in, depth-1) + ") " + alias, scope, order
}

func (g *generator) window(depth int) relation {
	t := g.t
	from, scope, order := g.total(depth)
	var items []string
	var cols []column
	for _, c := range scope {
		name := g.name("x")
		items, cols = append(items, c.ref+" AS "+name), append(cols, column{name, c.class})
	}
	over := "ORDER BY " + strings.Join(order, ", ")
	if t.chance(80) {
		over = "PARTITION BY " + g.expr(scope, g.comparable(scope), oneOf(t, 0, 1)) + " " + over
	}
	for range 1 + t.n(2) {
		x := scope[t.n(len(scope))]
		call, c := "row_number()", number
		framed := false
		switch t.n(10) {
		case 1:
			call = oneOf(t, "rank()", "dense_rank()")
		case 2, 3:
			call, c = fmt.Sprintf("%s(%s, %d)", oneOf(t, "lag", "lead"), x.ref, 1+t.n(2)), x.class
		case 4:
			call, framed = "sum("+g.expr(scope, number, 0)+")", true
		case 5:
			call, framed = "count("+x.ref+")", true
		case 6:
			call, c, framed = oneOf(t, "min", "max")+"("+x.ref+")", x.class, true
		case 7:
			call, c, framed = oneOf(t, "first_value", "last_value")+"("+x.ref+")", x.class, true
		case 8:
			call, c = oneOf(t, "percent_rank()", "cume_dist()"), float
		case 9:
			call = fmt.Sprintf("ntile(%d)", 1+t.n(3))
		}
		if c == list && strings.HasPrefix(call, "m") {
			call, c = "count(*)", number
		}
		frame := ""
		if framed {
			frame = oneOf(t, "", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
				" ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING", " GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW")
		}
		name := g.name("x")
		items, cols = append(items, call+" OVER ("+over+frame+") AS "+name), append(cols, column{name, c})
	}
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + from
	if t.chance(20) {
		sql += " QUALIFY " + oneOf(t, "row_number", "rank", "dense_rank") + "() OVER (" + over + ") <= " + oneOf(t, "1", "2", "3")
	}
	return relation{sql, cols}
}

func (g *generator) topK(depth int) relation {
	from, scope, order := g.total(depth)
	var items []string
	var cols []column
	for _, c := range scope {
		name := g.name("x")
		items, cols = append(items, c.ref+" AS "+name), append(cols, column{name, c.class})
	}
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + from
	if g.t.chance(40) { // per group
		by := g.expr(scope, g.comparable(scope), 0)
		if g.t.chance(50) {
			return relation{sql + " QUALIFY row_number() OVER (PARTITION BY " + by + " ORDER BY " + strings.Join(order, ", ") + ") <= " + oneOf(g.t, "1", "2", "5"), cols}
		}
		if refers.MatchString(by) {
			return relation{strings.Replace(sql, "SELECT ", "SELECT DISTINCT ON ("+by+") ", 1) + " ORDER BY " + by + ", " + strings.Join(order, ", "), cols}
		}
	}
	sql += " ORDER BY " + strings.Join(order, ", ") + " LIMIT " + oneOf(g.t, "1", "2", "3", "10", "0")
	if g.t.chance(30) {
		sql += " OFFSET " + oneOf(g.t, "1", "2", "5")
	}
	return relation{sql, cols}
}

func (g *generator) unnest(depth int) relation {
	from, scope := g.from(depth - 1)
	items, cols := g.selected(scope, 2, true)
	name := g.name("x")
	l, ok := g.columnOf(scope, list)
	if !ok {
		l = fmt.Sprintf("[%s, %s]", g.expr(scope, number, 0), g.expr(scope, number, 1))
	}
	items, cols = append(items, "unnest("+l+") AS "+name), append(cols, column{name, number})
	return relation{"SELECT " + strings.Join(items, ", ") + " FROM " + from + g.where(scope, depth-1), cols}
}
