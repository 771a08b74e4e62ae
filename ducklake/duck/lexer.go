package duck

import (
	"strings"
	"unicode/utf8"
)

type lexKind int

const (
	lexToken     lexKind = iota // anything that belongs to a statement
	lexSpace                    // space or comment
	lexSemicolon                // the separator
	lexOpen                     // a quote or comment without its end
)

// lex gives the length and kind of the first token of s, which is not empty.
// It knows only what can hide a semicolon: DuckDB's quotes and comments.
func lex(s string) (int, lexKind) {
	switch c := s[0]; {
	case c == ';':
		return 1, lexSemicolon
	case c == ' ' || c >= '\t' && c <= '\r':
		return 1, lexSpace
	case strings.HasPrefix(s, "--"):
		if end := strings.IndexAny(s, "\r\n"); end >= 0 {
			return end, lexSpace
		}
		return len(s), lexSpace
	case strings.HasPrefix(s, "/*"):
		return comment(s)
	case c == '\'':
		return quoted(s, 1, '\'', false)
	case c == '"':
		return quoted(s, 1, '"', false)
	case (c == 'e' || c == 'E') && len(s) > 1 && s[1] == '\'':
		return quoted(s, 2, '\'', true)
	case c == '$':
		return dollar(s)
	case c >= utf8.RuneSelf && unicodeSpace(s) > 0:
		return unicodeSpace(s), lexSpace
	case isWord(c):
		n := 1
		for n < len(s) && (isWord(s[n]) || s[n] >= '0' && s[n] <= '9' || s[n] == '$') && unicodeSpace(s[n:]) == 0 {
			n++
		}
		return n, lexToken
	case c >= '0' && c <= '9':
		n := 1 // digits, and what may follow them without space: a number never starts a quote
		for n < len(s) && (isWord(s[n]) || s[n] >= '0' && s[n] <= '9') {
			n++
		}
		return n, lexToken
	}
	return 1, lexToken
}

// unicodeSpace is the length of the Unicode space that s begins with; 0 for none.
func unicodeSpace(s string) int {
	switch r, n := utf8.DecodeRuneInString(s); {
	case r == 0xa0, r >= 0x2000 && r <= 0x200f, r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000, r == 0xfeff:
		return n
	}
	return 0
}

func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// quoted ends at a single quote mark: a doubled one belongs to the text, and
// after a backslash, where escapes are on, any byte does.
func quoted(s string, n int, mark byte, escapes bool) (int, lexKind) {
	for n < len(s) {
		switch {
		case escapes && s[n] == '\\':
			n += 2
		case s[n] != mark:
			n++
		case n+1 < len(s) && s[n+1] == mark:
			n += 2
		default:
			return n + 1, lexToken
		}
	}
	return len(s), lexOpen
}

// comment ends at its closing mark; comments nest.
func comment(s string) (int, lexKind) {
	depth := 0
	for n := 0; n < len(s); {
		switch {
		case strings.HasPrefix(s[n:], "/*"):
			depth++
			n += 2
		case strings.HasPrefix(s[n:], "*/"):
			depth--
			n += 2
			if depth == 0 {
				return n, lexSpace
			}
		default:
			n++
		}
	}
	return len(s), lexOpen
}

// dollar is a $tag$ quote, or a parameter such as $1 or $name.
func dollar(s string) (int, lexKind) {
	n := 1
	for n < len(s) && (isWord(s[n]) || n > 1 && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	if n == len(s) || s[n] != '$' {
		return n, lexToken
	}
	tag := s[:n+1]
	end := strings.Index(s[n+1:], tag)
	if end < 0 {
		return len(s), lexOpen
	}
	return n + 1 + end + len(tag), lexToken
}
