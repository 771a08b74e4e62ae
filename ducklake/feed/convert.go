package feed

import (
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// pick is the expression for a wanted column over a row whose columns were have; ref says how one of those is referred to. A column that the
// row is older than has what it was added with.
func pick(want metadata.ColumnInfo, have []metadata.ColumnInfo, ref func(metadata.ColumnInfo) string) string {
	if c, ok := find(have, want.ID); ok {
		return convert(ref(c), c, want, 0)
	}
	return missing(want)
}

// missing is the value of a column in rows that are older than it.
func missing(want metadata.ColumnInfo) string {
	if want.HasDefault {
		return fmt.Sprintf("CAST(%s AS %s)", metadata.QuoteLiteral(want.InitialDefault), want.SQLType())
	}
	return fmt.Sprintf("CAST(NULL AS %s)", want.SQLType())
}

// convert makes a value of a column as it was what it is in the wanted one: fields are followed by their ids.
func convert(e string, have, want metadata.ColumnInfo, depth int) string {
	if sameType(have, want) {
		return e
	}
	x := fmt.Sprintf("x%d", depth)
	switch {
	case have.Type != want.Type:
	case want.Type == "struct":
		fields := make([]string, len(want.Children))
		for i, w := range want.Children {
			fields[i] = metadata.QuoteIdent(w.Name) + " := " + pick(w, have.Children, func(c metadata.ColumnInfo) string {
				return "struct_extract(" + e + ", " + metadata.QuoteLiteral(c.Name) + ")"
			})
		}
		return "CASE WHEN " + e + " IS NOT NULL THEN struct_pack(" + strings.Join(fields, ", ") + ") END"
	case want.Type == "list" && len(have.Children) == 1 && len(want.Children) == 1:
		return "list_transform(" + e + ", lambda " + x + ": " + convert(x, have.Children[0], want.Children[0], depth+1) + ")"
	case want.Type == "map" && len(have.Children) == 2 && len(want.Children) == 2:
		return "map_from_entries(list_transform(map_entries(" + e + "), lambda " + x + ": struct_pack(k := " +
			convert("struct_extract("+x+", 'key')", have.Children[0], want.Children[0], depth+1) + ", v := " +
			convert("struct_extract("+x+", 'value')", have.Children[1], want.Children[1], depth+1) + ")))"
	}
	return "CAST(" + e + " AS " + want.SQLType() + ")"
}
