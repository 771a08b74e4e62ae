package auth

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

// Credentials is what a request brings to prove who calls.
type Credentials struct {
	Authorization string // "Basic …" or "Bearer …"; empty if absent
	APIKey        string // the x-api-key header; empty if absent
	Remote        string // the caller's host, without the port; only for throttling
}

// Grant is the answer to good credentials.
type Grant struct {
	Principal Principal
	Token     string // not empty: a bearer token the client shall use from now on
}

// Authenticator decides who calls. Errors are fault errors.
type Authenticator interface {
	// Login answers a handshake: it proves the caller and gives a token.
	Login(ctx context.Context, c Credentials) (Grant, error)
	// Check answers any other call.
	Check(ctx context.Context, c Credentials) (Grant, error)
	// Run keeps the authenticator fresh until ctx ends.
	Run(ctx context.Context) error
	// Open reports whether anybody may call.
	Open() bool
}

// BasicHeader is the authorization value for a user and password.
func BasicHeader(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// scheme splits an authorization value. Schemes compare without case.
func scheme(v string) (name, rest string) {
	name, rest, _ = strings.Cut(strings.TrimSpace(v), " ")
	return strings.ToLower(name), strings.TrimSpace(rest)
}

func basic(encoded string) (user, password string, err error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		if raw, err = base64.RawStdEncoding.DecodeString(encoded); err != nil {
			return "", "", fault.Unauthorized.Newf("the basic credentials are not base64")
		}
	}
	user, password, ok := strings.Cut(string(raw), ":")
	if !ok {
		return "", "", fault.Unauthorized.Newf("the basic credentials have no colon")
	}
	return user, password, nil
}

// oneCredential refuses a request that brings two, since which one counts would be a guess.
func (c Credentials) oneCredential() error {
	if c.Authorization != "" && c.APIKey != "" {
		return fault.Unauthorized.Newf("the request has both authorization and x-api-key").
			WithHint("send one of them")
	}
	return nil
}
