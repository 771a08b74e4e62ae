package plan

import (
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
)

// Unnamed says that SQL cannot spell the type: it has a STRUCT whose fields have no names, as row(1, 2) gives.
func Unnamed(t row.Type) bool {
	if t.Kind == row.Struct {
		for _, n := range t.Names {
			if n == "" {
				return true
			}
		}
	}
	for _, c := range t.Children {
		if Unnamed(c) {
			return true
		}
	}
	return false
}

// NamedLike is the type with the names of another where it has none.
func NamedLike(t, like row.Type) row.Type {
	if len(t.Children) == 0 || t.Kind != like.Kind || len(t.Children) != len(like.Children) {
		return t
	}
	out := t
	out.Children = make([]row.Type, len(t.Children))
	for i, c := range t.Children {
		out.Children[i] = NamedLike(c, like.Children[i])
	}
	if t.Kind == row.Struct && len(t.Names) > 0 && t.Names[0] == "" {
		out.Names = like.Names
	}
	return out
}

// unnamedSQL is a value of a type that SQL cannot spell: made of its parts.
func (e *Constant) unnamedSQL() string {
	null := func(t row.Type) string { return (&Constant{Typed: Typed{Type: t}}).SQL() }
	v, ok := e.Value.(Elements)
	switch {
	case ok && len(v) > 0:
		return e.elements(v)
	case e.Type.Kind == row.Struct:
		parts := make([]string, len(e.Type.Children))
		for i, c := range e.Type.Children {
			parts[i] = null(c)
			if n := e.Type.Names[i]; n != "" {
				parts[i] = quoteName(n) + " := " + parts[i]
			}
		}
		name := "row("
		if e.Type.Names[0] != "" {
			name = "struct_pack("
		}
		return "(CASE WHEN false THEN " + name + strings.Join(parts, ", ") + ") END)"
	case e.Type.Kind == row.List && ok:
		return "[" + null(e.Type.Children[0]) + "][:0]"
	case e.Type.Kind == row.List:
		return "(CASE WHEN false THEN [" + null(e.Type.Children[0]) + "] END)"
	}
	return "CAST(NULL AS " + e.Type.String() + ")"
}
