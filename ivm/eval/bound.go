package eval

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// takenOut is SQL for the arguments that DuckDB took out of a function's list when it bound it; "" when it took none.
func (d *deparser) takenOut(name string, e *plan.Function) string {
	switch name {
	case "date_part", "datepart": // of several parts at once, which name the result's fields
		if len(e.Args) == 1 && e.Type.Kind == row.Struct {
			parts := make([]string, len(e.Type.Names))
			for i, n := range e.Type.Names {
				parts[i] = quoteText(n)
			}
			return "[" + strings.Join(parts, ", ") + "]"
		}
	case "list_aggregate", "list_aggr", "array_aggregate", "array_aggr", "aggregate":
		if len(e.Args) == 2 && e.Data != "" {
			sql, err := aggregateArguments(e.Data)
			if err != nil {
				d.err = err
			}
			return sql
		}
	}
	return ""
}

// aggregateArguments are those of an aggregate over a list.
func aggregateArguments(data string) (string, error) {
	var v struct {
		Bind struct {
			Aggregate struct {
				Name      string            `json:"name"`
				Arguments []json.RawMessage `json:"original_arguments"`
				Data      struct {
					Separator *string           `json:"separator"`
					Quantiles []json.RawMessage `json:"quantiles"`
					Desc      bool              `json:"desc"`
				} `json:"function_data"`
			} `json:"aggr_expr"`
		} `json:"bind_data"`
	}
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		return "", fault.InternalError.Wrap(err, "reading what is bound to an aggregate over a list")
	}
	a := v.Bind.Aggregate
	switch {
	case len(a.Arguments) < 2:
		return "", nil
	case a.Data.Separator != nil:
		return quoteText(*a.Data.Separator), nil
	case len(a.Data.Quantiles) > 0:
		var list []string
		for _, q := range a.Data.Quantiles {
			sql, ok := quantile(q)
			if !ok {
				return "", fault.NotYetSupported.Newf("the aggregate %s over a list is bound to %s, which cannot be written", a.Name, q).WithHint("make a traditional view of the query")
			}
			if a.Data.Desc {
				sql = "-" + sql
			}
			list = append(list, sql)
		}
		if strings.Contains(string(a.Arguments[1]), `"LIST"`) {
			return "[" + strings.Join(list, ", ") + "]", nil
		}
		return list[0], nil
	}
	return "", fault.NotYetSupported.Newf("the aggregate %s over a list has more arguments than can be written", a.Name).WithHint("make a traditional view of the query")
}

// quantile is a number, or a constant with its type.
func quantile(raw json.RawMessage) (string, bool) {
	text := string(raw)
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return "CAST(" + quoteText(text) + " AS DOUBLE)", true
	}
	var v struct {
		Type struct {
			ID   string `json:"id"`
			Info struct {
				Width, Scale int
			} `json:"type_info"`
		} `json:"type"`
		Value json.Number `json:"value"`
	}
	if json.Unmarshal(raw, &v) != nil {
		return "", false
	}
	switch v.Type.ID {
	case "DOUBLE":
		return "CAST(" + quoteText(v.Value.String()) + " AS DOUBLE)", true
	case "DECIMAL":
		n, ok := new(big.Int).SetString(v.Value.String(), 10)
		if !ok {
			return "", false
		}
		k := plan.Constant{Typed: plan.Typed{Type: row.Type{Kind: row.Decimal, Width: uint8(v.Type.Info.Width), Scale: uint8(v.Type.Info.Scale)}}, Value: n}
		return k.SQL(), true
	case "INTEGER", "BIGINT":
		return v.Value.String(), true
	}
	return "", false
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
