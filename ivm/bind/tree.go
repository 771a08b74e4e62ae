package bind

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// tableUse is one place where a query's text names a table.
type tableUse struct {
	at      int // byte offset of the name's first part
	catalog string
	schema  string
	name    string
	alias   string
	columns bool // the alias has a list of column names
}

// columnUse is a column reference of at least three parts.
type columnUse struct {
	at    int
	names []string
}

// tree is what rewriting needs of DuckDB's own parse tree of a query.
type tree struct {
	tables  []tableUse
	columns []columnUse
}

// parseTree reads the answer of json_serialize_sql.
func parseTree(text string) (*tree, error) {
	var root struct {
		Error      bool   `json:"error"`
		Message    string `json:"error_message"`
		Statements []any  `json:"statements"`
	}
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		return nil, fmt.Errorf("bind: parse tree: %w", err)
	}
	if root.Error {
		return nil, fmt.Errorf("bind: the stored query does not parse: %s", root.Message)
	}
	if len(root.Statements) != 1 {
		return nil, fmt.Errorf("bind: the stored query is %d statements", len(root.Statements))
	}
	t := &tree{}
	t.walk(root.Statements[0])
	return t, nil
}

func (t *tree) walk(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			t.walk(e)
		}
	case map[string]any:
		switch v["type"] {
		case "BASE_TABLE":
			t.table(v)
		case "COLUMN_REF":
			t.column(v)
		}
		for _, e := range v {
			t.walk(e)
		}
	}
}

func (t *tree) table(v map[string]any) {
	at, ok := location(v)
	if !ok {
		return
	}
	text := func(key string) string { s, _ := v[key].(string); return s }
	list, _ := v["column_name_alias"].([]any)
	t.tables = append(t.tables, tableUse{
		at: at, catalog: text("catalog_name"), schema: text("schema_name"), name: text("table_name"), alias: text("alias"), columns: len(list) > 0,
	})
}

func (t *tree) column(v map[string]any) {
	at, ok := location(v)
	parts, _ := v["column_names"].([]any)
	if !ok || len(parts) < 3 {
		return
	}
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i], _ = p.(string)
	}
	t.columns = append(t.columns, columnUse{at: at, names: names})
}

// location is a node's byte offset; nodes that DuckDB made itself have none.
func location(v map[string]any) (int, bool) {
	f, ok := v["query_location"].(float64)
	if !ok || f < 0 || f > math.MaxInt32 {
		return 0, false
	}
	return int(f), true
}

// scanner reads the few tokens that follow a table's name.
type scanner struct {
	text string
	pos  int
}

// space skips white space and comments.
func (s *scanner) space() {
	for s.pos < len(s.text) {
		rest := s.text[s.pos:]
		switch {
		case strings.ContainsRune(" \t\r\n\f\v", rune(rest[0])):
			s.pos++
		case strings.HasPrefix(rest, "--"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				s.pos = len(s.text)
				return
			}
			s.pos += end + 1
		case strings.HasPrefix(rest, "/*"):
			depth, i := 0, 0
			for i < len(rest) {
				switch {
				case strings.HasPrefix(rest[i:], "/*"):
					depth, i = depth+1, i+2
				case strings.HasPrefix(rest[i:], "*/"):
					depth, i = depth-1, i+2
				default:
					i++
				}
				if depth == 0 {
					break
				}
			}
			s.pos += i
		default:
			return
		}
	}
}

// ident reads an identifier with its quotes taken off.
func (s *scanner) ident() (string, bool) {
	if s.pos >= len(s.text) {
		return "", false
	}
	if s.text[s.pos] == '"' {
		var name strings.Builder
		for i := s.pos + 1; i < len(s.text); i++ {
			if s.text[i] != '"' {
				name.WriteByte(s.text[i])
				continue
			}
			if i+1 < len(s.text) && s.text[i+1] == '"' {
				name.WriteByte('"')
				i++
				continue
			}
			s.pos = i + 1
			return name.String(), true
		}
		return "", false
	}
	end := s.pos
	for end < len(s.text) {
		c := s.text[end]
		if c == '_' || c == '$' || c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			end++
			continue
		}
		break
	}
	if end == s.pos {
		return "", false
	}
	name := s.text[s.pos:end]
	s.pos = end
	return name, true
}

// names reads up to most identifiers with dots between them, and says where they end.
func (s *scanner) names(most int) []string {
	var out []string
	end := s.pos
	for len(out) < most {
		name, ok := s.ident()
		if !ok {
			break
		}
		out = append(out, name)
		end = s.pos
		s.space()
		if s.pos >= len(s.text) || s.text[s.pos] != '.' {
			break
		}
		s.pos++
		s.space()
	}
	s.pos = end
	return out
}

// alias moves behind a table's alias and its list of column names, if it has them.
func (s *scanner) alias(u tableUse) bool {
	if u.alias == "" {
		return true
	}
	s.space()
	name, ok := s.ident()
	if ok && strings.EqualFold(name, "as") && !strings.EqualFold(u.alias, "as") {
		s.space()
		name, ok = s.ident()
	}
	if !ok || !strings.EqualFold(name, u.alias) {
		return false
	}
	if !u.columns {
		return true
	}
	s.space()
	if s.pos >= len(s.text) || s.text[s.pos] != '(' {
		return false
	}
	for s.pos < len(s.text) && s.text[s.pos] != ')' {
		s.pos++
		s.space()
		if _, ok := s.ident(); !ok {
			return false
		}
		s.space()
	}
	s.pos++
	return s.pos <= len(s.text)
}
