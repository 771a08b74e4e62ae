package flightsql

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vegadb/vega-flight/fault"
)

// record is what is written down about a statement when it has ended. A
// statement ends when its last row was sent or given up.
type record struct {
	svc     *Service
	session string
	user    string
	kind    string
	text    string
	started time.Time
	over    bool
}

// maxLogged bounds how much of a statement's text goes into the log.
const maxLogged = 300

func (s *Service) record(sess *session, kind, text string) *record {
	return &record{svc: s, session: sess.label(), user: sess.principal.Name, kind: kind, text: text, started: time.Now()}
}

// end writes the statement's line and figures, once. rows are those sent or changed.
func (r *record) end(err error, rows int64) {
	if r == nil || r.over {
		return
	}
	r.over = true
	took := time.Since(r.started)
	code := codeName(err)
	r.svc.observe.Statement(r.kind, code, took, rows)
	attrs := []slog.Attr{
		slog.String("session", r.session), slog.String("user", r.user), slog.String("kind", r.kind),
		slog.Duration("took", took), slog.Int64("rows", rows), slog.String("sql", skeleton(r.text)),
	}
	if code != "" {
		attrs = append(attrs, slog.String("code", code))
	}
	r.svc.log.LogAttrs(context.Background(), slog.LevelInfo, "statement", attrs...)
}

// codeName is the stable name of an error, "" for none.
func codeName(err error) string {
	if err == nil {
		return ""
	}
	if c := fault.CodeOf(err); c != nil {
		return c.Name()
	}
	if f := classifyDuckDB(err); f != nil {
		return f.Code.Name()
	}
	switch {
	case errors.Is(err, context.Canceled):
		return fault.Cancelled.Name()
	case errors.Is(err, context.DeadlineExceeded):
		return fault.TimedOut.Name()
	}
	return fault.InternalError.Name()
}

// skeleton is a statement's text without its literals and comments, which may
// be secrets: every string and number becomes a question mark.
func skeleton(sql string) string {
	var b strings.Builder
	space := func() {
		if s := b.String(); s != "" && !strings.HasSuffix(s, " ") {
			b.WriteByte(' ')
		}
	}
	for i := 0; i < len(sql) && b.Len() < maxLogged; {
		c := sql[i]
		switch {
		case strings.HasPrefix(sql[i:], "--"):
			i = after(sql, i, "\n")
			space()
		case strings.HasPrefix(sql[i:], "/*"):
			i = afterComment(sql, i)
			space()
		case c == '\'':
			escapes := i > 0 && sql[i-1]|0x20 == 'e' && (i == 1 || !isWord(sql[i-2]))
			i = afterQuote(sql, i, escapes)
			b.WriteByte('?')
		case c == '"':
			end := afterQuote(sql, i, false)
			b.WriteString(sql[i:end])
			i = end
		case c == '$':
			if tag := dollarTag(sql[i:]); tag != "" {
				i = after(sql, i+len(tag), tag)
				b.WriteByte('?')
				continue
			}
			b.WriteByte(c)
			i++
		case isDigit(c):
			for i < len(sql) && (isWord(sql[i]) || sql[i] == '.') {
				i++
			}
			b.WriteByte('?')
		case isWord(c):
			start := i
			for i < len(sql) && isWord(sql[i]) {
				i++
			}
			b.WriteString(sql[start:i])
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			space()
			i++
		default:
			b.WriteByte(c)
			i++
		}
	}
	out := strings.TrimSpace(b.String())
	if len(out) > maxLogged {
		out = out[:maxLogged] + "…"
	}
	if !utf8.ValidString(out) {
		out = strings.ToValidUTF8(out, "…")
	}
	return out
}

// after is the offset behind the next end, or the text's length.
func after(sql string, from int, end string) int {
	from = min(from, len(sql))
	if n := strings.Index(sql[from:], end); n >= 0 {
		return from + n + len(end)
	}
	return len(sql)
}

// afterComment is the offset behind the block comment that starts at i; they nest.
func afterComment(sql string, i int) int {
	for depth := 0; i < len(sql); i++ {
		switch {
		case strings.HasPrefix(sql[i:], "/*"):
			depth++
			i++
		case strings.HasPrefix(sql[i:], "*/"):
			i++
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(sql)
}

// afterQuote is the offset behind the quoted text that starts at i; a doubled quote does not end it, nor one behind a backslash if there are escapes.
func afterQuote(sql string, i int, escapes bool) int {
	quote := sql[i]
	for i++; i < len(sql); i++ {
		switch {
		case escapes && sql[i] == '\\':
			i++
		case sql[i] != quote:
		case i+1 < len(sql) && sql[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return len(sql)
}

// dollarTag is the opening of a dollar-quoted string, such as $$ or $tag$.
func dollarTag(sql string) string {
	for i := 1; i < len(sql); i++ {
		switch {
		case sql[i] == '$':
			return sql[:i+1]
		case !isWord(sql[i]) || i == 1 && isDigit(sql[i]):
			return ""
		}
	}
	return ""
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool {
	return c == '_' || isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf
}
