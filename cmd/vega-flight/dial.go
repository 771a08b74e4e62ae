package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"golang.org/x/term"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

const maxMessage = 64 << 20 // bytes of one gRPC message; servers send batches of a few MiB

// dial opens a connection to the URI and logs in when a user is named.
func dial(ctx context.Context, o sqlOptions, errOut io.Writer) (*connection, error) {
	target, creds, err := target(o)
	if err != nil {
		return nil, err
	}
	client, err := flightsql.NewClient(target, nil, []flight.ClientMiddleware{flight.NewClientCookieMiddleware()},
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return nil, err
	}
	c := &connection{client: client, close: func() { _ = client.Close() }} // the process ends with it
	switch {
	case o.token != "" && o.apiKey != "":
		err = fmt.Errorf("%w: a token and an API key exclude each other", errUsage)
	case o.token != "":
		c.header = []string{"authorization", "Bearer " + o.token}
	case o.apiKey != "":
		c.header = []string{"x-api-key", o.apiKey}
	case o.user != "":
		err = c.login(ctx, o.user, errOut)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *connection) login(ctx context.Context, user string, errOut io.Writer) error {
	password, ok := os.LookupEnv("VEGA_FLIGHT_PASSWORD")
	if !ok {
		if !term.IsTerminal(int(os.Stdin.Fd())) {
			return errors.New("no password: set VEGA_FLIGHT_PASSWORD")
		}
		fmt.Fprint(errOut, "Password: ")
		text, err := term.ReadPassword(int(os.Stdin.Fd()))
		fmt.Fprintln(errOut)
		if err != nil {
			return err
		}
		password = string(text)
	}
	authed, err := c.client.Client.AuthenticateBasicToken(ctx, user, password)
	if err != nil {
		return clientError(err)
	}
	md, _ := metadata.FromOutgoingContext(authed)
	if v := md.Get("authorization"); len(v) > 0 {
		c.header = []string{"authorization", v[len(v)-1]}
	}
	return nil
}

// outgoing adds the credentials to a call.
func (c *connection) outgoing(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, c.header...)
}

func target(o sqlOptions) (string, credentials.TransportCredentials, error) {
	u, err := url.Parse(o.uri)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	switch u.Scheme {
	case "grpc", "grpc+tcp":
		return u.Host, insecure.NewCredentials(), nil
	case "grpc+unix":
		return "unix://" + u.Path, insecure.NewCredentials(), nil
	case "grpc+tls":
		conf := &tls.Config{InsecureSkipVerify: o.skipVerify, MinVersion: tls.VersionTLS12}
		if o.caFile != "" {
			pem, err := os.ReadFile(o.caFile)
			if err != nil {
				return "", nil, err
			}
			conf.RootCAs = x509.NewCertPool()
			if !conf.RootCAs.AppendCertsFromPEM(pem) {
				return "", nil, fmt.Errorf("%s holds no PEM certificate", o.caFile)
			}
		}
		return u.Host, credentials.NewTLS(conf), nil
	default:
		meant := ""
		if !strings.Contains(o.uri, "://") {
			meant = "; did you mean grpc://" + o.uri + "?"
		}
		return "", nil, fmt.Errorf("%w: the URI starts with grpc://, grpc+tls:// or grpc+unix://, not %q%s", errUsage, o.uri, meant)
	}
}
