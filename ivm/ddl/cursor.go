package ddl

import (
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

// cursor walks the tokens of one statement. After the first error, every
// method does nothing, so that a statement's parser reads like its grammar.
type cursor struct {
	src  string
	toks []token
	i    int
	err  *fault.Error
}

func (c *cursor) fail(e *fault.Error) {
	if c.err == nil {
		c.err = e
	}
	c.i = len(c.toks)
}

// syntax reports what was expected at the next token.
func (c *cursor) syntax(format string, args ...any) {
	if c.err != nil {
		return
	}
	want := fmt.Sprintf(format, args...)
	if t, ok := c.peek(0); ok && t.kind == broken {
		c.fail(fault.SyntaxError.Newf("the %s that starts here has no end", t.text).At(t.start))
	} else if ok {
		c.fail(fault.SyntaxError.Newf("%s is expected, not %s", want, c.show(t)).At(t.start))
	} else {
		c.fail(fault.SyntaxError.Newf("%s is expected, and the statement ends", want).At(c.endOffset()))
	}
}

// show quotes a token's source for a message, shortened.
func (c *cursor) show(t token) string {
	s := c.src[t.start:t.end]
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "…"
	}
	return "`" + s + "`"
}

func (c *cursor) peek(n int) (token, bool) {
	if c.err != nil || c.i+n >= len(c.toks) {
		return token{}, false
	}
	return c.toks[c.i+n], true
}

// offset is the place of the next token.
func (c *cursor) offset() int {
	if t, ok := c.peek(0); ok {
		return t.start
	}
	return c.endOffset()
}

// endOffset is the end of the statement.
func (c *cursor) endOffset() int {
	if len(c.toks) == 0 {
		return 0
	}
	return c.toks[len(c.toks)-1].end
}

func (c *cursor) done() bool { _, more := c.peek(0); return !more }

// looking reports whether the next tokens are these words.
func (c *cursor) looking(words ...string) bool {
	for i, w := range words {
		if t, ok := c.peek(i); !ok || !t.is(w) {
			return false
		}
	}
	return true
}

// accept takes the words if they come next, all of them or none.
func (c *cursor) accept(words ...string) bool {
	if !c.looking(words...) {
		return false
	}
	c.i += len(words)
	return true
}

// expect takes the words or fails.
func (c *cursor) expect(words ...string) {
	for _, w := range words {
		if !c.accept(w) {
			c.syntax("%s", w)
			return
		}
	}
}

func (c *cursor) acceptSymbol(s string) bool {
	if t, ok := c.peek(0); !ok || !t.isSymbol(s) {
		return false
	}
	c.i++
	return true
}

func (c *cursor) expectSymbol(s string) {
	if !c.acceptSymbol(s) {
		c.syntax("`%s`", s)
	}
}

// finish fails unless the statement is over.
func (c *cursor) finish(what string) {
	if !c.done() {
		c.syntax("%s", what)
	}
}

// ident takes one identifier; label says that it follows a dot, where keywords may stand bare.
func (c *cursor) ident(what string, label bool) string {
	t, ok := c.peek(0)
	switch {
	case ok && t.kind == quoted && t.text == "":
		c.fail(fault.SyntaxError.Newf("an identifier has no characters").At(t.start))
		return ""
	case ok && strings.IndexByte(t.text, 0) >= 0:
		c.fail(fault.SyntaxError.Newf("an identifier holds a zero byte").At(t.start))
		return ""
	case ok && (t.kind == quoted || t.kind == word && (label || !nameForbidden[strings.ToLower(t.text)])):
		c.i++
		return t.text
	case ok && t.isSymbol("`"):
		c.fail(fault.SyntaxError.Newf("backticks do not quote identifiers here").At(t.start).
			WithHint(`write double quotes: "name"`))
		return ""
	case ok && t.kind == word:
		c.fail(fault.SyntaxError.Newf("%s is expected, and %s is a reserved word", what, c.show(t)).At(t.start).
			WithHint("quote it: %s", `"`+t.text+`"`))
		return ""
	}
	c.syntax("%s", what)
	return ""
}

// parts takes a dotted name of at most three parts and returns it with its offset.
func (c *cursor) parts(what string) (parts []string, offset int) {
	offset = c.offset()
	parts = []string{c.ident(what, false)}
	for c.acceptSymbol(".") {
		if len(parts) == 3 {
			c.fail(fault.SyntaxError.Newf("a name has at most three parts (catalog.schema.name)").At(c.offset()))
			return parts, offset
		}
		parts = append(parts, c.ident("the next part of the name", true))
	}
	return parts, offset
}

// name takes [catalog.][schema.]name.
func (c *cursor) name(what string) (Name, int) {
	parts, offset := c.parts(what)
	switch len(parts) {
	case 1:
		return Name{Name: parts[0]}, offset
	case 2:
		return Name{Schema: parts[0], Name: parts[1]}, offset
	}
	return Name{Catalog: parts[0], Schema: parts[1], Name: parts[2]}, offset
}

// schema takes [catalog.]schema.
func (c *cursor) schema() (SchemaName, int) {
	parts, offset := c.parts("the name of a schema")
	switch {
	case c.err != nil:
	case len(parts) == 1:
		return SchemaName{Schema: parts[0]}, offset
	case len(parts) == 2:
		return SchemaName{Catalog: parts[0], Schema: parts[1]}, offset
	default:
		c.fail(fault.SyntaxError.Newf("a schema's name has at most two parts (catalog.schema)").At(offset))
	}
	return SchemaName{}, offset
}

// names takes (name, …); a name that comes twice is refused.
func (c *cursor) names(what string) []string {
	c.expectSymbol("(")
	var out []string
	seen := map[string]bool{}
	for c.err == nil {
		at := c.offset()
		n := c.ident(what, true)
		if key := strings.ToLower(n); c.err == nil && seen[key] {
			c.fail(fault.SyntaxError.Newf("%s is there twice", QuoteIdent(n)).At(at))
		} else {
			seen[key] = true
		}
		out = append(out, n)
		if c.acceptSymbol(")") {
			break
		}
		if !c.acceptSymbol(",") {
			c.syntax("`,` or `)`")
		}
	}
	return out
}

// rest takes everything that is left, as written.
func (c *cursor) rest(what string) (text string, offset int) {
	if c.done() {
		c.syntax("%s", what)
		return "", c.endOffset()
	}
	first, last := c.toks[c.i], c.toks[len(c.toks)-1]
	for _, t := range c.toks[c.i:] {
		if t.kind == broken {
			c.fail(fault.SyntaxError.Newf("the %s that starts here has no end", t.text).At(t.start))
			return "", first.start
		}
	}
	c.i = len(c.toks)
	return c.src[first.start:last.end], first.start
}

// text takes one string literal.
func (c *cursor) text(what string) (string, int) {
	t, ok := c.peek(0)
	if !ok || t.kind != str {
		c.syntax("%s", what)
		return "", c.offset()
	}
	c.i++
	return t.text, t.start
}
