package flightsql

import (
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/vegadb/vega-flight/flightsql/auth"
)

// redactor takes secrets, and for ordinary callers the host's paths, out of
// every text that is not the caller's own: statuses, what jobs and handles
// failed with, and plans.
type redactor struct {
	roots []string // longest first
}

var (
	// Secrets in connection texts are nobody's to read.
	secretPair = regexp.MustCompile(`(?i)\b(password|passwd|secret|token|api_key)(\s*=\s*)('[^']*'|"[^"]*"|[^\s'",;]+)`)
	secretURL  = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*://[^\s:/@]*):[^\s/@]+@`)
	// An absolute path with a folder in it. What precedes it keeps divisions in SQL out.
	hostPath = regexp.MustCompile(`(^|["'(\s=])(file:)?(/[\pL\pN_.@+~%-]+){2,}/?`)
	// In quotes a path may have any characters.
	quotedPath = regexp.MustCompile(`"(?:file:)?/[^"\n/]+/[^"\n]*"|'(?:file:)?/[^'\n/]+/[^'\n]*'`)
)

// newRedactor hides everything below the given folders and files, or addresses of such.
func newRedactor(paths ...string) redactor {
	var r redactor
	for _, p := range paths {
		if p != "" && !strings.Contains(p, "://") {
			if abs, err := filepath.Abs(p); err == nil { // a relative one may be any word
				p = abs
			}
		}
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
	text = quotedPath.ReplaceAllStringFunc(text, func(s string) string { return s[:1] + "…" + s[:1] })
	return hostPath.ReplaceAllString(text, "$1…")
}

// cleaner is clean for what one caller reads.
func (r redactor) cleaner(p auth.Principal) func(string) string {
	return func(text string) string { return r.clean(text, p.Admin) }
}
