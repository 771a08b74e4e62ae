package gate

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
)

// tree is DuckDB's own parse tree of one query, with the text it was made from.
type tree struct {
	text string
	toks []token
	at   map[int]int // token by its offset
	root any

	tables    []tableUse
	columns   []columnUse
	calls     []callUse
	aliases   map[string]bool // lower-case names and aliases of everything in FROM
	using     []string        // columns of JOIN … USING
	star      bool            // the result's columns depend on which columns a table has
	sampled   bool
	described bool            // DESCRIBE, SHOW or SUMMARIZE somewhere
	nested    bool            // a subquery in FROM or a WITH clause, which have names of their own
	binds     map[string]bool // lower-case names of the parameters of lambdas
}

// tableUse is a place where the text names a table or view, not a common table expression.
type tableUse struct {
	at                    int // offset of the name's first part, -1 when DuckDB does not say
	catalog, schema, name string
	alias                 string
	renames               bool // the alias has a list of column names
	travels               bool // it has an AT clause
}

// columnUse is a column reference outside of the parameters of lambdas.
type columnUse struct {
	at     int
	names  []string
	lambda map[string]bool // lower-case names that a lambda around it binds
}

// callUse is a function call.
type callUse struct {
	at                    int
	catalog, schema, name string
	table                 bool // in FROM
	alias                 string
	ordinality            bool
	bare                  bool // without DISTINCT, FILTER, ORDER BY
}

// parse asks DuckDB for the tree of a query.
func parse(ctx context.Context, conn *duck.Conn, sql string) (*tree, error) {
	toks, sql, err := scan(sql)
	if err != nil {
		return nil, err
	}
	rows, err := conn.Rows(ctx, "SELECT json_serialize_sql(?::VARCHAR)::VARCHAR", sql)
	if err != nil {
		return nil, refused(err, 0)
	}
	text, _ := rows[0][0].(string)
	var root struct {
		Error      bool
		Message    string `json:"error_message"`
		Statements []any
	}
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		return nil, fault.InternalError.Wrap(err, "reading a parse tree")
	}
	if root.Error || len(root.Statements) != 1 {
		return nil, fault.SyntaxError.Newf("not a query: %s", root.Message)
	}
	t := &tree{text: sql, toks: toks, root: root.Statements[0], at: make(map[int]int, len(toks)), aliases: map[string]bool{}, binds: map[string]bool{}}
	for i, k := range toks {
		t.at[k.start] = i
	}
	t.walk(t.root, nil, nil)
	return t, nil
}

// scope is a list of lower-case names that grows inwards.
type scope struct {
	name string
	next *scope
}

func (n *scope) has(name string) bool {
	for ; n != nil; n = n.next {
		if n.name == name {
			return true
		}
	}
	return false
}

// walk collects what the tree uses. ctes are the common table expressions in sight, lambda the parameters of the
// lambdas around.
func (t *tree) walk(v any, ctes *scope, lambda map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			t.walk(e, ctes, lambda)
		}
	case map[string]any:
		t.node(v, ctes, lambda)
	}
}

func (t *tree) node(v map[string]any, ctes *scope, lambda map[string]bool) {
	if m, ok := v["cte_map"].(map[string]any); ok {
		ctes = t.expressions(m, ctes, lambda)
	}
	if s, ok := v["sample"]; ok && s != nil {
		t.sampled = true
	}
	kind := text(v, "type")
	switch kind {
	case "BASE_TABLE":
		t.table(v, ctes)
	case "COLUMN_REF":
		t.columns = append(t.columns, columnUse{at: location(v), names: list(v, "column_names"), lambda: lambda})
	case "TABLE_FUNCTION":
		if f, ok := v["function"].(map[string]any); ok {
			ordinality := text(v, "with_ordinality")
			t.calls = append(t.calls, callUse{
				at: location(v), catalog: text(f, "catalog"), schema: text(f, "schema"), name: text(f, "function_name"),
				table: true, alias: text(v, "alias"), ordinality: ordinality != "" && ordinality != "WITHOUT_ORDINALITY", bare: true,
			})
			t.walk(f["children"], ctes, lambda)
		}
		t.name(v)
		return
	case "LAMBDA":
		inner := map[string]bool{}
		for k := range lambda {
			inner[k] = true
		}
		bound(v["lhs"], inner)
		bound(v["lhs"], t.binds)
		t.walk(v["lhs"], ctes, inner)
		t.walk(v["expr"], ctes, inner)
		return
	case "ORDER_MODIFIER":
		for _, e := range items(v["orders"]) {
			order, _ := e.(map[string]any)
			if all, _ := order["expression"].(map[string]any); text(all, "type") == "STAR" && all["expr"] == nil {
				return // ORDER BY ALL
			}
		}
	case "STAR", "PIVOT":
		t.star = true
	case "SUBQUERY":
		_, from := v["sample"]
		t.nested = t.nested || from
	case "SHOW_REF":
		t.described = true
	case "JOIN":
		t.star = t.star || text(v, "ref_type") == "NATURAL"
		t.using = append(t.using, list(v, "using_columns")...)
	case "SET_OPERATION_NODE":
		t.star = t.star || strings.Contains(text(v, "setop_type"), "BY_NAME")
	case "RECURSIVE_CTE_NODE":
		ctes = &scope{lower(text(v, "cte_name")), ctes}
	}
	if name := text(v, "function_name"); name != "" {
		order, _ := v["order_bys"].(map[string]any)
		t.calls = append(t.calls, callUse{
			at: location(v), catalog: text(v, "catalog"), schema: text(v, "schema"), name: name,
			bare: text(v, "class") == "FUNCTION" && v["filter"] == nil && v["distinct"] != true && len(items(order["orders"])) == 0,
		})
	}
	t.name(v)
	for k, e := range v {
		if k != "cte_map" {
			t.walk(e, ctes, lambda)
		}
	}
}

