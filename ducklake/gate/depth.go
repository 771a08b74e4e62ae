package gate

import (
	"fmt"

	"github.com/vegadb/vega-flight/fault"
)

// DuckDB recurses over some texts and values without a limit: deep enough, they end the process.
const (
	maxDots   = 100     // names with dots between them
	maxArrows = 16      // -> operators upon each other; here it is time: each is tried as a lambda and as an operator
	maxShape  = 8 << 10 // bytes of the structure that json_transform takes
)

// bounded refuses texts whose own form DuckDB's binder does not come to an end with, or not alive.
func bounded(toks []token) error {
	type group struct{ outer, most int } // arrows before it, and of its longest part so far
	var open []group
	dots, arrows, most := 0, 0, 0
	for i, t := range toks {
		switch {
		case t.op('.'):
			if dots++; dots > maxDots {
				return fault.SyntaxError.Newf("a name has more than %d parts", maxDots).At(t.start)
			}
		case !t.name() || i == 0 || !toks[i-1].op('.'):
			dots = 0
		}
		switch {
		case t.op('('), t.op('['), t.op('{'):
			open = append(open, group{arrows, most})
			arrows, most = 0, 0
		case t.op(')'), t.op(']'), t.op('}'):
			if n := len(open); n > 0 {
				arrows, most = open[n-1].outer+max(arrows, most), open[n-1].most
				open = open[:n-1]
			}
		case t.op(','), t.is("and"), t.is("or"), t.is("from"), t.is("where"), t.is("as"), t.is("when"), t.is("then"), t.is("else"):
			arrows, most = 0, max(arrows, most)
		case t.op('-') && i+1 < len(toks) && toks[i+1].op('>') && toks[i+1].start == t.end:
			arrows++
		}
		if arrows > maxArrows {
			return fault.SyntaxError.Newf("more than %d arrows upon each other", maxArrows).At(t.start).
				WithHint("give the path as one text: json_extract(value, '$.a.b.c')")
		}
	}
	return nil
}

// shaped take the shape of their result as their last argument, over which DuckDB recurses without a limit.
var shaped = set("json_transform json_transform_strict from_json from_json_strict")

// checkShape makes sure that the shape in a call is a short text, and nothing computed. open is the call's parenthesis.
func checkShape(toks []token, name token, open int) error {
	args, _ := splitArguments(toks, open)
	last := args[len(args)-1]
	if len(last) != 1 || last[0].kind != str || last[0].end-last[0].start > maxShape {
		return refuseFunction(name.text, fmt.Sprintf("its last argument, the result's structure, must be a text of at most %d KiB", maxShape>>10), name.start)
	}
	return nil
}

// notTypes are words behind which a name is no type, although they are names themselves.
var notTypes = set("column add drop rename to not exists alter select from where and or on by as in is then else when case join using distinct all order having set update into values table with returning if")

// checkVariant refuses the type VARIANT, whose values DuckDB makes by recursion without a limit. variant is also a usual name of columns.
func checkVariant(toks []token, definition bool) error {
	var open []int // tokens before the open parentheses
	for i, t := range toks {
		switch {
		case t.op('('):
			open = append(open, i-1)
		case t.op(')') && len(open) > 0:
			open = open[:len(open)-1]
		}
		if !t.name() || t.lower != "variant" || i == 0 {
			continue
		}
		before, around := toks[i-1], token{}
		if n := len(open); n > 0 && open[n-1] >= 0 {
			around = toks[open[n-1]]
		}
		named := before.name() && !(before.kind == word && notTypes[before.lower]) || before.is("type") || before.is("data")
		isType := before.op(':') && i > 1 && toks[i-2].op(':') ||
			before.is("as") && (around.is("cast") || around.is("try_cast")) ||
			named && (definition || around.is("struct") || around.is("union")) ||
			(before.op(',') || before.op('(')) && around.is("map")
		if isType {
			return fault.StatementForbidden.Newf("the type VARIANT is not allowed: a value that is nested deeply enough would end the server").At(t.start).
				WithHint("use JSON")
		}
	}
	return nil
}
