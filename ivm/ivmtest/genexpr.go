package ivmtest

import (
	"fmt"
	"strings"
)

// column is what an expression may refer to.
type column struct {
	ref   string
	class class
}

func (g *generator) columnOf(scope []column, c class) (string, bool) {
	var of []string
	for _, col := range scope {
		if col.class == c {
			of = append(of, col.ref)
		}
	}
	if len(of) == 0 {
		return "", false
	}
	return of[g.t.n(len(of))], true
}

// expr is an expression of a class.
func (g *generator) expr(scope []column, c class, depth int) string {
	t := g.t
	if col, ok := g.columnOf(scope, c); ok && (depth <= 0 || t.n(3) < 2) {
		return col
	}
	if depth <= 0 {
		return literal(t, c)
	}
	switch t.n(4) {
	case 1:
		return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", g.pred(scope, depth-1, 0), g.expr(scope, c, depth-1), g.expr(scope, c, 0))
	case 2:
		return fmt.Sprintf("coalesce(%s, %s)", g.expr(scope, c, depth-1), literal(t, c))
	case 3:
		if c != list && c != float {
			return fmt.Sprintf("nullif(%s, %s)", g.expr(scope, c, depth-1), literal(t, c))
		}
	}
	switch c {
	case number:
		return g.numeric(scope, depth)
	case text:
		a := g.expr(scope, text, depth-1)
		switch t.n(6) {
		case 1:
			return fmt.Sprintf("(%s || %s)", a, g.expr(scope, text, 0))
		case 2:
			return "substr(" + a + ", 1, 2)"
		case 3:
			return "CAST(" + g.expr(scope, number, depth-1) + " AS VARCHAR)"
		case 4:
			return "CAST(" + g.expr(scope, date, depth-1) + " AS VARCHAR)"
		case 5:
			return "replace(" + a + ", 'a', 'xy')"
		}
		return oneOf(t, "upper", "lower", "trim", "reverse") + "(" + a + ")"
	case exact:
		a := g.expr(scope, exact, depth-1)
		switch t.n(4) {
		case 1:
			return fmt.Sprintf("(%s + %s)", a, g.expr(scope, exact, 0))
		case 2:
			return "CAST(" + g.expr(scope, number, depth-1) + " AS DECIMAL(30,2))"
		case 3:
			return "round(" + a + ", 1)"
		}
		return fmt.Sprintf("(%s - %s)", a, literal(t, exact))
	case date:
		switch t.n(3) {
		case 1:
			return "CAST(" + g.expr(scope, stamp, depth-1) + " AS DATE)"
		case 2:
			return "last_day(" + g.expr(scope, date, depth-1) + ")"
		}
		return fmt.Sprintf("(%s + %s)", g.expr(scope, date, depth-1), oneOf(t, "1", "31", "0"))
	case stamp:
		a := g.expr(scope, stamp, depth-1)
		switch t.n(3) {
		case 1:
			return fmt.Sprintf("(%s + INTERVAL %s)", a, oneOf(t, "1 HOUR", "1 MONTH", "30 MINUTE"))
		case 2:
			return "CAST(" + g.expr(scope, date, depth-1) + " AS TIMESTAMP)"
		}
		return fmt.Sprintf("date_trunc('%s', %s)", oneOf(t, "day", "hour", "month", "year", "week"), a)
	case truth:
		return "(" + g.pred(scope, depth-1, 0) + ")"
	case list:
		return oneOf(t, "list_sort", "list_distinct", "list_reverse") + "(" + g.expr(scope, list, depth-1) + ")"
	}
	return literal(t, c)
}

func (g *generator) numeric(scope []column, depth int) string {
	t := g.t
	a := g.expr(scope, number, depth-1)
	switch t.n(10) {
	case 1:
		return fmt.Sprintf("(%s * %s)", a, oneOf(t, "2", "3"))
	case 2:
		return fmt.Sprintf("(%s %% %s)", a, oneOf(t, "2", "3", "0"))
	case 3:
		return fmt.Sprintf("(%s // %s)", a, oneOf(t, "2", "3", "0"))
	case 4:
		return "length(" + g.expr(scope, text, depth-1) + ")"
	case 5:
		return fmt.Sprintf("%s(%s)", oneOf(t, "year", "month", "dayofweek"), g.expr(scope, date, depth-1))
	case 6:
		return "TRY_CAST(" + g.expr(scope, text, depth-1) + " AS INTEGER)"
	case 7:
		return "CAST(" + g.expr(scope, exact, depth-1) + " AS INTEGER)"
	case 8:
		return fmt.Sprintf("(%s - %s)", g.expr(scope, date, depth-1), literal(t, date))
	case 9:
		return "len(" + g.expr(scope, list, depth-1) + ")"
	}
	return fmt.Sprintf("(%s %s %s)", a, oneOf(t, "+", "-"), g.expr(scope, number, 0))
}