// expressions walks a WITH clause and returns the environment behind it.
func (t *tree) expressions(m map[string]any, ctes *scope, lambda map[string]bool) *scope {
	for _, e := range items(m["map"]) {
		t.nested = true
		entry, _ := e.(map[string]any)
		value, _ := entry["value"].(map[string]any)
		t.walk(value["query"], ctes, lambda)
		for _, target := range items(value["key_targets"]) {
			t.walk(target, ctes, lambda)
		}
		ctes = &scope{lower(text(entry, "key")), ctes}
	}
	return ctes
}

func (t *tree) table(v map[string]any, ctes *scope) {
	u := tableUse{
		at: location(v), catalog: text(v, "catalog_name"), schema: text(v, "schema_name"), name: text(v, "table_name"),
		alias: text(v, "alias"), renames: len(items(v["column_name_alias"])) > 0, travels: v["at_clause"] != nil,
	}
	if u.catalog == "" && (u.schema == "" || lower(u.schema) == "recurring") && ctes.has(lower(u.name)) {
		t.aliases[lower(u.name)] = true
		return
	}
	t.tables = append(t.tables, u)
}

// name remembers what a part of FROM is called.
func (t *tree) name(v map[string]any) {
	if _, from := v["sample"]; !from {
		return
	}
	for _, k := range []string{"alias", "table_name"} {
		if n := text(v, k); n != "" {
			t.aliases[lower(n)] = true
		}
	}
	if f, ok := v["function"].(map[string]any); ok {
		t.aliases[lower(text(f, "function_name"))] = true
	}
}

// bound adds the names of a lambda's parameters.
func bound(v any, into map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			bound(e, into)
		}
	case map[string]any:
		if text(v, "type") == "COLUMN_REF" {
			for _, n := range list(v, "column_names") {
				into[lower(n)] = true
			}
		}
		bound(v["children"], into)
	}
}

func text(v map[string]any, key string) string {
	s, _ := v[key].(string)
	return s
}

func items(v any) []any {
	l, _ := v.([]any)
	return l
}

func list(v map[string]any, key string) []string {
	var out []string
	for _, e := range items(v[key]) {
		s, _ := e.(string)
		out = append(out, s)
	}
	return out
}

// location is a node's offset in the text, or -1.
func location(v map[string]any) int {
	f, ok := v["query_location"].(float64)
	if !ok || f < 0 || f > math.MaxInt32 {
		return -1
	}
	return int(f)
}

// dottedAt reads a name of n parts at an offset: the index of its first token and of the one behind it.
func (t *tree) dottedAt(at, n int) (from, to int, ok bool) {
	i, ok := t.at[at]
	if !ok {
		return 0, 0, false
	}
	from = i
	for {
		if i >= len(t.toks) || !t.toks[i].name() {
			return 0, 0, false
		}
		i++
		if n--; n == 0 {
			return from, i, true
		}
		if i >= len(t.toks) || !t.toks[i].op('.') {
			return 0, 0, false
		}
		i++
	}
}

// edit replaces a piece of a text.
type edit struct {
	from, to int
	text     string
}
