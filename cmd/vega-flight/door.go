package main

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"github.com/vegadb/vega-flight/flightsql"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

// door is where clients come in: the listener, who they are, and TLS; and where an operator's tools do.
type door struct {
	listener net.Listener // nil: clients come in elsewhere
	http     net.Listener // nil when it is turned off
	auth     auth.Authenticator
	tls      *auth.Certificate
}

func openDoor(ctx context.Context, c *Config, log *slog.Logger) (*door, error) {
	d := &door{auth: auth.NoAuth{}}
	var err error
	if c.UsersFile != "" {
		if d.auth, err = auth.OpenUsers(auth.UsersConfig{Path: c.UsersFile, TokenTTL: c.TokenTTL, Log: log}); err != nil {
			return nil, err
		}
	}
	if c.Listen != "" {
		if d.listener, err = flightsql.Listen(ctx, c.Listen); err != nil {
			return nil, err
		}
		if err := auth.CheckListener(d.auth, d.listener.Addr(), c.Insecure); err != nil {
			return nil, errors.Join(err, d.close())
		}
	}
	if c.HTTP != "" {
		if d.http, err = listenTCP(c.HTTP); err != nil {
			return nil, errors.Join(err, d.close())
		}
	}
	switch {
	case c.TLSCert != "":
		d.tls, err = auth.LoadCertificate(c.TLSCert, c.TLSKey, log)
	case c.TLSGenerate != "":
		host, _, _ := net.SplitHostPort(c.Listen) // a socket path has no host to certify
		d.tls, err = auth.SelfSigned(c.TLSGenerate, []string{host}, log)
		if err == nil {
			log.Info("self-signed certificate", "file", d.tls.Path(), "sha256", d.tls.Fingerprint())
		}
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	if d.listener != nil && d.tls == nil && auth.CheckListener(auth.NoAuth{}, d.listener.Addr(), false) != nil {
		log.Warn("clients on other machines send their credentials and data in the clear: configure TLS, or put it in front", "address", d.address())
	}
	return d, nil
}

// listeners are none or one.
func (d *door) listeners() []net.Listener {
	if d.listener == nil {
		return nil
	}
	return []net.Listener{d.listener}
}

// address is what clients connect to; empty for nothing.
func (d *door) address() string {
	if d.listener == nil {
		return ""
	}
	a := d.listener.Addr()
	switch {
	case a.Network() == "unix":
		return "grpc+unix://" + a.String()
	case d.tls != nil:
		return "grpc+tls://" + a.String()
	}
	return "grpc://" + a.String()
}

// close gives the addresses back; a server that ran has closed them already.
func (d *door) close() error {
	var err error
	if d.listener != nil {
		err = d.listener.Close()
	}
	if d.http != nil {
		err = errors.Join(err, d.http.Close())
	}
	return err
}
