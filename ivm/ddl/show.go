package ddl

import (
	"strconv"
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

// The number of rows of SHOW JOBS.
const (
	DefaultJobsLimit = 100
	MaxJobsLimit     = 10000
)

// showHead tells our SHOW statements from DuckDB's, which describe a table of that name.
func (c *cursor) showHead() func(*cursor) Statement {
	next, hasNext := c.peek(2)
	switch {
	case c.looking("SHOW", "MATERIALIZED", "VIEW"), c.looking("SHOW", "MATERIALIZED", "VIEWS"),
		c.looking("SHOW", "STREAMING", "MATERIALIZED"),
		c.looking("SHOW", "CREATE", "MATERIALIZED"), c.looking("SHOW", "CREATE", "STREAMING"):
		return (*cursor).showView
	case c.looking("SHOW", "JOBS") && !next.isSymbol("."):
		return (*cursor).showJobs
	case c.looking("SHOW", "JOB") && hasNext && !next.isSymbol("."):
		return (*cursor).showJob
	case c.looking("SHOW", "VEGA") && next.isSymbol("."):
		name, ok := c.peek(3)
		if ok && (name.is("SETTINGS") || name.kind == word && find(Settings, name.text) != nil) {
			return (*cursor).showSettings
		}
	}
	return nil
}

// showView parses SHOW [CREATE] [STREAMING] MATERIALIZED VIEW name | VIEWS [IN schema].
func (c *cursor) showView() Statement {
	c.expect("SHOW")
	create := c.accept("CREATE")
	streaming := c.accept("STREAMING")
	c.expect("MATERIALIZED")
	var s Statement
	switch {
	case create:
		c.expect("VIEW")
		show := &ShowCreate{Streaming: streaming}
		show.Name, show.NameOffset = c.name("the name of a materialized view")
		s = show
	case c.accept("VIEWS"):
		show := &ShowViews{Streaming: streaming}
		if c.accept("IN") {
			in, at := c.schema()
			show.In, show.InOffset = &in, at
		}
		c.finish("IN and a schema, or the end of the statement")
		return show
	case c.accept("VIEW"):
		show := &ShowView{Streaming: streaming}
		show.Name, show.NameOffset = c.name("the name of a materialized view")
		s = show
	default:
		c.syntax("VIEW or VIEWS")
	}
	c.finish("the end of the statement")
	return s
}

// showJobs parses SHOW JOBS [FOR MATERIALIZED VIEW name] [LIMIT n].
func (c *cursor) showJobs() Statement {
	c.expect("SHOW", "JOBS")
	s := &ShowJobs{Limit: DefaultJobsLimit}
	if c.accept("FOR") {
		c.expect("MATERIALIZED", "VIEW")
		name, at := c.name("the name of a materialized view")
		s.View, s.NameOffset = &name, at
	}
	if c.accept("LIMIT") {
		t, ok := c.peek(0)
		n, err := strconv.ParseInt(t.text, 10, 64)
		if !ok || t.kind != number || err != nil || n < 1 || n > MaxJobsLimit {
			c.fail(fault.SyntaxError.Newf("LIMIT takes a whole number from 1 to %d", MaxJobsLimit).At(c.offset()))
		}
		c.i++
		s.Limit = n
	}
	c.finish("FOR MATERIALIZED VIEW, LIMIT or the end of the statement")
	return s
}

// showJob parses SHOW JOB 'id' [WITH (wait = true)].
func (c *cursor) showJob() Statement {
	c.expect("SHOW", "JOB")
	s := &ShowJob{}
	s.ID, s.IDOffset = c.text("the job's id as a string")
	if c.accept("WITH") {
		s.Options = c.options(JobOptions, s.Verb())
	}
	c.finish("WITH or the end of the statement")
	return s
}

// cancelJob parses CANCEL JOB 'id'.
func (c *cursor) cancelJob() Statement {
	c.expect("CANCEL", "JOB")
	s := &CancelJob{}
	s.ID, s.IDOffset = c.text("the job's id as a string")
	c.finish("the end of the statement")
	return s
}

// settingHead tells SET and RESET of our settings from DuckDB's.
func (c *cursor) settingHead() func(*cursor) Statement {
	i := 1
	if t, ok := c.peek(1); ok && (t.is("SESSION") || t.is("GLOBAL") || t.is("LOCAL")) {
		i = 2
	}
	name, _ := c.peek(i)
	if dot, _ := c.peek(i + 1); name.is("VEGA") && dot.isSymbol(".") {
		return (*cursor).setting
	}
	return nil
}

// setting parses SET [SESSION] vega.name = value | RESET [SESSION] vega.name.
func (c *cursor) setting() Statement {
	reset := c.accept("RESET")
	if !reset {
		c.expect("SET")
	}
	for _, scope := range []string{"GLOBAL", "LOCAL"} {
		if at := c.offset(); c.accept(scope) {
			c.fail(fault.SyntaxError.Newf("vega.* settings belong to the session; %s does not exist for them", scope).At(at))
		}
	}
	c.accept("SESSION")
	c.expect("VEGA")
	c.expectSymbol(".")
	spec := c.optionName(Settings, "SET vega.*")
	if reset {
		c.finish("the end of the statement")
		if c.err != nil {
			return nil
		}
		return &ResetVega{Setting: spec.Name}
	}
	if !c.acceptSymbol("=") && !c.accept("TO") {
		c.syntax("`=`")
	}
	if c.err != nil {
		return nil
	}
	if c.accept("DEFAULT") {
		c.finish("the end of the statement")
		return &ResetVega{Setting: spec.Name}
	}
	s := &SetVega{Setting: spec.Name, Value: c.value(spec)}
	c.finish("the end of the statement")
	return s
}

// showSettings parses SHOW vega.settings | SHOW vega.name.
func (c *cursor) showSettings() Statement {
	c.expect("SHOW", "VEGA")
	c.expectSymbol(".")
	s := &ShowSettings{}
	if name := strings.ToLower(c.ident("settings", true)); name != "settings" {
		s.Setting = name
	}
	c.finish("the end of the statement")
	return s
}
