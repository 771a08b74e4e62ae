package gate

import "strings"

// wholes are words that make a query more than the rows that a condition picks: what they say holds for all of its rows together.
var wholes = set(`by group having order limit offset distinct union except intersect qualify window sample tablesample fetch positional asof at or
	left right full outer semi anti`)

var aggregates = set(allowedAggregate)

// united cuts an INSERT … SELECT that picks rows of other tables by a condition: the rows of parameters are joined with what each picks.
func (a *Analysis) united(toks []token, src string) *Rows {
	if !a.steady || a.TouchesTemp || a.Writes[0].ID == 0 || strings.Contains(src, `"vega `) {
		return nil
	}
	for _, t := range a.Reads {
		if t.ID == 0 || t.ID == a.Writes[0].ID {
			return nil
		}
	}
	for _, f := range a.Functions {
		if aggregates[f] {
			return nil
		}
	}
	c := &change{a: a, toks: toks, src: src}
	from := c.outside("select")
	if from < 0 || from+1 == len(toks) || !c.picks(from) {
		return nil
	}
	query := c.rendered(toks[from+1:])
	if query == "" {
		return nil
	}
	r := c.beside(from)
	// DuckDB asks such a query once for rows that it calls equal, as those of 0.0 and -0.0 or of a month and 30 days. With numbers none are.
	r.numbered = true
	r.head = src[:toks[from].start] + `SELECT "vega picked".* EXCLUDE ("vega 0") FROM (VALUES `
	r.tail = c.row(`"vega 0"`) + `, LATERAL (SELECT ` + rowName + `."vega 0", ` + query + `) "vega picked"`
	return r
}

// picks says that the query gives rows of its tables by a condition that cannot fail for some of them.
func (c *change) picks(from int) bool {
	end := len(c.toks)
	depth := 0
	for i, t := range c.toks {
		switch {
		case t.op('('):
			depth++
		case t.op(')'):
			depth--
		case t.name() && strings.HasPrefix(t.lower, "vega "), t.op('#'):
			return false
		case t.kind == param && i < from:
			return false
		case t.is("from") && i > from && depth == 0 && end == len(c.toks):
			end = i
		case t.kind == word && i != from && (queries[t.lower] || wholes[t.lower] && !(t.lower == "or" && i > end)):
			return false
		}
	}
	if end < len(c.toks) {
		c.where = c.toks[end+1:]
	}
	return compares(c.where)
}
