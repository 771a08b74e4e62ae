package gate

import (
	"slices"
	"strconv"
	"strings"
)

// The table of the rows of parameters stands beside the statement's own under names that nobody else uses.
const rowName = `"vega row"`

func rowColumn(place int) string { return `"vega ` + strconv.Itoa(place+1) + `"` }

// queries are words that begin something that reads more than the row that is changed, or that asks for columns by their place.
var queries = set(`select from with using returning table values exists any all some unnest lateral over columns pivot unpivot default lambda`)

// change is an UPDATE or DELETE of one table by a condition.
type change struct {
	a       *Analysis
	toks    []token
	src     string
	table   []token         // the table, with its alias
	set     []token         // the assignments of an UPDATE
	where   []token         // the condition
	written map[string]bool // the columns of an UPDATE
}

// matched cuts an UPDATE or DELETE. For several rows at once it comes to the same as for one after the other when the columns that it writes
// decide nothing about which rows it changes, and when no row is changed twice, which [Rows.Clash] asks for. A DELETE has neither.
func (a *Analysis) matched(toks []token, src string) *Rows {
	c := &change{a: a, toks: toks, src: src, written: map[string]bool{}}
	if !a.steady || a.TouchesTemp || a.Writes[0].ID == 0 || strings.Contains(src, `"vega `) || !c.divide() || !c.assigns() || !c.decides() {
		return nil
	}
	r := c.beside()
	table, where, row := c.rendered(c.table), c.rendered(c.where), c.row()
	if where == "" {
		return nil
	}
	if a.Kind == Delete {
		r.head = "DELETE FROM " + table + " WHERE EXISTS (SELECT 1 FROM (VALUES "
		r.tail = row + " WHERE " + where + ")"
		return r
	}
	set := c.rendered(c.set)
	if set == "" {
		return nil
	}
	r.head = "UPDATE " + table + " SET " + set + " FROM (VALUES "
	r.tail = row + " WHERE " + where
	r.clash = &clash{
		head: `SELECT min(n) FROM (SELECT "vega 0" AS n, row_number() OVER (PARTITION BY rowid ORDER BY "vega 0") AS k FROM ` + table + ", (VALUES ",
		tail: c.row(`"vega 0"`) + " WHERE " + where + ") WHERE k > 1",
	}
	return r
}

// beside begins a statement with the rows of parameters as a table.
func (c *change) beside() *Rows {
	r := &Rows{of: c.a, most: 1024, values: true, untyped: c.untyped(), compared: c.compared()}
	for i := range c.a.Params {
		r.text, r.params = append(r.text, ", "), append(r.params, i)
	}
	r.text[0] = "("
	r.text = append(r.text, ")")
	return r
}

// row is the end of that table, with its name and its columns'.
func (c *change) row(columns ...string) string {
	for i := range c.a.Params {
		columns = append(columns, rowColumn(i))
	}
	return ") " + rowName + "(" + strings.Join(columns, ", ") + ")"
}

// untyped are the parameters that have no type in the statement. A text among them gets one from what is around it, unless that takes any text
// as it is: ||, which takes nothing else or fails.
func (c *change) untyped() []bool {
	all := make([]bool, len(c.a.Params))
	marks := 0
	for i, t := range c.toks {
		if t.kind != param {
			continue
		}
		if t.text == "?" {
			marks++
		}
		at := c.a.place(t.text, marks)
		if at < 0 || c.a.Params[at].Type != "" || i == 0 {
			continue
		}
		before, after := c.toks[i-1], token{kind: op, text: ","}
		if i+1 < len(c.toks) {
			after = c.toks[i+1]
		}
		joined := before.op('|') && i > 1 && c.toks[i-2].op('|') || after.op('|') && i+2 < len(c.toks) && c.toks[i+2].op('|')
		all[at] = all[at] || !joined
	}
	return all
}

// compared are the parameters in the condition that are of the type of texts.
func (c *change) compared() []bool {
	all := make([]bool, len(c.a.Params))
	marks := 0
	for _, t := range c.toks {
		if t.kind != param {
			continue
		}
		if t.text == "?" {
			marks++
		}
		if at := c.a.place(t.text, marks); at >= 0 && t.start >= c.where[0].start {
			all[at] = all[at] || c.a.Params[at].Type == "VARCHAR"
		}
	}
	return all
}

// divide finds the parts of the statement.
func (c *change) divide() bool {
	for i, t := range c.toks {
		if t.kind == word && queries[t.lower] && !(t.lower == "from" && i > 0 && (c.toks[i-1].is("distinct") || c.toks[i-1].is("delete"))) ||
			t.name() && strings.HasPrefix(t.lower, "vega ") || t.op('#') {
			return false
		}
	}
	set, where := c.outside("set"), c.outside("where")
	switch {
	case where < 0:
		return false
	case c.a.Kind == Delete && len(c.toks) > 2 && c.toks[1].is("from"):
		c.table = c.toks[2:where]
	case c.a.Kind == Update && set > 1 && set < where:
		c.table, c.set = c.toks[1:set], c.toks[set+1:where]
	default:
		return false
	}
	c.where = c.toks[where+1:]
	plain := func(t token) bool { return t.name() || t.op('.') }
	return len(c.table) > 0 && len(c.where) > 0 && !slices.ContainsFunc(c.table, func(t token) bool { return !plain(t) })
}

