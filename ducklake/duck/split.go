package duck

import (
	"fmt"
)

// Statement is one statement of a text.
type Statement struct {
	Text   string // without the separating semicolon, without space and comments around it
	Offset int    // of Text in the whole text, in bytes
}

// Split takes a text apart at its top-level semicolons. The C API tells how
// many statements a text has but not where they lie, so the places are found by
// a lexer of our own. It does not parse: what is not SQL comes back as one statement.
func Split(sql string) ([]Statement, error) {
	var list []Statement
	first, last := -1, 0 // the statement's first byte and the end of its last token
	for at := 0; at < len(sql); {
		n, kind := lex(sql[at:])
		switch kind {
		case lexOpen:
			return nil, fmt.Errorf("Parser Error: unterminated quote or comment at offset %d", at)
		case lexSpace:
		case lexSemicolon:
			if first >= 0 {
				list = append(list, Statement{Text: sql[first:last], Offset: first})
			}
			first = -1
		default:
			if first < 0 {
				first = at
			}
			last = at + n
		}
		at += n
	}
	if first >= 0 {
		list = append(list, Statement{Text: sql[first:last], Offset: first})
	}
	return list, nil
}
