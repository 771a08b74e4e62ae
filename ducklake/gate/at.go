package gate

import (
	"github.com/vegadb/vega-flight/fault"
)

// atClause is one AT (VERSION => …) or AT (TIMESTAMP => …) in a text.
type atClause struct {
	from, to int // bytes
	clause   string
}

// constantWord may stand in an AT clause; they cannot read a table.
var constantWord = set("version timestamp timestamptz date interval getvariable now current_timestamp current_date cast as try_cast " +
	"bigint ubigint int integer varchar time zone with day days hour hours minute minutes second seconds week weeks month months year years today")

// withoutAt blanks the AT clauses of a text, which the shadow's tables do not know, keeping all positions. Such a
// clause must be made of constants, so that nothing a statement reads can hide in it.
func withoutAt(sql string) (string, []atClause, error) {
	toks, sql, err := scan(sql)
	if err != nil {
		return "", nil, err
	}
	var found []atClause
	for i := 1; i+3 < len(toks); i++ {
		unit := toks[i+2]
		if !toks[i].is("at") || !toks[i+1].op('(') || !unit.is("version") && !unit.is("timestamp") ||
			!toks[i+3].op('=') || i+4 >= len(toks) || !toks[i+4].op('>') || toks[i+4].start != toks[i+3].end {
			continue
		}
		if before := toks[i-1]; !before.name() && !before.op(')') {
			return "", nil, fault.SyntaxError.Newf("AT belongs behind a table").At(toks[i].start)
		}
		depth, end := 1, -1
		for j := i + 5; j < len(toks); j++ {
			t := toks[j]
			switch {
			case t.op('('):
				depth++
			case t.op(')'):
				depth--
			case t.kind == param:
				return "", nil, fault.InvalidParameter.Newf("AT takes a constant, and %s is a parameter", t.text).At(t.start).
					WithHint("write the value into the statement; the lake's snapshots() lists the versions with their times")
			case t.name() && !constantWord[t.lower]:
				return "", nil, fault.StatementForbidden.Newf("AT takes a constant").At(t.start)
			}
			if depth == 0 {
				end = j
				break
			}
		}
		if end < 0 {
			return "", nil, fault.SyntaxError.Newf("a parenthesis is not closed").At(toks[i+1].start)
		}
		from, to := toks[i].start, toks[end].end
		found = append(found, atClause{from, to, sql[from:to]})
		i = end
	}
	if len(found) == 0 {
		return sql, nil, nil
	}
	for _, f := range found {
		sql = blank(sql, f.from, f.to)
	}
	return sql, found, nil
}

// blank overwrites bytes of a text with spaces, keeping lines.
func blank(sql string, from, to int) string {
	b := []byte(sql)
	for i := from; i < to; i++ {
		if b[i] != '\n' && b[i] != '\r' {
			b[i] = ' '
		}
	}
	return string(b)
}
