package gate

import (
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

// statement is what the tokens alone say about a text.
type statement struct {
	kind, inner Kind
	analyze     bool // EXPLAIN ANALYZE
	body        int  // the first token of the explained statement
	verb        int  // the token of SELECT, INSERT, … behind a WITH clause

	target    []token // the name that is written, made, dropped or altered
	object    ObjectType
	made      int // the token that names a macro to be made, or -1
	temp      bool
	replace   bool
	ifExists  bool
	cascade   bool
	column    string
	renamed   string // ALTER … RENAME TO
	retypes   bool   // ALTER TABLE … ADD COLUMN, SET TYPE or SET DEFAULT
	queryFrom int    // CREATE TABLE AS, CREATE VIEW: the first token of the query
	queryTo   int    // and the first token behind it
	noData    bool
	columns   []string // CREATE TABLE t (a, b) AS …

	effect *SessionEffect
	expr   int // SET VARIABLE: the first token of the expression
}

// cursor walks over the tokens of one statement.
type cursor struct {
	toks []token
	i    int
	end  int // offset of the text's end
}

func (c *cursor) more() bool { return c.i < len(c.toks) }

func (c *cursor) peek(n int) token {
	if c.i+n < len(c.toks) {
		return c.toks[c.i+n]
	}
	return token{kind: op, text: "\x00", start: c.end, end: c.end}
}

// take goes over the keywords if they are next.
func (c *cursor) take(keywords ...string) bool {
	for n, k := range keywords {
		if !c.peek(n).is(k) {
			return false
		}
	}
	c.i += len(keywords)
	return true
}

func (c *cursor) takeOp(ch byte) bool {
	if c.peek(0).op(ch) {
		c.i++
		return true
	}
	return false
}

// group skips a parenthesised group that starts here.
func (c *cursor) group() error {
	open := c.peek(0)
	depth := 0
	for ; c.more(); c.i++ {
		switch t := c.toks[c.i]; {
		case t.op('('):
			depth++
		case t.op(')'):
			if depth--; depth == 0 {
				c.i++
				return nil
			}
		}
	}
	return fault.SyntaxError.Newf("a parenthesis is not closed").At(open.start)
}

// dotted reads a name of up to max parts.
func (c *cursor) dotted(limit int) ([]token, error) {
	var parts []token
	for {
		t := c.peek(0)
		if !t.name() {
			return nil, fault.SyntaxError.Newf("a name was expected").At(t.start)
		}
		if parts = append(parts, t); len(parts) > limit {
			return nil, fault.SyntaxError.Newf("a name has at most %d parts", limit).At(t.start)
		}
		c.i++
		if !c.takeOp('.') {
			return parts, nil
		}
	}
}

// instead says, for the statements users may miss, what to use.
var instead = map[string]string{
	"attach": "one server serves one lake", "detach": "one server serves one lake",
	"copy":   "load data through Flight SQL bulk ingest or INSERT, and read it by SELECT",
	"export": "read the tables by SELECT", "import": "load data through Flight SQL bulk ingest or INSERT",
	"pragma": "use DESCRIBE, SHOW and SET", "call": "use SELECT … FROM the function, if it is one that users may call",
	"checkpoint": "the server maintains the lake", "force": "the server maintains the lake", "vacuum": "the server maintains the lake", "analyze": "the lake keeps its statistics itself",
	"load": "extensions are chosen when the server starts", "install": "extensions are chosen when the server starts",
	"prepare": "use prepared statements of the client", "execute": "use prepared statements of the client", "deallocate": "use prepared statements of the client",
	"refresh": "REFRESH MATERIALIZED VIEW name", "kill": "use CANCEL JOB or cancel the query",
	"grant": "the server does not have roles yet", "revoke": "the server does not have roles yet",
	"savepoint": "transactions have no savepoints", "release": "transactions have no savepoints",
}

var selectHeads = set("select from values table pivot pivot_wider unpivot pivot_longer summarize")

// read finds out what the tokens are; they are one statement without its semicolon.
func read(toks []token, end int) (*statement, error) {
	if len(toks) == 0 {
		return nil, fault.SyntaxError.Newf("the text has no statement")
	}
	for _, t := range toks {
		if t.op(';') {
			return nil, fault.SyntaxError.Newf("one statement at a time").At(t.start)
		}
	}
	c := &cursor{toks: toks, end: end}
	st := &statement{queryFrom: -1, expr: -1, made: -1}
	err := st.head(c)
	if st.kind != Explain {
		st.inner = st.kind
	}
	return st, err
}

// transaction takes what DuckDB does after such a word, and nothing else: a rollback to a savepoint is none of the transaction.
func (st *statement) transaction(c *cursor, kind Kind) error {
	st.kind = kind
	c.i++
	if !c.take("transaction") {
		c.take("work")
	}
	if kind == Begin && !c.take("read", "write") && c.peek(0).is("read") && c.peek(1).is("only") {
		return fault.NotYetSupported.Newf("transactions that only read are not offered").At(c.peek(0).start).WithHint("leave READ ONLY out")
	}
	if c.more() {
		return fault.SyntaxError.Newf("%s is not followed by %q", kind, c.peek(0).text).At(c.peek(0).start)
	}
	return nil
}

func (st *statement) head(c *cursor) error {
	first := c.peek(0)
	if first.op('(') {
		st.kind, st.verb = Select, c.i
		return st.dataOnly(c)
	}
	if first.kind != word {
		return fault.SyntaxError.Newf("a statement was expected").At(first.start)
	}
	if selectHeads[first.lower] {
		st.kind, st.verb = Select, c.i
		return nil
	}
	switch first.lower {
	case "with":
		return st.with(c)
	case "insert", "update", "delete", "merge", "truncate":
		return st.dml(c)
	case "describe", "desc", "show":
		st.kind = Describe
		return nil
	case "explain":
		return st.explain(c)
	case "create":
		return st.create(c)
	case "drop":
		return st.drop(c)
	case "alter":
		return st.alter(c)
	case "comment":
		return st.comment(c)
	case "use", "set", "reset":
		return st.settings(c)
	case "begin", "start":
		return st.transaction(c, Begin)
	case "commit", "end":
		return st.transaction(c, Commit)
	case "rollback", "abort":
		return st.transaction(c, Rollback)
	}
	hint, known := instead[first.lower]
	if !known {
		return fault.SyntaxError.Newf("no statement begins with %s", strings.ToUpper(first.text)).At(first.start)
	}
	return fault.StatementForbidden.Newf("%s is not a statement that users may run", strings.ToUpper(first.text)).At(first.start).WithHint("%s", hint)
}

// dataOnly is for statements that start with a parenthesis: inside must be a query.
func (st *statement) dataOnly(c *cursor) error {
	inner := *c
	for inner.peek(0).op('(') {
		inner.i++
	}
	if t := inner.peek(0); !t.is("with") && !selectHeads[t.lower] && !t.is("describe") && !t.is("show") && !t.is("desc") {
		return fault.StatementForbidden.Newf("a query was expected").At(t.start)
	}
	return nil
}

// with skips the common table expressions and reads the statement behind them.
func (st *statement) with(c *cursor) error {
	c.i++
	c.take("recursive")
	for {
		if _, err := c.dotted(1); err != nil {
			return err
		}
		if c.peek(0).op('(') {
			if err := c.group(); err != nil {
				return err
			}
		}
		if c.take("using", "key") {
			if err := c.group(); err != nil {
				return err
			}
		}
		if !c.take("as") {
			return fault.SyntaxError.Newf("AS was expected in the WITH clause").At(c.peek(0).start)
		}
		c.take("not")
		c.take("materialized")
		inner := *c
		if !inner.takeOp('(') {
			return fault.SyntaxError.Newf("a query in parentheses was expected").At(c.peek(0).start)
		}
		if err := st.dataOnly(&inner); err != nil {
			return err
		}
		if err := c.group(); err != nil {
			return err
		}
		if !c.takeOp(',') {
			break
		}
	}
	t := c.peek(0)
	switch {
	case t.op('('), selectHeads[t.lower] && t.kind == word:
		st.kind, st.verb = Select, c.i
		return nil
	case t.is("insert"), t.is("update"), t.is("delete"), t.is("merge"):
		return st.dml(c)
	}
	return fault.SyntaxError.Newf("SELECT, INSERT, UPDATE, DELETE or MERGE was expected behind the WITH clause").At(t.start)
}

func (st *statement) dml(c *cursor) (err error) {
	st.verb, st.object = c.i, TableObject
	verb := c.peek(0)
	c.i++
	switch verb.lower {
	case "insert":
		st.kind = Insert
		if c.take("or") {
			c.i++
		}
		if !c.take("into") {
			return fault.SyntaxError.Newf("INTO was expected").At(c.peek(0).start)
		}
	case "update":
		st.kind = Update
		if c.peek(0).is("extensions") && (c.peek(1).op('(') || !c.peek(1).name()) {
			return fault.StatementForbidden.Newf("UPDATE EXTENSIONS is not for users").At(verb.start)
		}
		if c.peek(0).is("only") && c.peek(1).name() && !c.peek(1).is("set") && !c.peek(1).is("as") {
			c.i++
		}
	case "delete":
		st.kind = Delete
		if !c.take("from") {
			return fault.SyntaxError.Newf("FROM was expected").At(c.peek(0).start)
		}
		if c.peek(0).is("only") && c.peek(1).name() && !c.peek(1).is("using") && !c.peek(1).is("where") && !c.peek(1).is("as") {
			c.i++
		}
	case "merge":
		st.kind = Merge
		if !c.take("into") {
			return fault.SyntaxError.Newf("INTO was expected").At(c.peek(0).start)
		}
	case "truncate":
		st.kind = Truncate
		if c.peek(0).is("table") && c.peek(1).name() {
			c.i++
		}
	}
	st.target, err = c.dotted(3)
	st.made = c.i - 1
	return err
}

// explain reads EXPLAIN [ANALYZE] [(…)] and the statement that it explains.
func (st *statement) explain(c *cursor) error {
	start := c.peek(0).start
	c.i++
	if c.take("analyze") {
		st.analyze = true
	} else if c.peek(0).op('(') && !c.peek(1).op('(') && !c.peek(1).is("select") && !c.peek(1).is("with") &&
		!c.peek(1).is("from") && !c.peek(1).is("values") && !c.peek(1).is("table") {
		from := c.i
		if err := c.group(); err != nil {
			return err
		}
		for _, t := range c.toks[from:c.i] {
			// Any option that may mean ANALYZE counts as one, whatever its value.
			st.analyze = st.analyze || t.lower == "analyze"
		}
	}
	st.body = c.i
	inner := &statement{queryFrom: -1, expr: -1, made: -1}
	if err := inner.head(c); err != nil {
		return err
	}
	if k := inner.kind; k != Select && k != Describe && !k.DML() {
		return fault.StatementForbidden.Newf("EXPLAIN takes a query or INSERT, UPDATE, DELETE, MERGE, TRUNCATE").At(start)
	}
	analyze, body := st.analyze, st.body
	*st = *inner
	st.kind, st.inner, st.analyze, st.body = Explain, inner.kind, analyze, body
	return nil
}
