package types

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// node is one type: a name with its arguments, or a nested type.
type node struct {
	name     string // as written; "[]" for a list or array
	args     string // "(18,3)" of a DECIMAL, the labels of an ENUM
	size     int    // of an array; 0 for a list
	names    []string
	children []*node
}

var errType = errors.New("not a type")

// parse reads a type as DuckDB spells it.
func parse(s string) (*node, error) {
	n, rest, err := parseType(s)
	if err == nil && strings.TrimSpace(rest) != "" {
		err = errType
	}
	return n, err
}

func parseType(s string) (*node, string, error) {
	s = strings.TrimSpace(s)
	end := strings.IndexAny(s, "([,)")
	if strings.HasPrefix(s, `"`) { // "NULL", or a type of that name
		_, rest, err := quoted(s)
		if err != nil {
			return nil, "", err
		}
		end = len(s) - len(rest)
	}
	if end < 0 {
		end = len(s)
	}
	n := &node{name: strings.TrimSpace(s[:end])}
	s = s[end:]
	if n.name == "" {
		return nil, "", errType
	}
	var err error
	switch upper := strings.ToUpper(n.name); {
	case upper == "STRUCT" || upper == "UNION" || upper == "MAP":
		n.name = upper
		s, err = n.parseParts(s)
	case strings.HasPrefix(s, "("):
		n.args, s, err = arguments(s)
	}
	if err != nil {
		return nil, "", err
	}
	for strings.HasPrefix(s, "[") {
		inside, rest, ok := strings.Cut(s[1:], "]")
		if !ok {
			return nil, "", errType
		}
		list := &node{name: "[]", children: []*node{n}}
		if inside != "" {
			if list.size, err = strconv.Atoi(inside); err != nil || list.size < 1 {
				return nil, "", errType
			}
		}
		n, s = list, rest
	}
	return n, s, nil
}

// parseParts reads the fields of a STRUCT or UNION, or a MAP's two types.
func (n *node) parseParts(s string) (string, error) {
	if !strings.HasPrefix(s, "(") {
		return "", errType
	}
	for s = s[1:]; ; s = s[1:] {
		name := ""
		s = strings.TrimSpace(s)
		if n.name != "MAP" {
			name, s = fieldName(s)
		}
		child, rest, err := parseType(s)
		if err != nil {
			return "", err
		}
		n.names, n.children = append(n.names, name), append(n.children, child)
		s = strings.TrimSpace(rest)
		switch {
		case strings.HasPrefix(s, ")"):
			if n.name == "MAP" && len(n.children) != 2 {
				return "", errType
			}
			return s[1:], nil
		case !strings.HasPrefix(s, ","):
			return "", errType
		}
	}
}

// fieldName reads a field's name as it is written, "" when the field has none.
func fieldName(s string) (name, rest string) {
	if strings.HasPrefix(s, `"`) {
		name, rest, err := quoted(s)
		if err != nil || !strings.HasPrefix(rest, " ") {
			return "", s
		}
		return name, rest
	}
	end := strings.IndexAny(s, " ([,)")
	if end < 0 || s[end] != ' ' || unnamed(s) {
		return "", s
	}
	return s[:end], s[end:]
}

// unnamed says that s begins with a type of several words, not with a name and a type.
func unnamed(s string) bool {
	upper := strings.ToUpper(s)
	return strings.HasPrefix(upper, "TIME WITH TIME ZONE") || strings.HasPrefix(upper, "TIMESTAMP WITH TIME ZONE")
}

// quoted reads a quoted name, with its quotes.
func quoted(s string) (name, rest string, err error) {
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			i++
			continue
		}
		return s[:i+1], s[i+1:], nil
	}
	return "", "", errType
}

// arguments reads what is in parentheses, where texts may hold any.
func arguments(s string) (args, rest string, err error) {
	inText := false
	for i := range len(s) {
		switch {
		case s[i] == '\'':
			inText = !inText
		case s[i] == ')' && !inText:
			return s[:i+1], s[i+1:], nil
		}
	}
	return "", "", errType
}

// String spells the type as it was read.
func (n *node) String() string {
	switch n.name {
	case "[]":
		if n.size > 0 {
			return fmt.Sprintf("%s[%d]", n.children[0], n.size)
		}
		return n.children[0].String() + "[]"
	case "STRUCT", "UNION", "MAP":
		parts := make([]string, len(n.children))
		for i, c := range n.children {
			parts[i] = c.String()
			if n.names[i] != "" {
				parts[i] = n.names[i] + " " + parts[i]
			}
		}
		return n.name + "(" + strings.Join(parts, ", ") + ")"
	}
	return n.name + n.args
}

// walk visits the node and all parts of it.
func (n *node) walk(visit func(*node)) {
	visit(n)
	for _, c := range n.children {
		c.walk(visit)
	}
}

// has says that the node is the type of the name or has a part that is.
func (n *node) has(name string) (found bool) {
	n.walk(func(n *node) { found = found || strings.EqualFold(n.name, name) })
	return found
}