// comparable is a class that is compared.
func (g *generator) comparable(scope []column) class {
	var of []class
	for _, c := range scope {
		if c.class != float && c.class != list && c.class != truth {
			of = append(of, c.class)
		}
	}
	if len(of) == 0 {
		return number
	}
	return of[g.t.n(len(of))]
}

// pred is a condition. nest is how deep subqueries may go.
func (g *generator) pred(scope []column, depth, nest int) string {
	t := g.t
	if depth > 0 {
		switch t.n(9) {
		case 1:
			return fmt.Sprintf("(%s AND %s)", g.pred(scope, depth-1, nest), g.pred(scope, depth-1, nest))
		case 2:
			return fmt.Sprintf("(%s OR %s)", g.pred(scope, depth-1, nest), g.pred(scope, depth-1, nest))
		case 3:
			return "NOT (" + g.pred(scope, depth-1, nest) + ")"
		case 4, 5:
			if nest > 0 {
				return g.subquery(scope, nest-1)
			}
		}
	}
	c := g.comparable(scope)
	a := g.expr(scope, c, depth)
	switch t.n(9) {
	case 1:
		return fmt.Sprintf("%s %s %s", a, oneOf(t, "=", "<>", "<", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"), g.expr(scope, c, depth-1))
	case 2:
		return a + oneOf(t, " IS NULL", " IS NOT NULL")
	case 3:
		return fmt.Sprintf("%s %s (%s, %s)", a, oneOf(t, "IN", "NOT IN"), literal(t, c), orNull(t, c))
	case 4:
		return fmt.Sprintf("%s BETWEEN %s AND %s", a, literal(t, c), g.expr(scope, c, 0))
	case 5:
		return g.expr(scope, text, 0) + oneOf(t, " LIKE 'a%'", " LIKE '%b'", " NOT LIKE '%a%'", " ILIKE 'A%'", " LIKE '_'")
	case 6:
		if col, ok := g.columnOf(scope, truth); ok {
			return col
		}
	}
	return fmt.Sprintf("%s %s %s", a, oneOf(t, "=", ">", "<=", "<>"), literal(t, c))
}

// subquery is a condition with a query in it, correlated or not.
func (g *generator) subquery(outer []column, nest int) string {
	t := g.t
	c := g.comparable(outer)
	a := g.expr(outer, c, 0)
	from, scope := g.from(nest)
	var where []string
	if t.chance(60) { // correlated
		k := g.comparable(outer)
		where = append(where, fmt.Sprintf("%s %s %s", g.expr(scope, k, 0), oneOf(t, "=", "=", "=", "<", "<>"), g.expr(outer, k, 0)))
	}
	if t.chance(40) {
		where = append(where, g.pred(scope, 1, nest))
	}
	cond := ""
	if len(where) > 0 {
		cond = " WHERE " + strings.Join(where, " AND ")
	}
	switch t.n(6) {
	case 1:
		return fmt.Sprintf("%s IN (SELECT %s FROM %s%s)", a, g.expr(scope, c, 1), from, cond)
	case 2:
		return fmt.Sprintf("%s NOT IN (SELECT %s FROM %s%s)", a, g.expr(scope, c, 1), from, cond)
	case 3:
		return fmt.Sprintf("NOT EXISTS (SELECT 1 FROM %s%s)", from, cond)
	case 4:
		return fmt.Sprintf("%s %s (SELECT %s(%s) FROM %s%s)", a, oneOf(t, "=", ">", "<="), oneOf(t, "max", "min"), g.expr(scope, c, 0), from, cond)
	case 5:
		return fmt.Sprintf("%s %s (SELECT count(*) FROM %s%s)", g.expr(outer, number, 0), oneOf(t, "=", ">", "<="), from, cond)
	}
	return fmt.Sprintf("EXISTS (SELECT 1 FROM %s%s)", from, cond)
}
