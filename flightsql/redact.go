package flightsql

import (
	"regexp"
	"sort"
	"strings"
)

// redactor takes secrets, and for ordinary callers the host's paths, out of messages.
type redactor struct {
	roots []string // longest first
}

var (
	// Secrets in connection texts are nobody's to read.
	secretPair = regexp.MustCompile(`(?i)\b(password|passwd|secret|token|api_key)(\s*=\s*)('[^']*'|"[^"]*"|[^\s'",;]+)`)
	secretURL  = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*://[^\s:/@]*):[^\s/@]+@`)
	// An absolute path with a folder in it. What precedes it keeps divisions in SQL out.
	hostPath = regexp.MustCompile(`(^|["'(\s])(/[A-Za-z0-9_.@+~-]+){2,}/?`)
)

// newRedactor hides everything below the given folders and files.
func newRedactor(paths ...string) redactor {
	var r redactor
	for _, p := range paths {
		if p = strings.TrimRight(p, "/"); len(p) > 1 {
			r.roots = append(r.roots, p)
		}
	}
	sort.Slice(r.roots, func(i, j int) bool { return len(r.roots[i]) > len(r.roots[j]) })
	return r
}

func (r redactor) clean(text string, admin bool) string {
	text = secretPair.ReplaceAllString(text, "$1$2…")
	text = secretURL.ReplaceAllString(text, "$1:…@")
	if admin {
		return text
	}
	for _, root := range r.roots {
		text = strings.ReplaceAll(text, root, "…")
	}
	return hostPath.ReplaceAllString(text, "$1…")
}
