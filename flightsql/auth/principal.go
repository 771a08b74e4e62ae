package auth

import "context"

// Principal is an authenticated caller. The zero value is nobody.
type Principal struct {
	Name           string // unique in its authenticator
	Admin          bool   // may see and stop others' work, adopt views, read host paths in messages
	MayAcceptStale bool   // may set vega.accept_stale
}

// Anonymous is the caller's name when the server runs without authentication.
const Anonymous = "anonymous"

type principalKey struct{}

// NewContext returns ctx carrying p.
func NewContext(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// FromContext returns the caller of the request, and whether there is one.
func FromContext(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}
