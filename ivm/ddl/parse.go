package ddl

import (
	"unicode/utf8"

	"github.com/vegadb/vega-flight/fault"
)

// Parse splits a text into its statements and parses those that are ours. An
// error in any of them refuses the whole text; it is a *fault.Error with the
// byte offset in sql.
func Parse(sql string) ([]Item, error) {
	var items []Item
	toks := lex(sql)
	for len(toks) > 0 {
		n := 0
		for n < len(toks) && toks[n].kind != semicolon {
			n++
		}
		if n > 0 {
			item := Item{Offset: toks[0].start, Text: sql[toks[0].start:toks[n-1].end]}
			c := cursor{src: sql, toks: toks[:n]}
			item.Stmt = c.statement()
			if c.err != nil {
				return nil, c.err
			}
			items = append(items, item)
		}
		toks = toks[min(n+1, len(toks)):]
	}
	return items, nil
}

// statement parses one statement, or returns nil when it is not ours.
func (c *cursor) statement() Statement {
	head := c.head()
	if head == nil {
		return nil
	}
	for _, t := range c.toks {
		if !utf8.ValidString(c.src[t.start:t.end]) {
			c.fail(fault.SyntaxError.Newf("the text is not valid UTF-8").At(t.start))
			return nil
		}
	}
	s := head(c)
	if c.err != nil {
		return nil
	}
	return s
}

// head decides by the first words whose statement it is, taking none of them.
func (c *cursor) head() func(*cursor) Statement {
	switch {
	case c.looking("CREATE"):
		for i := 1; ; i++ {
			t, ok := c.peek(i)
			switch {
			case !ok:
				return nil
			case t.is("MATERIALIZED"), t.is("STREAMING"):
				return (*cursor).createView
			case t.is("OR"), t.is("REPLACE"), t.is("TEMP"), t.is("TEMPORARY"), t.is("PERSISTENT"), t.is("RECURSIVE"):
			default:
				return nil
			}
		}
	case c.looking("REFRESH"):
		return (*cursor).refresh
	case c.looking("ALTER", "MATERIALIZED"), c.looking("ALTER", "STREAMING"):
		return (*cursor).alterView
	case c.looking("DROP", "MATERIALIZED"), c.looking("DROP", "STREAMING"):
		return (*cursor).dropView
	case c.looking("COMMENT", "ON", "MATERIALIZED"), c.looking("COMMENT", "ON", "STREAMING"):
		return (*cursor).commentOnView
	case c.looking("SUBSCRIBE"):
		return (*cursor).subscribe
	case c.looking("CANCEL"):
		return (*cursor).cancelJob
	case c.looking("EXPLAIN"):
		return c.explainHead()
	case c.looking("SHOW"):
		return c.showHead()
	case c.looking("SET"), c.looking("RESET"):
		return c.settingHead()
	}
	return nil
}

// explainHead tells EXPLAIN STREAMING, and EXPLAIN of a statement of ours, from DuckDB's.
func (c *cursor) explainHead() func(*cursor) Statement {
	if c.looking("EXPLAIN", "STREAMING") {
		return (*cursor).explainStreaming
	}
	inner := cursor{src: c.src, toks: c.toks, i: c.i + 1}
	if !inner.accept("ANALYZE") {
		inner.accept("ANALYSE")
	}
	if inner.acceptSymbol("(") {
		for depth := 1; depth > 0 && !inner.done(); inner.i++ {
			switch t, _ := inner.peek(0); {
			case t.isSymbol("("):
				depth++
			case t.isSymbol(")"):
				depth--
			}
		}
	}
	if inner.looking("STREAMING") || inner.head() != nil && !inner.looking("EXPLAIN") {
		return (*cursor).explainOurs
	}
	return nil
}

func (c *cursor) explainOurs() Statement {
	c.fail(fault.SyntaxError.Newf("EXPLAIN explains queries, not statements about materialized views, jobs or settings").
		At(c.offset()).WithHint("write EXPLAIN and the view's query, or EXPLAIN STREAMING and the query"))
	return nil
}

// explainStreaming parses EXPLAIN STREAMING [(FORMAT rows | text | json)] query | EXPLAIN STREAMING ANALYZE name.
func (c *cursor) explainStreaming() Statement {
	c.expect("EXPLAIN", "STREAMING")
	if c.accept("ANALYZE") {
		s := &ExplainAnalyze{}
		s.Name, s.NameOffset = c.name("the name of a streaming materialized view")
		c.finish("the end of the statement")
		return s
	}
	s := &ExplainStreaming{}
	if t, ok := c.peek(0); ok && t.isSymbol("(") {
		if t, ok := c.peek(1); ok && t.is("FORMAT") {
			s.Format = c.explainFormat()
		}
	}
	s.Query, s.QueryOffset = c.rest("a query")
	return s
}

// explainFormat parses (FORMAT rows | text | json).
func (c *cursor) explainFormat() ExplainFormat {
	c.expectSymbol("(")
	c.expect("FORMAT")
	format := ExplainRows
	switch {
	case c.accept("ROWS"):
	case c.accept("TEXT"):
		format = ExplainText
	case c.accept("JSON"):
		format = ExplainJSON
	default:
		c.syntax("rows, text or json")
	}
	c.expectSymbol(")")
	return format
}

// subscribe parses SUBSCRIBE TO name [WITH (…)].
func (c *cursor) subscribe() Statement {
	c.expect("SUBSCRIBE", "TO")
	s := &Subscribe{}
	s.Name, s.NameOffset = c.name("the name of a materialized view")
	if c.accept("WITH") {
		s.Options = c.options(SubscribeOptions, "SUBSCRIBE")
	}
	c.finish("WITH (…) or the end of the statement")
	return s
}
