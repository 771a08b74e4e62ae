package plan

import (
	"strconv"
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
)

// typeOf reads a type of DuckDB's JSON.
func (d *decoder) typeOf(t *tree) (row.Type, error) {
	text := typeText(t, 0)
	if known, ok := d.types[text]; ok {
		return known, nil
	}
	out, err := row.ParseType(text)
	if err != nil {
		return row.Type{}, &unsupported{UnstableType, NoPosition, "values of the type " + text + " cannot be kept", "cast them to another type"}
	}
	d.types[text] = out
	return out, nil
}

// typeText spells a type as SQL does.
func typeText(t *tree, depth int) string {
	id, info := t.str("id"), t.get("type_info")
	if depth > 100 {
		return "INVALID"
	}
	switch alias := info.str("alias"); {
	case id == "VARCHAR" && strings.EqualFold(alias, "JSON"):
		return "JSON"
	case id == "BLOB" && strings.EqualFold(alias, "GEOMETRY"):
		return "GEOMETRY"
	}
	switch id {
	case "NULL":
		return `"NULL"`
	case "DECIMAL":
		return "DECIMAL(" + info.get("width").text + "," + info.get("scale").text + ")"
	case "VARCHAR":
		if c := info.str("collation"); c != "" {
			return "VARCHAR COLLATE " + c
		}
	case "LIST":
		return typeText(info.get("child_type"), depth+1) + "[]"
	case "ARRAY":
		return typeText(info.get("child_type"), depth+1) + "[" + info.get("size").text + "]"
	case "STRUCT", "UNION":
		fields := info.get("child_types").list()
		if id == "UNION" && len(fields) > 0 {
			fields = fields[1:] // the tag
		}
		var parts []string
		for i := range fields {
			p := typeText(fields[i].get("second"), depth+1)
			if name := fields[i].str("first"); name != "" {
				p = quoteName(name) + " " + p
			}
			parts = append(parts, p)
		}
		return id + "(" + strings.Join(parts, ", ") + ")"
	case "MAP":
		kv := info.get("child_type").get("type_info").get("child_types").list()
		if len(kv) == 2 {
			return "MAP(" + typeText(kv[0].get("second"), depth+1) + ", " + typeText(kv[1].get("second"), depth+1) + ")"
		}
		return "MAP"
	case "ENUM":
		var labels []string
		values := info.get("values").list()
		for i := range values {
			labels = append(labels, "'"+strings.ReplaceAll(values[i].text, "'", "''")+"'")
		}
		return "ENUM(" + strings.Join(labels, ", ") + ")"
	case "":
		return "INVALID"
	}
	return id
}

// plainCollation takes the collation off: the plan applies it by functions.
func plainCollation(t row.Type) row.Type {
	t.Collation = ""
	return t
}

// sizeText is a number in an explanation.
func sizeText(n int64) string { return strconv.FormatInt(n, 10) }
