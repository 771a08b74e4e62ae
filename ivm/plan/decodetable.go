package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
)

// get reads a scan: the table's columns, the filters that DuckDB pushed into it, and what is left of them.
func (d *decoder) get(t *tree) (Node, error) {
	table := t.get("function_data")
	if table.str("table") == "" {
		return d.tableFunction(t)
	}
	if t.get("extra_info").get("sample_options").kind == jsonObject {
		return nil, &unsupported{Sample, NoPosition, "a sample is another one each time", "filter by a hash of a key instead"}
	}
	src := d.in.source(table.str("catalog"), table.str("schema"), table.str("table"))
	if src == nil {
		return nil, &unsupported{UnknownSource, NoPosition, fmt.Sprintf("%s.%s is none of the sources", table.str("schema"), table.str("table")), ""}
	}
	var names []string
	for _, n := range t.get("names").list() {
		names = append(names, n.text)
	}
	g := &getReader{d: d, src: src, names: names}
	indexes := t.get("column_indexes").list()
	filters := t.get("table_filters").get("filters").list()
	var used []int // columns of the source
	for i := range indexes {
		if c := g.column(indexes[i].get("index")); c >= 0 {
			used = append(used, c)
		}
	}
	for i := range filters {
		c := g.column(filters[i].get("key"))
		if c < 0 {
			return nil, rowIdentifier()
		}
		used = append(used, c)
	}
	slices.Sort(used)
	used = slices.Compact(used)
	scan := &Scan{Source: src, Pos: NoPosition}
	g.place = map[int]int{}
	for i, c := range used {
		scan.Fields = append(scan.Fields, src.Columns[c])
		g.place[c] = i
	}
	g.cols = scan.Columns()
	var pred []Expr
	for i := range filters {
		if e := g.filter(g.ref(g.column(filters[i].get("key"))), filters[i].get("value"), 0); e != nil {
			pred = append(pred, e)
		}
	}
	var n Node = scan
	if p := AndAll(pred); p != nil {
		n = &Filter{scan, p}
	}
	out := &Project{Input: n}
	kept := t.get("projection_ids").ints()
	if len(kept) == 0 {
		for i := range indexes {
			kept = append(kept, i)
		}
	}
	for _, i := range kept {
		if i < 0 || i >= len(indexes) {
			return nil, fmt.Errorf("a scan gives its column %d of %d", i, len(indexes))
		}
		e, name, err := g.output(&indexes[i])
		if err != nil {
			return nil, err
		}
		out.Exprs, out.Names = append(out.Exprs, e), append(out.Names, name)
	}
	return out, nil
}

func rowIdentifier() *unsupported {
	return &unsupported{RowIdentifier, NoPosition, "where a row lies changes without the row", "use the table's own columns"}
}

// getReader reads parts of one scan.
type getReader struct {
	d     *decoder
	src   *Source
	names []string    // of the table's columns, by DuckDB's numbers
	place map[int]int // the source's columns in the scan
	cols  []Column
}

// column is the source's column of DuckDB's number, or -1 for one that is no column.
func (g *getReader) column(index *tree) int {
	i := index.int()
	if i < 0 || i >= len(g.names) {
		return -1
	}
	return g.src.column(g.names[i])
}

func (g *getReader) ref(c int) Expr { return ref(g.cols, g.place[c]) }

// output is one of the scan's columns, or a part of it.
func (g *getReader) output(index *tree) (Expr, string, error) {
	c := g.column(index.get("index"))
	if c < 0 {
		if index.get("index").int() >= 0 {
			return nil, "", fmt.Errorf("table %s has no column for its number %s", g.src, index.get("index").text)
		}
		// A row number, which count(*) asks for without using it.
		return &Refused{Typed{bigint, NoPosition}, Reason(*rowIdentifier())}, "rowid", nil
	}
	e, name := g.ref(c), g.src.Columns[c].Name
	if index.str("index_type") != "PUSHDOWN_EXTRACT" {
		return e, name, nil
	}
	for path := index.get("child_indexes").list(); len(path) > 0; path = path[0].get("child_indexes").list() {
		if len(path) != 1 {
			return nil, "", fmt.Errorf("a scan takes %d fields of a struct as one", len(path))
		}
		var err error
		if e, err = field(e, path[0].get("index").int()); err != nil {
			return nil, "", err
		}
	}
	return e, name, nil
}

// field is a STRUCT's field.
func field(e Expr, i int) (Expr, error) {
	t := e.Result()
	if t.Kind != row.Struct || i < 0 || i >= len(t.Children) {
		return nil, fmt.Errorf("field %d of %s", i, t)
	}
	f := &Function{Typed: Typed{t.Children[i], NoPosition}, Name: "struct_extract", Args: []Expr{e, nil}, ArgTypes: []row.Type{t, {Kind: row.Varchar}}}
	if t.Names[i] == "" {
		f.Name, f.ArgTypes[1] = "struct_extract_at", bigint
		f.Args[1] = Int(int64(i + 1))
	} else {
		f.Args[1] = &Constant{Typed{row.Type{Kind: row.Varchar}, NoPosition}, t.Names[i]}
	}
	return f, nil
}

