package ddl

import (
	"strings"
	"unicode/utf8"
)

// tokenKind is the sort of a token.
type tokenKind int

const (
	word      tokenKind = iota + 1 // unquoted identifier or keyword; text is as written
	quoted                         // "identifier"; text is the name without quotes
	str                            // 'string' or $$string$$; text is the value
	estr                           // E'string'; text is as written
	number                         // numeric literal; text is as written
	symbol                         // one character of punctuation or operator, except the semicolon
	semicolon                      // separates statements
	broken                         // a string, quoted identifier or comment without its end: the rest of the text
)

// token is one token; comments and white space are none.
type token struct {
	kind       tokenKind
	text       string
	start, end int // bytes in the source
}

// is reports whether the token is the unquoted word w, given in upper case.
func (t token) is(w string) bool { return t.kind == word && strings.EqualFold(t.text, w) }

// isSymbol reports whether the token is that one character.
func (t token) isSymbol(s string) bool { return t.kind == symbol && t.text == s }

// lex cuts a text into tokens as DuckDB's scanner does, as far as the ends of
// statements and our own statements need it.
func lex(sql string) []token {
	l := lexer{src: sql}
	for l.space() {
		l.next()
	}
	return l.tokens
}

type lexer struct {
	src    string
	pos    int
	tokens []token
}

func (l *lexer) emit(kind tokenKind, text string, start, end int) {
	l.tokens = append(l.tokens, token{kind, text, start, end})
	l.pos = end
}

// at returns the byte i places on, 0 behind the end.
func (l *lexer) at(i int) byte {
	if l.pos+i < len(l.src) {
		return l.src[l.pos+i]
	}
	return 0
}

// space skips white space and comments and reports whether a token follows.
func (l *lexer) space() bool {
	for l.pos < len(l.src) {
		switch c := l.at(0); {
		case c == ' ' || c >= '\t' && c <= '\r':
			l.pos++
		case c == '-' && l.at(1) == '-':
			n := strings.IndexAny(l.src[l.pos:], "\n\r")
			if n < 0 {
				l.pos = len(l.src)
				return false
			}
			l.pos += n
		case c == '/' && l.at(1) == '*':
			if !l.blockComment() {
				return false
			}
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(l.src[l.pos:])
			if !unicodeSpace(r) {
				return true
			}
			l.pos += n
		default:
			return true
		}
	}
	return false
}

// unicodeSpace is the set that DuckDB replaces by blanks before it scans.
func unicodeSpace(r rune) bool {
	return r == 0xA0 || r >= 0x2000 && r <= 0x200F || r == 0x202F || r == 0x205F || r == 0x3000 || r == 0xFEFF
}

// blockComment skips a comment, which may hold others.
func (l *lexer) blockComment() bool {
	depth := 0
	for i := l.pos; i+1 < len(l.src); i++ {
		switch {
		case l.src[i] == '/' && l.src[i+1] == '*':
			depth++
			i++
		case l.src[i] == '*' && l.src[i+1] == '/':
			depth--
			i++
			if depth == 0 {
				l.pos = i + 1
				return true
			}
		}
	}
	l.emit(broken, "comment", l.pos, len(l.src))
	return false
}

func wordStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func (l *lexer) next() {
	switch c := l.at(0); {
	case c == ';':
		l.emit(semicolon, ";", l.pos, l.pos+1)
	case c == '\'':
		l.quote(str, '\'')
	case c == '"':
		l.quote(quoted, '"')
	case (c == 'e' || c == 'E') && l.at(1) == '\'':
		l.escapeString()
	case (c == 'x' || c == 'X' || c == 'b' || c == 'B' || c == 'n' || c == 'N') && l.at(1) == '\'':
		l.emit(word, l.src[l.pos:l.pos+1], l.pos, l.pos+1) // a typed literal, which no option takes
	case (c == 'u' || c == 'U') && l.at(1) == '&' && (l.at(2) == '\'' || l.at(2) == '"'):
		l.emit(word, l.src[l.pos:l.pos+1], l.pos, l.pos+1)
	case c == '$':
		l.dollar()
	case wordStart(c):
		i := l.pos
		for i < len(l.src) && (wordStart(l.src[i]) || digit(l.src[i]) || l.src[i] == '$') {
			// A Unicode blank ends a word.
			if l.src[i] >= utf8.RuneSelf {
				r, n := utf8.DecodeRuneInString(l.src[i:])
				if unicodeSpace(r) {
					break
				}
				i += n
				continue
			}
			i++
		}
		l.emit(word, l.src[l.pos:i], l.pos, i)
	case digit(c) || c == '.' && digit(l.at(1)):
		l.number()
	default:
		l.emit(symbol, l.src[l.pos:l.pos+1], l.pos, l.pos+1)
	}
}

// quote reads a quoted token; a doubled quote stands for one.
func (l *lexer) quote(kind tokenKind, q byte) {
	var b strings.Builder
	for i := l.pos + 1; i < len(l.src); i++ {
		switch c := l.src[i]; {
		case c != q:
			b.WriteByte(c)
		case i+1 < len(l.src) && l.src[i+1] == q:
			b.WriteByte(q)
			i++
		default:
			l.emit(kind, b.String(), l.pos, i+1)
			return
		}
	}
	what := "string"
	if kind == quoted {
		what = "quoted identifier"
	}
	l.emit(broken, what, l.pos, len(l.src))
}

// escapeString reads E'…', where a backslash protects the next byte. Its value is not needed.
func (l *lexer) escapeString() {
	for i := l.pos + 2; i < len(l.src); i++ {
		switch {
		case l.src[i] == '\\' || l.src[i] == '\'' && i+1 < len(l.src) && l.src[i+1] == '\'':
			i++
		case l.src[i] == '\'':
			l.emit(estr, l.src[l.pos:i+1], l.pos, i+1)
			return
		}
	}
	l.emit(broken, "string", l.pos, len(l.src))
}

// dollar reads $$…$$, $tag$…$tag$, or the $ of a parameter.
func (l *lexer) dollar() {
	i := l.pos + 1
	for i < len(l.src) && (wordStart(l.src[i]) || i > l.pos+1 && digit(l.src[i])) {
		i++
	}
	if i >= len(l.src) || l.src[i] != '$' {
		l.emit(symbol, "$", l.pos, l.pos+1)
		return
	}
	tag := l.src[l.pos : i+1]
	body := l.src[i+1:]
	n := strings.Index(body, tag)
	if n < 0 {
		l.emit(broken, "dollar-quoted string", l.pos, len(l.src))
		return
	}
	l.emit(str, body[:n], l.pos, i+1+n+len(tag))
}

func (l *lexer) number() {
	i := l.pos
	for i < len(l.src) {
		c := l.src[i]
		exponent := (c == '+' || c == '-') && (l.src[i-1] == 'e' || l.src[i-1] == 'E') && !strings.HasPrefix(l.src[l.pos:], "0x")
		if !digit(c) && !wordStart(c) && c != '.' && !exponent || c >= utf8.RuneSelf {
			break
		}
		i++
	}
	l.emit(number, l.src[l.pos:i], l.pos, i)
}
