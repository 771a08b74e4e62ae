package check

import (
	"strings"
	"time"
)

// clocks are the names of the clock in queries: what each gives, made of the instant $, and whether it stands without parentheses too.
var clocks = map[string]struct {
	is   string
	bare bool
}{
	"now": {"$", false}, "transaction_timestamp": {"$", false}, "get_current_timestamp": {"$", false}, "current_timestamp": {"$", true},
	"today": {"CAST($ AS DATE)", false}, "current_date": {"CAST($ AS DATE)", true},
	"current_localtimestamp": {"CAST($ AS TIMESTAMP)", false}, "localtimestamp": {"CAST($ AS TIMESTAMP)", true},
}

// atClock is a query with its clock stopped at µs since 1970 UTC; 0 leaves it as it is.
func atClock(query string, micros int64) string {
	if micros == 0 {
		return query
	}
	instant := "TIMESTAMPTZ '" + time.UnixMicro(micros).UTC().Format("2006-01-02 15:04:05.000000") + "+00'"
	var out strings.Builder
	for pos, after := 0, byte(0); pos < len(query); {
		end := token(query, pos)
		word := query[pos:end]
		c, known := clocks[strings.ToLower(word)]
		rest := query[end:]
		open := strings.HasPrefix(strings.TrimLeft(rest, " "), "()")
		switch {
		case known && after != '.' && (open || c.bare):
			out.WriteString(strings.ReplaceAll(c.is, "$", instant))
			if open {
				end += strings.Index(rest, "()") + len("()")
			}
		default:
			out.WriteString(word)
		}
		if last := query[end-1]; last != ' ' && last != '\n' && last != '\t' {
			after = last
		}
		pos = end
	}
	return out.String()
}

// token is the end of the token that begins at pos: a word, a quoted text or name, a comment, or one character.
func token(s string, pos int) int {
	rest := s[pos:]
	until := func(skip int, end string) int {
		if i := strings.Index(rest[skip:], end); i >= 0 {
			return pos + skip + i + len(end)
		}
		return len(s)
	}
	switch c := s[pos]; {
	case strings.HasPrefix(rest, "--"):
		return until(2, "\n")
	case strings.HasPrefix(rest, "/*"):
		return until(2, "*/")
	case strings.HasPrefix(rest, "$$"):
		return until(2, "$$")
	case c == '\'' || c == '"':
		return until(1, string(c)) // a doubled quote is two of them
	case wordByte(c):
		end := pos
		for end < len(s) && wordByte(s[end]) {
			end++
		}
		return end
	}
	return pos + 1
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
