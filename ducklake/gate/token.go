package gate

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vegadb/vega-flight/fault"
)

// tokenKind is what a token is to the gate; operators are single characters.
type tokenKind uint8

const (
	word   tokenKind = iota // an unquoted identifier or keyword
	quoted                  // a "quoted" identifier
	str                     // a string of any quoting
	number
	param // ?, ?1, $1, $name
	op    // any other character
)

// token is one token of a SQL text. text is what it means: an identifier as written but without quotes, the
// raw characters otherwise; the value of strings is not kept but for plain and dollar quoted ones.
type token struct {
	kind       tokenKind
	text       string
	lower      string // text in ASCII lower case, for identifiers
	start, end int    // bytes in the source
}

// name says that the token can name an object or function.
func (t token) name() bool { return t.kind == word || t.kind == quoted }

// is says that the token is that keyword. A quoted identifier never is one.
func (t token) is(keyword string) bool { return t.kind == word && t.lower == keyword }

// op says that the token is that single operator character.
func (t token) op(c byte) bool { return t.kind == op && t.text[0] == c }

// scanner cuts a text as DuckDB's own scanner does. Where the two could disagree the text is refused.
type scanner struct {
	src string
	pos int
}

// scan cuts the text into tokens and drops comments and white space. The second result is the text with every
// Unicode space outside of quotes made an ASCII one of the same length, so that DuckDB has none to find.
func scan(src string) ([]token, string, error) {
	if i := strings.IndexByte(src, 0); i >= 0 {
		return nil, "", fault.SyntaxError.Newf("the text contains a zero byte").At(i)
	}
	if !utf8.ValidString(src) {
		return nil, "", fault.SyntaxError.Newf("the text is not valid UTF-8").At(invalidAt(src))
	}
	s := &scanner{src: src}
	var toks []token
	var clean []byte
	for s.pos < len(src) {
		if n := spaceAt(src, s.pos); n > 0 {
			if n > 1 {
				if clean == nil {
					clean = []byte(src)
				}
				for i := range n {
					clean[s.pos+i] = ' '
				}
			}
			s.pos += n
			continue
		}
		if skipped, err := s.comment(); err != nil {
			return nil, "", err
		} else if skipped {
			continue
		}
		t, err := s.token()
		if err != nil {
			return nil, "", err
		}
		toks = append(toks, t)
	}
	if clean != nil {
		src = string(clean)
	}
	return toks, src, nil
}

func invalidAt(s string) int {
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return i
		}
	}
	return 0
}

// spaceAt is the length of the white space character at i, or 0.
func spaceAt(src string, i int) int {
	c := src[i]
	if c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v' {
		return 1
	}
	if c < utf8.RuneSelf {
		return 0
	}
	r, n := utf8.DecodeRuneInString(src[i:])
	// Beside Unicode's spaces DuckDB takes the zero-width ones away, and a byte order mark.
	if unicode.IsSpace(r) || (r >= 0x200B && r <= 0x200D) || r == 0x2060 || r == 0xFEFF || r == 0x180E {
		return n
	}
	return 0
}

// comment skips one comment. Block comments nest.
func (s *scanner) comment() (bool, error) {
	rest := s.src[s.pos:]
	switch {
	case strings.HasPrefix(rest, "--"):
		if n := strings.IndexAny(rest, "\r\n"); n >= 0 {
			s.pos += n
		} else {
			s.pos = len(s.src)
		}
		return true, nil
	case strings.HasPrefix(rest, "/*"):
		start, depth := s.pos, 1
		for s.pos += 2; depth > 0; {
			if s.pos+1 >= len(s.src) {
				return false, fault.SyntaxError.Newf("a comment is not closed").At(start)
			}
			switch s.src[s.pos : s.pos+2] {
			case "*/":
				depth--
				s.pos += 2
			case "/*":
				depth++
				s.pos += 2
			default:
				s.pos++
			}
		}
		return true, nil
	}
	return false, nil
}

func (s *scanner) token() (token, error) {
	c := s.src[s.pos]
	next := byte(0)
	if s.pos+1 < len(s.src) {
		next = s.src[s.pos+1]
	}
	switch {
	case c == '\'':
		return s.stringConst(s.pos, false)
	case next == '\'' && (c == 'e' || c == 'E'):
		start := s.pos
		s.pos++
		return s.stringConst(start, true)
	case next == '\'' && (c == 'x' || c == 'X' || c == 'b' || c == 'B'):
		start := s.pos
		s.pos++
		return s.stringConst(start, false)
	case (c == 'u' || c == 'U') && next == '&' && s.pos+2 < len(s.src) && (s.src[s.pos+2] == '"' || s.src[s.pos+2] == '\''):
		return token{}, fault.SyntaxError.Newf("Unicode escapes (U&) are not supported").At(s.pos).
			WithHint("write the characters themselves, the text is UTF-8")
	case c == '"':
		return s.quotedName()
	case identStart(c):
		start := s.pos
		for s.pos < len(s.src) && identPart(s.src, s.pos) {
			s.pos++
		}
		text := s.src[start:s.pos]
		return token{kind: word, text: text, lower: lower(text), start: start, end: s.pos}, nil
	case digit(c) || c == '.' && digit(next):
		return s.number(), nil
	case c == '$':
		return s.dollar()
	case c == '?':
		start := s.pos
		s.pos++
		s.digits()
		return token{kind: param, text: s.src[start:s.pos], start: start, end: s.pos}, nil
	}
	s.pos++
	return token{kind: op, text: s.src[s.pos-1 : s.pos], start: s.pos - 1, end: s.pos}, nil
}