// filter reads a filter on e; nil when it says nothing.
func (g *getReader) filter(e Expr, t *tree, depth int) Expr {
	bad := func(what string) Expr {
		return &Refused{Typed{boolean, NoPosition}, Reason{UnknownExpression, NoPosition, "the table filter " + what + " is not known", ""}}
	}
	if depth > 100 {
		return bad("that is nested too deeply")
	}
	switch kind := t.str("filter_type"); kind {
	case "OPTIONAL_FILTER", "DYNAMIC_FILTER", "BLOOM_FILTER":
		return nil // they save work; what they stand for is filtered elsewhere too
	case "CONSTANT_COMPARISON":
		op, ok := compareOps[t.str("comparison_type")]
		c, err := g.d.constant(t.get("constant"), 0)
		if !ok || err != nil {
			return bad(kind)
		}
		return compare(op, e, c, NoPosition)
	case "IS_NULL", "IS_NOT_NULL":
		return &IsNull{Typed{boolean, NoPosition}, kind == "IS_NOT_NULL", e}
	case "IN_FILTER":
		in := &In{Typed: Typed{boolean, NoPosition}, Child: e}
		values := t.get("values").list()
		for i := range values {
			c, err := g.d.constant(&values[i], 0)
			if err != nil {
				return bad(kind)
			}
			in.List = append(in.List, c)
		}
		return in
	case "CONJUNCTION_AND", "CONJUNCTION_OR":
		var parts []Expr
		kids := t.get("child_filters").list()
		for i := range kids {
			p := g.filter(e, &kids[i], depth+1)
			if p == nil && kind == "CONJUNCTION_OR" {
				return nil
			}
			if p != nil {
				parts = append(parts, p)
			}
		}
		if len(parts) < 2 {
			return AndAll(parts)
		}
		return &Conjunction{Typed{boolean, NoPosition}, kind == "CONJUNCTION_OR", parts}
	case "STRUCT_EXTRACT":
		f, err := field(e, t.get("child_idx").int())
		if err != nil {
			return bad(kind)
		}
		return g.filter(f, t.get("child_filter"), depth+1)
	case "EXPRESSION_FILTER":
		p := g.d.expr(t.get("expr"), nil)
		wrong := false
		p = Rewrite(p, func(x Expr) Expr {
			if r, ok := x.(*ColumnRef); ok {
				wrong = wrong || r.Index != 0
				return e
			}
			return x
		})
		if wrong {
			return bad(kind)
		}
		return p
	default:
		return bad(strings.ToLower(kind))
	}
}

// listFunctions are table functions that give the elements of a list function's value.
var listFunctions = map[string]string{"range": "range", "generate_series": "generate_series"}

// tableFunction reads a scan of no table.
func (d *decoder) tableFunction(t *tree) (Node, error) {
	name := t.str("name")
	refused := &unsupported{TableFunction, NoPosition, "rows of the function " + name + " come from no table", "only range and generate_series of constants are known"}
	list, known := listFunctions[name]
	params := t.get("parameters").list()
	if !known || len(params) == 0 || len(t.get("children").list()) > 0 || len(t.get("named_parameters").list()) > 0 {
		return nil, refused
	}
	types := t.get("returned_types").list()
	if len(types) != 1 {
		return nil, refused
	}
	elem, err := d.typeOf(&types[0])
	if err != nil {
		return nil, err
	}
	f := &Function{Typed: Typed{row.Type{Kind: row.List, Children: []row.Type{elem}}, NoPosition}, Name: list}
	for i := range params {
		c, err := d.constant(&params[i], 0)
		if err != nil {
			return nil, err
		}
		f.Args, f.ArgTypes = append(f.Args, c), append(f.ArgTypes, c.Type)
	}
	var pred []Expr
	g := &getReader{d: d, cols: []Column{{name, elem}}}
	filters := t.get("table_filters").get("filters").list()
	for i := range filters {
		if e := g.filter(ref(g.cols, 0), filters[i].get("value"), 0); e != nil {
			pred = append(pred, e)
		}
	}
	var n Node = &Unnest{&Values{Rows: [][]Expr{{}}, Pos: NoPosition}, []Expr{f}, []string{name}, NoPosition}
	if p := AndAll(pred); p != nil {
		n = &Filter{n, p}
	}
	return n, nil
}

// values reads constant rows, or expressions over one row.
func (d *decoder) values(t *tree) (Node, error) {
	in, err := d.child(t)
	if err != nil {
		return nil, err
	}
	rows := t.get("expressions").list()
	types := t.get("expr_types").list()
	cols := make([]Column, len(types))
	for i := range types {
		if cols[i].Type, err = d.typeOf(&types[i]); err != nil {
			return nil, err
		}
		cols[i].Name = fmt.Sprintf("col%d", i)
	}
	one, constant := in.(*Values)
	constant = constant && len(one.Rows) == 1 && len(one.Cols) == 0
	out := &Values{Cols: cols, Pos: NoPosition}
	var parts []Node
	for i := range rows {
		es := d.exprs(&rows[i], nil)
		if len(es) != len(cols) {
			return nil, fmt.Errorf("a row of %d values among rows of %d", len(es), len(cols))
		}
		for _, e := range es {
			if err := refsWithin(e, in.Columns()); err != nil {
				return nil, err
			}
		}
		out.Rows = append(out.Rows, es)
		parts = append(parts, &Project{in, es, names(cols)})
	}
	switch {
	case constant:
		return out, nil
	case len(parts) == 0:
		return &Values{Cols: cols, Pos: NoPosition}, nil
	case len(parts) == 1:
		return parts[0], nil
	}
	shared := newShared("values", in)
	for _, p := range parts {
		p.(*Project).Input = shared
	}
	return &SetOp{UnionAll, parts, NoPosition}, nil
}

func (d *decoder) dummy(*tree) (Node, error) {
	return &Values{Rows: [][]Expr{{}}, Pos: NoPosition}, nil
}

func (d *decoder) empty(t *tree) (Node, error) {
	out := &Values{Pos: NoPosition}
	types := t.get("return_types").list()
	for i := range types {
		typ, err := d.typeOf(&types[i])
		if err != nil {
			return nil, err
		}
		out.Cols = append(out.Cols, Column{fmt.Sprintf("col%d", i), typ})
	}
	return out, nil
}
