package flightsql

import (
	"strings"
	"unicode/utf8"
)

// pattern is a metadata filter: % stands for any text, _ for one character, and
// a backslash takes either literally. Names are compared without case, as SQL
// compares them. A nil pattern matches everything.
type pattern struct{ text *string }

func (p pattern) matches(name string) bool {
	return p.text == nil || like(strings.ToLower(name), strings.ToLower(*p.text))
}

// like walks both strings once; after a % it remembers where to try again.
func like(s, p string) bool {
	const nowhere = -1
	retryS, retryP := nowhere, nowhere
	i, j := 0, 0
	for i < len(s) {
		_, width := utf8.DecodeRuneInString(s[i:])
		switch {
		case j < len(p) && p[j] == '%':
			retryS, retryP = i, j+1
			j++
			continue
		case j < len(p) && p[j] == '_':
			i, j = i+width, j+1
			continue
		case j < len(p):
			k := j
			if p[j] == '\\' && j+1 < len(p) {
				k++
			}
			if strings.HasPrefix(p[k:], s[i:i+width]) {
				i, j = i+width, k+width
				continue
			}
		}
		if retryS == nowhere {
			return false
		}
		_, skip := utf8.DecodeRuneInString(s[retryS:])
		retryS += skip
		i, j = retryS, retryP
	}
	return strings.Trim(p[j:], "%") == ""
}
