package ddl

import "strings"

// QuoteIdent quotes an identifier when DuckDB would not read it back bare.
func QuoteIdent(s string) string {
	if bareIdent(s) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// QuoteString writes s as a SQL string literal.
func QuoteString(s string) string {
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// bareIdent says whether s can stand without quotes: lower case, so that it
// also survives systems that fold case, and no keyword of DuckDB's.
func bareIdent(s string) bool {
	if s == "" || keywords[s] {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c == '_':
		case i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return true
}
