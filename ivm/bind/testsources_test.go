package bind

import (
	"strings"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// table makes a source of "name(column type, …)"; types may have commas inside parentheses.
func table(text string) *plan.Source {
	name, rest, _ := strings.Cut(text, "(")
	s := &plan.Source{Schema: "main", Name: strings.TrimSpace(name)}
	rest = strings.TrimSuffix(strings.TrimSpace(rest), ")")
	depth, start := 0, 0
	for i := 0; i <= len(rest); i++ {
		if i < len(rest) && rest[i] == '(' {
			depth++
		} else if i < len(rest) && rest[i] == ')' {
			depth--
		} else if i == len(rest) || rest[i] == ',' && depth == 0 {
			column, typ, _ := strings.Cut(strings.TrimSpace(rest[start:i]), " ")
			s.Columns = append(s.Columns, plan.TableColumn{ID: int64(len(s.Columns) + 1), Name: column, Type: row.MustType(typ)})
			start = i + 1
		}
	}
	return s
}

// testSources are the tables of the tests' queries.
var testSources = []*plan.Source{
	table(`t(a INTEGER, b BIGINT, c VARCHAR, d DOUBLE, e DECIMAL(10,2), ts TIMESTAMP, tz TIMESTAMPTZ, dt DATE, s STRUCT(x INTEGER, y VARCHAR), l INTEGER[], n VARCHAR COLLATE nocase)`),
	table(`u(a INTEGER, b BIGINT, c VARCHAR, k INTEGER)`),
	table(`o(oid INTEGER, cid INTEGER, amt DECIMAL(18,2), note VARCHAR, ts TIMESTAMP)`),
	table(`cu(cid INTEGER, region VARCHAR, since TIMESTAMP)`),
}
