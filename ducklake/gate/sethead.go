package gate

import (
	"strconv"
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

// settings reads USE, SET and RESET. Names of schemas are resolved later.
func (st *statement) settings(c *cursor) (err error) {
	verb := c.peek(0)
	c.i++
	if verb.lower == "use" {
		st.kind, st.effect = Use, &SessionEffect{Kind: UseSchema}
		if st.target, err = c.dotted(2); err != nil {
			return err
		}
		return c.done()
	}
	st.kind = Set
	if verb.lower == "reset" {
		st.kind = Reset
	}
	if c.peek(0).is("global") && !c.peek(1).op('=') {
		return fault.StatementForbidden.Newf("global settings are the operator's").At(c.peek(0).start)
	}
	if !c.peek(1).op('=') && !c.peek(1).is("to") {
		_ = c.take("session") || c.take("local")
	}
	if c.take("variable") {
		return st.variable(c)
	}
	name := c.peek(0)
	option := ""
	if c.take("time", "zone") {
		option = "timezone"
	} else {
		parts, err := c.dotted(2)
		if err != nil {
			return err
		}
		for i, p := range parts {
			if i > 0 {
				option += "."
			}
			option += p.lower
		}
		if st.kind == Set && !c.takeOp('=') && !c.take("to") {
			return fault.SyntaxError.Newf("= was expected").At(c.peek(0).start)
		}
	}
	switch {
	case option == "timezone", strings.HasPrefix(option, "vega."), option == "schema", option == "search_path":
	default:
		return fault.UnknownOption.Newf("%s is not a setting of a session", option).At(name.start).
			WithHint("a session can set TimeZone, schema, search_path and the settings that SHOW vega.settings lists")
	}
	if st.kind == Reset {
		st.effect = &SessionEffect{Kind: ResetOption, Option: option}
		return c.done()
	}
	return st.value(c, option)
}

// value reads the value of SET option = value.
func (st *statement) value(c *cursor, option string) error {
	t := c.peek(0)
	sign := ""
	if t.op('-') {
		sign = "-"
		c.i++
		t = c.peek(0)
	}
	var v any
	switch {
	case t.is("default") || option == "timezone" && t.is("local"):
		st.effect = &SessionEffect{Kind: ResetOption, Option: option}
		c.i++
		return c.done()
	case t.is("true"), t.is("on"):
		v = true
	case t.is("false"), t.is("off"):
		v = false
	case t.kind == str, t.name():
		v = t.text
	case t.kind == number:
		text := sign + strings.ReplaceAll(t.text, "_", "")
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			v = n
		} else if f, err := strconv.ParseFloat(text, 64); err == nil {
			v = f
		}
	}
	if v == nil {
		return fault.InvalidOption.Newf("the value of %s must be a literal", option).At(t.start)
	}
	c.i++
	if option == "schema" || option == "search_path" {
		text, ok := v.(string)
		if !ok {
			return fault.InvalidOption.Newf("%s takes the name of a schema", option).At(t.start)
		}
		path, err := pathTokens(text, t, c)
		if err != nil {
			return err
		}
		st.target, st.effect = path, &SessionEffect{Kind: UseSchema}
		return c.done()
	}
	st.effect = &SessionEffect{Kind: SetOption, Option: option, Value: v}
	return c.done()
}

// pathTokens reads the schema of SET schema = 'lake.sales' or SET schema = lake.sales.
func pathTokens(text string, t token, c *cursor) ([]token, error) {
	if t.kind != str {
		c.i--
		return c.dotted(2)
	}
	toks, _, err := scan(text)
	if err != nil {
		return nil, fault.InvalidOption.Newf("%q is not the name of a schema", text).At(t.start)
	}
	inner := &cursor{toks: toks}
	parts, err := inner.dotted(2)
	if err != nil || inner.more() {
		return nil, fault.InvalidOption.Newf("%q is not the name of one schema", text).At(t.start)
	}
	for i := range parts {
		parts[i].start, parts[i].end = t.start, t.end
	}
	return parts, nil
}

// variable reads SET VARIABLE x = expression and RESET VARIABLE x.
func (st *statement) variable(c *cursor) error {
	if _, err := c.dotted(1); err != nil {
		return err
	}
	st.effect = &SessionEffect{Kind: SetVariable}
	if st.kind == Reset {
		return c.done()
	}
	if !c.takeOp('=') && !c.take("to") {
		return fault.SyntaxError.Newf("= was expected").At(c.peek(0).start)
	}
	st.expr = c.i
	return nil
}

// done refuses tokens behind the statement's end.
func (c *cursor) done() error {
	if c.more() {
		return fault.SyntaxError.Newf("the end of the statement was expected").At(c.peek(0).start)
	}
	return nil
}
