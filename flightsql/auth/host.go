package auth

import "context"

// Host is the caller's name when the program that launched this process calls without credentials.
const Host = "host"

// Hosted lets the program that launched this process in as the administrator named [Host]: that it is that program, its connection has proved.
// With credentials it calls for one of the users.
type Hosted struct{ Users *Users }

var host = Principal{Name: Host, Admin: true, MayAcceptStale: true}

func (c Credentials) none() bool { return c.Authorization == "" && c.APIKey == "" }

// Login proves a user. The host itself needs no token.
func (h Hosted) Login(ctx context.Context, c Credentials) (Grant, error) {
	if c.none() {
		return Grant{Principal: host, Token: Host}, nil
	}
	return h.Users.Login(ctx, c)
}

// Check finds the caller.
func (h Hosted) Check(ctx context.Context, c Credentials) (Grant, error) {
	if c.none() || c.APIKey == "" && c.Authorization == "Bearer "+Host {
		return Grant{Principal: host}, nil
	}
	return h.Users.Check(ctx, c)
}

// Run keeps the users fresh until ctx ends.
func (h Hosted) Run(ctx context.Context) error { return h.Users.Run(ctx) }

// Barred says why somebody who is not the host may not use the server.
func (h Hosted) Barred(name string) string {
	if name == Host {
		return ""
	}
	return h.Users.Barred(name)
}

// Open is false: others than the host prove who they are.
func (h Hosted) Open() bool { return false }
