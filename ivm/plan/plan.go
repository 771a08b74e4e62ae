package plan

import (
	"strings"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
)

// Input is what DuckDB says of a query, and what it cannot know.
type Input struct {
	JSON     string          // its optimized plan, from json_serialize_plan
	SQL      string          // the text that positions mean: what the user wrote; "" when there is none
	Names    []string        // of the result's columns; nil leaves the plan's
	Sources  []*Source       // what the query may read
	Volatile map[string]bool // functions, in lower case, that may give another value at each call
	Reasons  []Reason        // what the caller found out itself

	// Evaluator says what can be evaluated; nil: everything.
	Evaluator Evaluator

	// Keeps says of a type of the result whether the view's table keeps it, else why not and what to do; nil keeps all.
	Keeps func(row.Type) (why, hint string)
}

func (in *Input) source(catalog, schema, name string) *Source {
	for _, s := range in.Sources {
		if strings.EqualFold(s.Schema, schema) && strings.EqualFold(s.Name, name) && (s.Catalog == "" || strings.EqualFold(s.Catalog, catalog)) {
			return s
		}
	}
	return nil
}

// Plan is a query as operators.
type Plan struct {
	Root    Node
	Nodes   []*Info  // every node once, a node before its inputs; Nodes[0] is the Root's
	Reasons []Reason // why it cannot be maintained; empty when it can

	infos map[Node]*Info
}

// Read makes a plan of DuckDB's JSON. It fails only when DuckDB did: what cannot be maintained is in the Reasons.
func Read(in Input) (*Plan, error) {
	t, err := parseJSON(in.JSON)
	if err != nil {
		return nil, fault.InternalError.Wrap(err, "reading DuckDB's plan")
	}
	if t.bool("error") {
		e := fault.SQLError.Newf("%s Error: %s", title(t.str("error_type")), t.str("error_message"))
		if p := (&tree{kind: jsonNumber, text: t.str("position")}).int(); p >= 0 {
			e = e.At(p)
		}
		return nil, e
	}
	plans := t.get("plans").list()
	if len(plans) != 1 {
		return nil, fault.InternalError.Newf("DuckDB made %d plans of one query", len(plans))
	}
	d := newDecoder(&in)
	return build(&in, normalize(d.node(&plans[0]))), nil
}

func title(s string) string {
	if s == "" {
		return "Unknown"
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Of makes a plan of nodes that were made by hand.
func Of(root Node) *Plan { return build(&Input{}, root) }

func build(in *Input, root Node) *Plan {
	if len(in.Names) == len(root.Columns()) && in.Names != nil {
		root = renamed(root, in.Names)
	}
	p := &Plan{Root: root, infos: map[Node]*Info{}}
	p.describe(root, nil)
	p.admit(in)
	return p
}

// renamed gives the result the names of the query.
func renamed(root Node, names []string) Node {
	if p, ok := root.(*Project); ok {
		return &Project{p.Input, p.Exprs, names}
	}
	cols := root.Columns()
	same := true
	for i := range cols {
		same = same && cols[i].Name == names[i]
	}
	if same {
		return root
	}
	return &Project{root, allRefs(cols), names}
}

// Unplanned is the plan of a query that is refused before it is planned.
func Unplanned(reasons ...Reason) *Plan {
	return build(&Input{}, &Unsupported{Type: "query", Reasons: reasons, Pos: NoPosition})
}

// Shift moves the positions of all reasons, for a query that stands in a longer text.
func (p *Plan) Shift(by int) {
	move := func(rs []Reason) {
		for i := range rs {
			if rs[i].Position != NoPosition {
				rs[i].Position += by
			}
		}
	}
	move(p.Reasons)
	for _, i := range p.Nodes {
		move(i.Reasons)
	}
}

// Admitted says that the query can be maintained.
func (p *Plan) Admitted() bool { return len(p.Reasons) == 0 }

// Info is what is known of a node.
func (p *Plan) Info(n Node) *Info { return p.infos[n] }

// Columns are the result's.
func (p *Plan) Columns() []Column { return p.Root.Columns() }

// Sources are the sources that are scanned, each once.
func (p *Plan) Sources() []*Source {
	var out []*Source
	seen := map[*Source]bool{}
	for _, i := range p.Nodes {
		if s, ok := i.Node.(*Scan); ok && !seen[s.Source] {
			seen[s.Source] = true
			out = append(out, s.Source)
		}
	}
	return out
}
