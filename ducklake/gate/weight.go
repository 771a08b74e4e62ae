package gate

import "math"

// DuckDB binds what macros and views expand to, which can be exponentially more than their texts, and it cannot be interrupted while it
// does. So the expansion is estimated before, and a statement that would become too much is refused.
const (
	maxWeight = 50_000  // tokens that macros and views add to a statement
	maxSQL    = 8 << 20 // bytes of a statement
)

// weight is what a call of a macro or a use of a view becomes: base tokens, and each argument as often as uses says.
type weight struct {
	base float64
	uses []float64 // by the parameter's place
}

// body is a stored text with the names of its parameters.
type body struct {
	params []string // lower case
	toks   []token
}

// weigher estimates expansions. Names are looked up without their schemas; of several objects of one name the heaviest counts.
type weigher struct {
	bodies map[string][]body // views by name, macros as "name("
	known  map[string]weight
	active map[string]bool
	more   *weigher // what is not in bodies is there
}

func newWeigher(more *weigher) *weigher {
	return &weigher{bodies: map[string][]body{}, known: map[string]weight{}, active: map[string]bool{}, more: more}
}

// add makes a view or macro known.
func (w *weigher) add(key string, b body) { w.bodies[key] = append(w.bodies[key], b) }

// of is the weight of one use of a view or macro; found is false when there is none of that name.
func (w *weigher) of(key string) (_ weight, found bool) {
	if got, ok := w.known[key]; ok {
		return got, true
	}
	list := w.bodies[key]
	if len(list) == 0 {
		if w.more != nil {
			return w.more.of(key)
		}
		return weight{}, false
	}
	if w.active[key] {
		return weight{base: math.Inf(1)}, true // it uses itself
	}
	w.active[key] = true
	defer delete(w.active, key)
	var most weight
	for _, b := range list {
		uses := map[string]float64{}
		for _, p := range b.params {
			uses[p] = 0
		}
		most.base = max(most.base, float64(len(b.toks))+w.expansion(b.toks, uses, 1))
		for i, p := range b.params {
			for len(most.uses) <= i {
				most.uses = append(most.uses, 0)
			}
			most.uses[i] = max(most.uses[i], uses[p])
		}
	}
	w.known[key] = most
	return most, true
}

// tablesFollow and tablesEnd are the words between which names are tables; all others are columns, even if a view is called so.
var (
	tablesFollow = set("from join table update into using describe desc show summarize pivot unpivot pivot_wider pivot_longer")
	tablesEnd    = set("select where group order having qualify limit offset on set values window union except intersect when returning")
)

// expansion is how many tokens the views and macros named in toks add. uses counts how often the parameters among them are named, each
// time as often as the text around it is repeated, which is times.
func (w *weigher) expansion(toks []token, uses map[string]float64, times float64) float64 {
	var total float64
	tables := false
	var outer []bool // tables before the open parentheses
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		before := token{}
		if i > 0 {
			before = toks[i-1]
		}
		switch {
		case t.op('('):
			outer = append(outer, tables)
			tables = tables && !before.name()
		case t.op(')') && len(outer) > 0:
			tables, outer = outer[len(outer)-1], outer[:len(outer)-1]
		case t.kind == word && tablesFollow[t.lower]:
			tables = true
			continue
		case t.kind == word && tablesEnd[t.lower]:
			tables = false
			continue
		}
		if !t.name() {
			continue
		}
		if _, param := uses[t.lower]; param {
			uses[t.lower] += times
		}
		if i+1 >= len(toks) || !toks[i+1].op('(') {
			// Behind another name it is an alias.
			if tables && (before.op(',') || before.op('(') || before.op('.') || before.kind == word && tablesFollow[before.lower] || before.is("lateral")) {
				if v, ok := w.of(t.lower); ok {
					total += v.base
				}
			}
			continue
		}
		m, ok := w.of(t.lower + "(")
		if !ok {
			continue
		}
		total += m.base
		args, end := splitArguments(toks, i+1)
		for k, arg := range args {
			n := m.most(k, arg)
			total += n*(w.expansion(arg, uses, times*n)+float64(len(arg))) - float64(len(arg))
		}
		i = end
	}
	return total
}

// most is how often the k-th argument of a call occurs in what it becomes, at least once. A named one may be any parameter.
func (m weight) most(k int, arg []token) float64 {
	n := 1.0
	named := len(arg) > 3 && arg[0].name() && (arg[1].op(':') || arg[1].op('='))
	for at, u := range m.uses {
		if at == k || named {
			n = max(n, u)
		}
	}
	return n
}

// splitArguments takes the parenthesised list that opens at a token apart; end is its last token.
func splitArguments(toks []token, open int) (args [][]token, end int) {
	depth, from := 0, open+1
	for i := open; i < len(toks); i++ {
		switch t := toks[i]; {
		case t.op('('), t.op('['), t.op('{'):
			depth++
		case t.op(')'), t.op(']'), t.op('}'):
			if depth--; depth == 0 {
				return append(args, toks[from:i]), i
			}
		case t.op(',') && depth == 1:
			args, from = append(args, toks[from:i]), i+1
		}
	}
	return append(args, toks[min(from, len(toks)):]), len(toks)
}
