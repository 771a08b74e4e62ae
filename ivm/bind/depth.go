package bind

import "github.com/vegadb/vega-flight/fault"

// maxDepth bounds how deep SELECTs may lie in one another. One query is planned at a time, and DuckDB's optimizer takes twice
// as long with each level of nested aggregation: 0.1 s for 18, hours for 40, and it cannot be interrupted.
const maxDepth = 16

// checkDepth refuses a query, given as DuckDB's parse tree, that holds up all others.
func checkDepth(tree any) error {
	if d := depth(tree); d > maxDepth {
		return fault.NotYetSupported.Newf("the query has SELECTs %d deep in one another, and %d can be planned", d, maxDepth).
			WithHint("make views of the inner ones")
	}
	return nil
}

// depth is that of the SELECTs in a parsed statement.
func depth(tree any) int {
	most := 0
	switch x := tree.(type) {
	case []any:
		for _, e := range x {
			most = max(most, depth(e))
		}
	case map[string]any:
		for _, e := range x {
			most = max(most, depth(e))
		}
		if x["type"] == "SELECT_NODE" {
			most++
		}
	}
	return most
}
