package gate

import (
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

func (st *statement) create(c *cursor) (err error) {
	c.i++
	st.replace = c.take("or", "replace")
	if c.take("local", "temp") || c.take("local", "temporary") || c.take("temp") || c.take("temporary") {
		st.temp = true
	}
	at := c.peek(0)
	switch {
	case c.take("table"):
		st.kind, st.object = CreateTable, TableObject
	case c.take("view"), c.take("recursive", "view"):
		st.kind, st.object = CreateView, ViewObject
	case c.take("schema"):
		st.kind, st.object = CreateSchema, SchemaObject
	case c.take("macro"), c.take("function"):
		st.kind, st.object = CreateMacro, ScalarMacro
	default:
		return fault.StatementForbidden.Newf("CREATE %s is not a statement that users may run", strings.ToUpper(at.text)).At(at.start).
			WithHint("the lake has tables, views, schemas and macros")
	}
	st.ifExists = c.take("if", "not", "exists")
	if st.target, err = c.dotted(3); err != nil {
		return err
	}
	if st.kind != CreateMacro || !deniedName(st.target[len(st.target)-1].lower) {
		st.made = c.i - 1
	}
	switch st.kind {
	case CreateTable:
		return st.createTable(c)
	case CreateView:
		if c.peek(0).op('(') {
			if err := c.group(); err != nil {
				return err
			}
		}
		if !c.take("as") {
			return fault.SyntaxError.Newf("AS was expected").At(c.peek(0).start)
		}
		st.queryFrom, st.queryTo = c.i, len(c.toks)
	case CreateMacro:
		if !c.peek(0).op('(') {
			return fault.SyntaxError.Newf("the macro's parameters were expected").At(c.peek(0).start)
		}
		if err := c.group(); err != nil {
			return err
		}
		if c.peek(0).is("as") && c.peek(1).is("table") {
			st.object = TableMacroObject
		}
	}
	return nil
}

// createTable looks for AS outside of parentheses.
func (st *statement) createTable(c *cursor) error {
	from := c.i
	for c.more() {
		switch {
		case c.peek(0).op('('):
			if err := c.group(); err != nil {
				return err
			}
			continue
		case c.take("as"):
			if c.toks[from].op('(') {
				for i := from + 1; i < c.i; i++ {
					if c.toks[i].name() && (c.toks[i-1].op('(') || c.toks[i-1].op(',')) {
						st.columns = append(st.columns, c.toks[i].text)
					}
				}
			}
			st.kind, st.queryFrom, st.queryTo = CreateTableAs, c.i, len(c.toks)
			st.withData(c)
			return nil
		}
		c.i++
	}
	return nil
}

// withData takes WITH [NO] DATA off the end of a query.
func (st *statement) withData(c *cursor) {
	n := st.queryTo
	last := func(i int, keyword string) bool { return n-i > st.queryFrom && c.toks[n-i].is(keyword) }
	switch {
	case last(1, "data") && last(2, "no") && last(3, "with"):
		st.noData, st.queryTo = true, n-3
	case last(1, "data") && last(2, "with"):
		st.queryTo = n - 2
	}
}

// kinds are the words that name a kind of object. Longer ones come before those that they begin with.
type kinds []struct {
	object ObjectType
	words  []string
}

var (
	dropped = kinds{
		{TableObject, []string{"table"}}, {ViewObject, []string{"view"}}, {SchemaObject, []string{"schema"}},
		{TableMacroObject, []string{"macro", "table"}}, {TableMacroObject, []string{"function", "table"}},
		{ScalarMacro, []string{"macro"}}, {ScalarMacro, []string{"function"}},
	}
	tableOrView = kinds{{TableObject, []string{"table"}}, {ViewObject, []string{"view"}}}
)

// kindOf takes the words for the kind of object that the statement is about. verb and hint are for the refusal.
func (st *statement) kindOf(c *cursor, among kinds, verb, hint string) error {
	for _, k := range among {
		if c.take(k.words...) {
			st.object = k.object
			return nil
		}
	}
	at := c.peek(0)
	return fault.StatementForbidden.Newf("%s %s is not a statement that users may run", verb, strings.ToUpper(at.text)).At(at.start).WithHint("%s", hint)
}

func (st *statement) drop(c *cursor) (err error) {
	st.kind = Drop
	c.i++
	if err := st.kindOf(c, dropped, "DROP", "the lake has tables, views, schemas and macros"); err != nil {
		return err
	}
	st.ifExists = c.take("if", "exists")
	if st.target, err = c.dotted(3); err != nil {
		return err
	}
	if c.peek(0).op(',') {
		return fault.StatementForbidden.Newf("DROP takes one object at a time").At(c.peek(0).start)
	}
	st.cascade = c.take("cascade")
	return nil
}

func (st *statement) alter(c *cursor) (err error) {
	st.kind = Alter
	c.i++
	at := c.peek(0)
	if err := st.kindOf(c, tableOrView, "ALTER", "tables and views can be altered"); err != nil {
		return err
	}
	st.ifExists = c.take("if", "exists")
	if c.peek(0).is("only") && c.peek(1).name() {
		c.i++
	}
	if st.target, err = c.dotted(3); err != nil {
		return err
	}
	switch {
	case c.take("rename", "to"):
		to, err := c.dotted(1)
		if err != nil {
			return err
		}
		st.renamed = to[0].text
	case c.peek(0).is("add"):
		st.retypes = true
	case c.take("set", "schema"):
		return fault.StatementForbidden.Newf("SET SCHEMA is not supported by the lake").At(at.start)
	case c.peek(0).is("alter"):
		for _, t := range c.toks[c.i:] {
			st.retypes = st.retypes || t.is("type") || t.is("default")
		}
	}
	return nil
}

func (st *statement) comment(c *cursor) (err error) {
	st.kind = Comment
	c.i++
	if !c.take("on") {
		return fault.SyntaxError.Newf("ON was expected").At(c.peek(0).start)
	}
	at := c.peek(0)
	if !c.take("column") {
		if err := st.kindOf(c, tableOrView, "COMMENT ON", "tables, views and columns have comments"); err != nil {
			return err
		}
		st.target, err = c.dotted(3)
		return err
	}
	st.object = TableObject
	if st.target, err = c.dotted(4); err != nil {
		return err
	}
	if len(st.target) < 2 {
		return fault.SyntaxError.Newf("a column is named as table.column").At(at.start)
	}
	last := len(st.target) - 1
	st.column, st.target = st.target[last].text, st.target[:last]
	return nil
}
