package flightsql

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

// Handshake logs in. Credentials come as an authorization or x-api-key header
// or, from older clients, as a BasicAuth message in the first request; the
// token goes back in every place where some client looks for it.
func (f *front) Handshake(stream flight.FlightService_HandshakeServer) error {
	ctx := stream.Context()
	c := credentialsOf(ctx)
	payload := false
	if c.Authorization == "" && c.APIKey == "" {
		switch req, err := stream.Recv(); {
		case errors.Is(err, io.EOF):
		case err != nil:
			return err
		case len(req.Payload) > 0:
			var basic flight.BasicAuth
			if err := proto.Unmarshal(req.Payload, &basic); err != nil {
				return fault.Unauthorized.Newf("the handshake's payload is not a BasicAuth message")
			}
			c.Authorization = auth.BasicHeader(basic.Username, basic.Password)
			payload = true
		}
	}
	grant, err := f.auth.Login(ctx, c)
	if err != nil {
		return err
	}
	md := metadata.MD{}
	reply := &flight.HandshakeResponse{}
	if grant.Token != "" {
		md.Set(authorizationHeader, "Bearer "+grant.Token)
		if payload {
			reply.Payload = []byte(grant.Token)
		}
	}
	if err := stream.SendHeader(md); err != nil {
		return err
	}
	stream.SetTrailer(md)
	f.log.Info("login", "user", grant.Principal.Name, "remote", c.Remote)
	if !payload {
		// A message would let arrow-go's client read the trailer while it is still arriving, which can end the client's process.
		return nil
	}
	return stream.Send(reply)
}
