package auth

import (
	"context"
	"net"

	"github.com/vegadb/vega-flight/fault"
)

// NoAuth lets everybody in as the administrator named [Anonymous]. It belongs
// on loopback addresses and unix sockets; see [CheckListener].
type NoAuth struct{}

var everybody = Principal{Name: Anonymous, Admin: true, MayAcceptStale: true}

// Login accepts anything, and gives a token because clients that log in insist on one.
func (NoAuth) Login(_ context.Context, c Credentials) (Grant, error) {
	if err := c.oneCredential(); err != nil {
		return Grant{}, err
	}
	return Grant{Principal: everybody, Token: Anonymous}, nil
}

// Check accepts anything but two credentials at once.
func (NoAuth) Check(_ context.Context, c Credentials) (Grant, error) {
	if err := c.oneCredential(); err != nil {
		return Grant{}, err
	}
	return Grant{Principal: everybody}, nil
}

// Run waits for the end of ctx.
func (NoAuth) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Barred says of nobody that he may not use the server.
func (NoAuth) Barred(string) string { return "" }

// Open is true.
func (NoAuth) Open() bool { return true }

// CheckListener refuses to serve without authentication where other machines can connect.
func CheckListener(a Authenticator, addr net.Addr, insecure bool) error {
	if !a.Open() || insecure {
		return nil
	}
	switch addr := addr.(type) {
	case *net.UnixAddr:
		return nil
	case *net.TCPAddr:
		if addr.IP.IsLoopback() {
			return nil
		}
	}
	return fault.InsecureListener.Newf("%s can be reached from other machines and no authentication is configured", addr).
		WithHint("configure a users file, listen on 127.0.0.1, or pass --insecure")
}
