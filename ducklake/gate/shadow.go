package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
)

// openShadow makes the in-memory instance: empty catalogs of the lake's and the server's names, no files, no
// extensions, no optimizer (it would drop scans that a statement reads), and settings that nobody can change.
func openShadow(ctx context.Context, c Config) (_ *duck.DB, _ *duck.Conn, err error) {
	db, err := duck.Open("", duck.Options{Config: map[string]string{
		"threads": "1", "memory_limit": "512MB", "temp_directory": "",
		"autoload_known_extensions": "false", "autoinstall_known_extensions": "false",
	}})
	if err != nil {
		return nil, nil, fault.InternalError.Wrap(err, "opening the shadow")
	}
	conn, err := db.Connect()
	if err != nil {
		return nil, nil, errors.Join(fault.InternalError.Wrap(err, "opening the shadow"), db.Close())
	}
	defer func() {
		if err != nil {
			err = errors.Join(fault.InternalError.Wrap(err, "preparing the shadow"), conn.Close(), db.Close())
		}
	}()
	// Without the two, MERGE is planned wrongly (an internal error), and with RETURNING DuckDB dereferences a null
	// pointer: they estimate and choose sides, and drop no scan.
	rows, err := conn.Rows(ctx, `SELECT string_agg(name, ',') FROM duckdb_optimizers()
		WHERE name NOT IN ('join_order', 'build_side_probe_side')`)
	if err != nil {
		return nil, nil, err
	}
	setup := []string{
		fmt.Sprintf("SET disabled_optimizers = '%s'", rows[0][0]),
		"ATTACH ':memory:' AS " + ident(c.Lake),
		"ATTACH ':memory:' AS " + ident(vegaCatalog),
		"USE " + ident(vegaCatalog) + ".main",
	}
	setup = append(setup, c.Vega...)
	setup = append(setup,
		"USE "+ident(c.Lake)+".main",
		"SET allowed_configs = ['TimeZone', '"+strings.Join(duck.ConnSettings, "', '")+"']",
		"SET enable_external_access = false",
		"SET lock_configuration = true",
	)
	for _, sql := range setup {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", sql, err)
		}
	}
	return db, conn, nil
}

// vegaCatalog is the catalog of the server's own tables.
const vegaCatalog = "vega"

// scanned is one leaf of a plan: a table, or a table function.
type scanned struct {
	table    []string // catalog, schema, name
	function string   // lower case
}

// explain plans the statement in the shadow and returns what it scans. Parameters are NULL.
func explain(ctx context.Context, conn *duck.Conn, sql string, params int) ([]scanned, string, error) {
	rows, err := conn.Rows(ctx, "EXPLAIN (FORMAT JSON) "+sql, make([]any, params)...)
	if err != nil {
		return nil, "", err
	}
	if len(rows) != 1 || len(rows[0]) < 2 {
		return nil, "", fault.InternalError.Newf("the plan has an unknown shape")
	}
	text, _ := rows[0][1].(string)
	var roots []planNode
	if err := json.Unmarshal([]byte(text), &roots); err != nil {
		return nil, "", fault.InternalError.Wrap(err, "reading the plan")
	}
	var out []scanned
	for _, n := range roots {
		if out, err = n.collect(out); err != nil {
			return nil, "", err
		}
	}
	return out, text, nil
}

type planNode struct {
	Name     string         `json:"name"`
	Children []planNode     `json:"children"`
	Extra    map[string]any `json:"extra_info"`
}

func (n planNode) collect(out []scanned) ([]scanned, error) {
	name := lower(strings.TrimSpace(n.Name))
	table, _ := n.Extra["Table"].(string)
	function, _ := n.Extra["Function"].(string)
	switch {
	case n.Extra["Table"] != nil && table == "": // a name with line breaks comes as a list of its lines, without the empty ones
		return nil, fault.StatementForbidden.Newf("a table whose name, or whose schema's, has a line break cannot be read").
			WithHint("rename it: ALTER TABLE … RENAME TO …")
	case table != "":
		parts := splitName(table)
		if len(parts) != 3 {
			return nil, fault.InternalError.Newf("the plan names a table %q", table)
		}
		out = append(out, scanned{table: parts})
		if name != "seq_scan" {
			out = append(out, scanned{function: name})
		}
	case function != "":
		out = append(out, scanned{function: lower(function)})
	case !planOperator[name]:
		out = append(out, scanned{function: name})
	}
	for _, child := range n.Children {
		var err error
		if out, err = child.collect(out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// planOperator are the operators that read nothing but their children. Any other node counts as a table
// function of its name.
var planOperator = set(`projection filter hash_group_by perfect_hash_group_by partitioned_aggregate ungrouped_aggregate
simple_aggregate streaming_window window unnest limit streaming_limit limit_percent top_n order_by sample
streaming_sample reservoir_sample hash_join nested_loop_join blockwise_nl_join piecewise_merge_join ie_join
asof_join cross_product positional_join positional_scan left_delim_join right_delim_join delim_scan dummy_scan
empty_result column_data_scan chunk_scan expression_scan cte cte_scan rec_cte rec_cte_scan recursive_cte
recursive_key_cte recursive_key_cte_scan rec_rec_key_cte_scan union insert batch_insert delete update merge_into create_table create_table_as
batch_create_table_as create_view create_macro create_schema drop alter result_collector verify_vector pivot
set_variable inout_function describe explain explain_analyze`)

// splitName takes a qualified name as DuckDB prints it apart.
func splitName(s string) []string {
	var parts []string
	var part strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			for i++; i < len(s); i++ {
				if s[i] == '"' {
					if i+1 < len(s) && s[i+1] == '"' {
						i++
					} else {
						break
					}
				}
				part.WriteByte(s[i])
			}
		case '.':
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(c)
		}
	}
	return append(parts, part.String())
}

// ident quotes a name.
func ident(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal quotes a string.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// refused turns DuckDB's refusal into an error of this program. shift is how far the text that DuckDB saw is
// ahead of the user's.
func refused(err error, shift int) error {
	var e *duck.Error
	if !errors.As(err, &e) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	at := fault.NoPosition
	if e.Position >= shift {
		at = e.Position - shift
	}
	message := e.Message
	for _, tail := range []string{"\n\nLINE ", "\n\nStack Trace:", "\n\nPossible solutions:"} {
		message, _, _ = strings.Cut(message, tail)
	}
	code := fault.SQLError
	switch e.Type {
	case "Parser":
		code = fault.SyntaxError
	case "Catalog":
		switch {
		case strings.Contains(message, "already exists"):
			code = fault.ObjectExists
		case strings.Contains(message, "does not exist"):
			code = fault.ObjectNotFound
		}
	case "Out of Memory":
		code = fault.MemoryExhausted
	case "Permission":
		return fault.StatementForbidden.Newf("a name that is no table of the lake, or a file: %s", message).At(at).
			WithHint("users reach the lake's tables and views only; load files through bulk ingest")
	}
	return code.Newf("%s Error: %s", e.Type, message).At(at)
}
