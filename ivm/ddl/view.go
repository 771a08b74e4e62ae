package ddl

import (
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

// viewHead takes [STREAMING] MATERIALIZED VIEW.
func (c *cursor) viewHead() (streaming bool) {
	streaming = c.accept("STREAMING")
	c.expect("MATERIALIZED", "VIEW")
	return streaming
}

// createView parses CREATE … MATERIALIZED VIEW.
func (c *cursor) createView() Statement {
	s := &CreateView{}
	c.expect("CREATE")
	replaceAt := c.offset()
	s.Replace = c.accept("OR", "REPLACE")
	for _, w := range []string{"TEMP", "TEMPORARY", "PERSISTENT", "RECURSIVE"} {
		if at := c.offset(); c.accept(w) {
			c.fail(fault.SyntaxError.Newf("a materialized view cannot be %s", w).At(at).WithHint("leave the word out"))
		}
	}
	s.Streaming = c.viewHead()
	if s.Streaming && s.Replace {
		c.fail(fault.SyntaxError.Newf("OR REPLACE is for traditional materialized views").At(replaceAt).
			WithHint("drop the streaming view and create it again"))
	}
	if at := c.offset(); c.accept("IF", "NOT", "EXISTS") {
		if s.IfNotExists = true; s.Replace {
			c.fail(fault.SyntaxError.Newf("OR REPLACE and IF NOT EXISTS exclude each other").At(at))
		}
	}
	s.Name, s.NameOffset = c.name("the name of the view")
	if t, ok := c.peek(0); ok && t.isSymbol("(") {
		s.Columns = c.names("the name of a column")
	}
	if c.accept("WITH") {
		specs := ViewOptions
		if s.Streaming {
			specs = StreamingOptions
		}
		s.Options = c.options(specs, "CREATE "+viewWords(s.Streaming))
		c.exclusive(s.Options)
	}
	if !c.accept("AS") {
		c.syntax("AS and a query")
	}
	if data := c.dataClause(); data != "" {
		if s.NoData = data == "WITH NO DATA"; s.Streaming {
			c.fail(fault.SyntaxError.Newf("%s is for traditional materialized views", data).At(c.offset()).
				WithHint("WITH (initial_mode = 'backfill') fills a streaming view, 'future' starts it empty"))
		}
	}
	s.Query, s.QueryOffset = c.rest("a query")
	if last := c.toks[len(c.toks)-1]; last.isSymbol(".") {
		c.fail(fault.SyntaxError.Newf("a query does not end in a dot").At(last.start))
	}
	return s
}

// dataClause cuts WITH [NO] DATA off the end of the statement. The words are
// told from a query's own by the tokens before them: WITH is a reserved word,
// which inside a query can end up there only as the part of a name behind a dot.
func (c *cursor) dataClause() string {
	last := func(n int) token {
		if i := len(c.toks) - n; i >= c.i {
			return c.toks[i]
		}
		return token{}
	}
	cut := func(n int, clause string) string {
		if last(n + 1).isSymbol(".") {
			return ""
		}
		c.toks = c.toks[:len(c.toks)-n]
		return clause
	}
	switch {
	case c.err != nil || !last(1).is("DATA"):
	case last(2).is("WITH"):
		return cut(2, "WITH DATA")
	case last(2).is("NO") && last(3).is("WITH"):
		return cut(3, "WITH NO DATA")
	}
	return ""
}

// exclusive refuses options that cannot be given together.
func (c *cursor) exclusive(o Options) {
	at := map[string]int{}
	for _, opt := range o {
		at[opt.Name] = opt.Offset
	}
	interval, hasInterval := at["refresh_interval"]
	cron, hasCron := at["refresh_cron"]
	if hasInterval && hasCron {
		c.fail(fault.InvalidOption.Newf("refresh_interval and refresh_cron exclude each other").At(max(interval, cron)).
			WithHint("keep one of them"))
	}
	if zone, ok := at["refresh_timezone"]; ok && hasInterval {
		c.fail(fault.InvalidOption.Newf("refresh_timezone says when refresh_cron is due; refresh_interval has no time of day").At(zone).
			WithHint("leave it out, or use refresh_cron"))
	}
}

// refresh parses REFRESH MATERIALIZED VIEW.
func (c *cursor) refresh() Statement {
	s := &Refresh{}
	c.expect("REFRESH")
	if at := c.offset(); c.accept("STREAMING") {
		c.fail(fault.SyntaxError.Newf("a streaming materialized view is not refreshed").At(at).
			WithHint("ALTER STREAMING MATERIALIZED VIEW … RESTART or REBUILD starts it again"))
	}
	c.expect("MATERIALIZED", "VIEW")
	s.Name, s.NameOffset = c.name("the name of a materialized view")
	if c.accept("WITH") {
		s.Options = c.options(RefreshOptions, s.Verb())
	}
	c.finish("WITH (…) or the end of the statement")
	return s
}

// alterView parses ALTER … MATERIALIZED VIEW.
func (c *cursor) alterView() Statement {
	c.expect("ALTER")
	streaming := c.viewHead()
	name, at := c.name("the name of a materialized view")
	specs := ViewOptions
	if streaming {
		specs = StreamingOptions
	}
	verb := "ALTER " + viewWords(streaming)
	var s Statement
	switch {
	case c.accept("SET"):
		set := &AlterSet{Streaming: streaming, Name: name, NameOffset: at, Options: c.options(stored(specs), verb)}
		c.exclusive(set.Options)
		s = set
	case c.accept("RESET"):
		s = &AlterReset{Streaming: streaming, Name: name, NameOffset: at, Names: c.optionNames(stored(specs), verb)}
	case c.accept("RENAME"):
		c.expect("TO")
		rename := &AlterRename{Streaming: streaming, Name: name, NameOffset: at, NewOffset: c.offset()}
		rename.NewName = c.ident("the new name", false)
		if t, ok := c.peek(0); ok && t.isSymbol(".") {
			c.fail(fault.SyntaxError.Newf("a view stays in its schema: the new name has one part").At(t.start))
		}
		s = rename
	case c.accept("OWNER"):
		c.expect("TO")
		s = &AlterOwner{Streaming: streaming, Name: name, NameOffset: at, Owner: c.owner()}
	case streaming && c.accept("PAUSE"):
		s = &AlterRun{Name: name, NameOffset: at, Action: Pause}
	case streaming && c.accept("RESUME"):
		s = &AlterRun{Name: name, NameOffset: at, Action: Resume}
	case streaming && c.accept("RESTART"):
		s = &AlterRun{Name: name, NameOffset: at, Action: Restart}
	case streaming && c.accept("REBUILD"):
		rebuild := &Rebuild{Name: name, NameOffset: at}
		if c.accept("WITH") {
			rebuild.Options = c.options(RebuildOptions, verb+" … REBUILD")
		}
		s = rebuild
	case streaming:
		c.syntax("PAUSE, RESUME, RESTART, REBUILD, SET, RESET, RENAME TO or OWNER TO")
	default:
		if c.looking("PAUSE") || c.looking("RESUME") || c.looking("RESTART") || c.looking("REBUILD") {
			c.fail(fault.SyntaxError.Newf("%s is for streaming materialized views", c.show(c.toks[c.i])).At(c.offset()).
				WithHint("REFRESH MATERIALIZED VIEW runs a traditional view's query again"))
		}
		c.syntax("SET, RESET, RENAME TO or OWNER TO")
	}
	c.finish("the end of the statement")
	return s
}

// owner takes a principal's name, as identifier or string.
func (c *cursor) owner() string {
	if t, ok := c.peek(0); ok && t.kind == str && t.text != "" && strings.IndexByte(t.text, 0) < 0 {
		c.i++
		return t.text
	}
	return c.ident("the name of a role", false)
}

// dropView parses DROP … MATERIALIZED VIEW.
func (c *cursor) dropView() Statement {
	c.expect("DROP")
	s := &DropView{Streaming: c.viewHead()}
	s.IfExists = c.accept("IF", "EXISTS")
	s.Name, s.NameOffset = c.name("the name of a materialized view")
	if !c.accept("RESTRICT") {
		s.Cascade = c.accept("CASCADE")
	}
	if t, ok := c.peek(0); ok && t.isSymbol(",") {
		c.fail(fault.SyntaxError.Newf("one statement drops one view").At(t.start).WithHint("write a statement for each view"))
	}
	c.finish("RESTRICT, CASCADE or the end of the statement")
	return s
}

func (c *cursor) commentOnView() Statement {
	c.fail(fault.ViewReadOnly.Newf("the comment of a materialized view holds its definition").At(c.offset()))
	return nil
}
