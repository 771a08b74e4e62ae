package gate

import "strings"

// LakeType is the type in which a lake keeps values of a SQL type unchanged, or "" when it has none. HUGEINT and
// UHUGEINT are written to Parquet as DOUBLE, so DECIMAL(38,0) stands in for them; a value that does not fit is an
// error of the cast.
func LakeType(sqlType string) string {
	t, rest := lakeType(sqlType)
	if rest != "" {
		return ""
	}
	return t
}

// unkept are the types that a lake has not.
var unkept = set(`bit bignum varint enum union "null" null unknown any lambda pointer aggregate_state sqlnull`)

// lakeType reads one type off the front of s.
func lakeType(s string) (typ, rest string) {
	s = strings.TrimSpace(s)
	name := s
	for i := range len(s) {
		if c := s[i]; c == '(' || c == '[' || c == ',' || c == ')' {
			name = s[:i]
			break
		}
	}
	rest = s[len(name):]
	name = strings.TrimSpace(name)
	word, _, _ := strings.Cut(lower(name), " ")
	switch {
	case name == "" || unkept[word]:
		return "", s
	case lower(name) == "hugeint" || lower(name) == "uhugeint":
		typ = "DECIMAL(38,0)"
	case lower(name) == "struct" || lower(name) == "map":
		if typ, rest = members(strings.ToUpper(name), rest, lower(name) == "struct"); typ == "" {
			return "", s
		}
	case strings.HasPrefix(rest, "("):
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			return "", s
		}
		typ, rest = name+rest[:end+1], rest[end+1:]
	default:
		typ = name
	}
	for strings.HasPrefix(rest, "[") {
		if !strings.HasPrefix(rest, "[]") {
			return "", s // ARRAY types
		}
		typ, rest = typ+"[]", rest[2:]
	}
	return typ, rest
}

// members reads the types in the parentheses of STRUCT and MAP.
func members(head, s string, named bool) (typ, rest string) {
	if !strings.HasPrefix(s, "(") {
		return "", s
	}
	parts := []string{}
	for s = s[1:]; ; s = s[1:] {
		s = strings.TrimSpace(s)
		name := ""
		if named {
			if name, s = fieldName(s); name == "" {
				return "", s
			}
			name += " "
		}
		t, after := lakeType(s)
		if t == "" || after == "" {
			return "", s
		}
		parts = append(parts, name+t)
		if s = strings.TrimSpace(after); s[0] == ')' {
			return head + "(" + strings.Join(parts, ", ") + ")", s[1:]
		}
		if s[0] != ',' {
			return "", s
		}
	}
}

// fieldName reads a struct's field name, as written.
func fieldName(s string) (name, rest string) {
	if !strings.HasPrefix(s, `"`) {
		name, rest, _ = strings.Cut(s, " ")
		return name, rest
	}
	for i := 1; i < len(s); i++ {
		if s[i] == '"' {
			if i+1 < len(s) && s[i+1] == '"' {
				i++
				continue
			}
			return s[:i+1], s[i+1:]
		}
	}
	return "", s
}