// stringConst reads a string whose quote is at pos; start is where its prefix began.
func (s *scanner) stringConst(start int, escapes bool) (token, error) {
	open := s.pos
	for s.pos++; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; {
		case c == '\\' && escapes:
			s.pos++
		case c != '\'':
		case s.pos+1 < len(s.src) && s.src[s.pos+1] == '\'':
			s.pos++
		default:
			s.pos++
			t := token{kind: str, start: start, end: s.pos}
			if start == open {
				t.text = strings.ReplaceAll(s.src[open+1:s.pos-1], "''", "'")
			} else {
				t.text = s.src[start:s.pos]
			}
			return t, nil
		}
	}
	return token{}, fault.SyntaxError.Newf("a string is not closed").At(start)
}

func (s *scanner) quotedName() (token, error) {
	start := s.pos
	for s.pos++; s.pos < len(s.src); s.pos++ {
		if s.src[s.pos] != '"' {
			continue
		}
		if s.pos+1 < len(s.src) && s.src[s.pos+1] == '"' {
			s.pos++
			continue
		}
		s.pos++
		text := strings.ReplaceAll(s.src[start+1:s.pos-1], `""`, `"`)
		return token{kind: quoted, text: text, lower: lower(text), start: start, end: s.pos}, nil
	}
	return token{}, fault.SyntaxError.Newf("a quoted identifier is not closed").At(start)
}

// number reads a numeric constant. What follows it directly is a token of its own, as in DuckDB: 0x1F is 0 and x1F.
func (s *scanner) number() token {
	start := s.pos
	s.digits()
	if s.at('.') && !strings.HasPrefix(s.src[s.pos:], "..") {
		s.pos++
		s.digits()
	}
	if s.at('e') || s.at('E') {
		n := s.pos + 1
		if n < len(s.src) && (s.src[n] == '+' || s.src[n] == '-') {
			n++
		}
		if n < len(s.src) && digit(s.src[n]) {
			s.pos = n
			s.digits()
		}
	}
	return token{kind: number, text: s.src[start:s.pos], start: start, end: s.pos}
}

// digits skips digits, with single underscores between them.
func (s *scanner) digits() {
	for s.pos < len(s.src) {
		switch {
		case digit(s.src[s.pos]):
			s.pos++
		case s.src[s.pos] == '_' && s.pos > 0 && digit(s.src[s.pos-1]) && s.pos+1 < len(s.src) && digit(s.src[s.pos+1]):
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.src) && s.src[s.pos] == c }

// dollar reads a dollar quoted string or a $parameter.
func (s *scanner) dollar() (token, error) {
	start := s.pos
	end := start + 1
	for end < len(s.src) && identPart(s.src, end) && s.src[end] != '$' {
		if s.src[end] >= utf8.RuneSelf {
			return token{}, fault.SyntaxError.Newf("only ASCII letters may follow a dollar sign").At(start)
		}
		end++
	}
	tag := s.src[start+1 : end]
	if end < len(s.src) && s.src[end] == '$' && (tag == "" || !digit(tag[0])) {
		delimiter := s.src[start : end+1]
		n := strings.Index(s.src[end+1:], delimiter)
		if n < 0 {
			return token{}, fault.SyntaxError.Newf("a dollar quoted string is not closed").At(start)
		}
		s.pos = end + 1 + n + len(delimiter)
		return token{kind: str, text: s.src[end+1 : end+1+n], start: start, end: s.pos}, nil
	}
	if tag == "" {
		return token{}, fault.SyntaxError.Newf("a lone dollar sign").At(start)
	}
	if digit(tag[0]) {
		for i := range len(tag) {
			if !digit(tag[i]) {
				return token{}, fault.SyntaxError.Newf("malformed parameter").At(start)
			}
		}
	}
	s.pos = end
	return token{kind: param, text: s.src[start:end], start: start, end: end}, nil
}

func identStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

// identPart says that the character at i goes on with an identifier.
func identPart(src string, i int) bool {
	c := src[i]
	if c >= utf8.RuneSelf {
		return !utf8.RuneStart(c) || spaceAt(src, i) == 0
	}
	return identStart(c) || digit(c) || c == '$'
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// lower folds ASCII letters only, as DuckDB does for names.
func lower(s string) string {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