// outside is the place of the first such word outside of parentheses, or -1.
func (c *change) outside(keyword string) int {
	depth := 0
	for i, t := range c.toks {
		switch {
		case t.op('('):
			depth++
		case t.op(')'):
			depth--
		case depth == 0 && t.is(keyword):
			return i
		}
	}
	return -1
}

// assigns reads which columns an UPDATE writes.
func (c *change) assigns() bool {
	depth := 0
	for i, t := range c.set {
		switch {
		case t.op('('), t.op('['), t.op('{'):
			depth++
		case t.op(')'), t.op(']'), t.op('}'):
			depth--
		}
		if i > 0 && !(depth == 0 && t.op(',')) {
			continue
		}
		if i > 0 {
			i++
		}
		if i+1 >= len(c.set) || !c.set[i].name() || !c.set[i+1].op('=') {
			return false
		}
		c.written[c.set[i].lower] = true
	}
	return (len(c.set) > 0) == (c.a.Kind == Update)
}

// decides says that the condition compares columns that are not written.
func (c *change) decides() bool {
	for i, t := range c.where {
		if !t.name() {
			continue
		}
		part := i+1 < len(c.where) && c.where[i+1].op('.')
		whole := !part && slices.ContainsFunc(c.table, func(n token) bool { return n.name() && n.lower == t.lower })
		if c.written[t.lower] || virtualColumn[t.lower] || whole {
			return false
		}
	}
	return compares(c.where)
}

// comparing is a reader of a condition.
type comparing struct {
	toks []token
	at   int
}

// compares says that a condition is comparisons of columns with parameters and literals, all of which must hold: whether such a one fails, and
// what it gives, is the same for a row by itself and among others.
func compares(where []token) bool {
	c := &comparing{toks: where}
	for c.comparison() {
		if c.at == len(where) {
			return true
		}
		if !c.word("and") {
			return false
		}
	}
	return false
}

func (c *comparing) comparison() bool {
	if c.value() {
		return c.operator() && c.column()
	}
	switch {
	case !c.column():
		return false
	case c.operator():
		return c.value()
	case c.word("is"):
		c.word("not")
		return c.word("null") || c.word("distinct") && c.word("from") && c.value()
	case c.word("between"):
		return c.value() && c.word("and") && c.value()
	}
	c.word("not")
	if !c.word("in") || !c.char("(") || !c.value() {
		return false
	}
	for c.char(",") {
		if !c.value() {
			return false
		}
	}
	return c.char(")")
}

// noColumns are words that begin what is no column.
var noColumns = set(`not case cast null true false exists interval date time timestamp array map struct row`)

func (c *comparing) column() bool {
	for c.at < len(c.toks) && c.toks[c.at].name() && !(c.toks[c.at].kind == word && noColumns[c.toks[c.at].lower]) {
		if c.at++; !c.char(".") {
			return true
		}
	}
	return false
}

func (c *comparing) value() bool {
	if c.at == len(c.toks) || c.toks[c.at].kind != param && c.toks[c.at].kind != number && c.toks[c.at].kind != str {
		return false
	}
	c.at++
	return true
}

func (c *comparing) operator() bool {
	from := c.at
	for c.at < len(c.toks) && c.toks[c.at].kind == op && strings.Contains("=<>!", c.toks[c.at].text) {
		c.at++
	}
	return c.at > from
}

func (c *comparing) word(keyword string) bool {
	if c.at < len(c.toks) && c.toks[c.at].is(keyword) {
		c.at++
		return true
	}
	return false
}

func (c *comparing) char(text string) bool {
	if c.at < len(c.toks) && c.toks[c.at].kind == op && c.toks[c.at].text == text {
		c.at++
		return true
	}
	return false
}

// rendered is the text of tokens with the parameters as columns of the rows' table, "" when a parameter is unknown.
func (c *change) rendered(toks []token) string {
	var b strings.Builder
	last := toks[0].start
	for _, t := range toks {
		if t.kind != param {
			continue
		}
		marks := 0
		for _, before := range c.toks {
			if before.text == "?" && before.kind == param && before.start <= t.start {
				marks++
			}
		}
		at := c.a.place(t.text, marks)
		if at < 0 {
			return ""
		}
		b.WriteString(c.src[last:t.start])
		b.WriteString(rowName + "." + rowColumn(at))
		last = t.end
	}
	b.WriteString(c.src[last:toks[len(toks)-1].end])
	return b.String()
}
