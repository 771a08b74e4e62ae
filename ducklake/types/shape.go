package types

import "strings"

// Shape is a type taken apart: a name as DuckDB spells it, with arguments, or LIST, MAP or STRUCT and what they are made of.
type Shape struct {
	Name   string
	Fields []Field // of a LIST one, of a MAP the key and the value
}

// Field is a part of a nested type; those of a LIST and a MAP have no name.
type Field struct {
	Name string
	Shape
}

// ShapeOf takes a SQL type apart, as DuckDB spells it; false when that is none that a lake keeps.
func ShapeOf(sqlType string) (Shape, bool) {
	n, err := parse(sqlType)
	if err != nil || n.lake() != Keep {
		return Shape{}, false
	}
	return n.shape(), true
}

func (n *node) shape() Shape {
	s := Shape{Name: n.name + n.args}
	switch n.name {
	case "[]":
		s.Name = "LIST"
	case "MAP", "STRUCT":
	default:
		upper := strings.ToUpper(n.name)
		if a, ok := aliases[upper]; ok {
			upper = a
		}
		s.Name = upper + n.args
		return s
	}
	for i, c := range n.children {
		f := Field{Shape: c.shape()}
		if i < len(n.names) {
			f.Name = unquoted(n.names[i])
		}
		s.Fields = append(s.Fields, f)
	}
	return s
}

// unquoted is a name without its quotes.
func unquoted(name string) string {
	if len(name) < 2 || name[0] != '"' {
		return name
	}
	return strings.ReplaceAll(name[1:len(name)-1], `""`, `"`)
}
