package plugin

import (
	"context"
	"errors"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// Cookie is the environment variable by which a host tells the binary that it is a sidecar, and its value. It is no secret.
const (
	Cookie      = "VEGA_FLIGHT_PLUGIN"
	CookieValue = "5c0a4f7e-sidecar-of-a-host"
)

// Version is the newest version of the protocol between host and sidecar: Flight SQL and control.proto.
const Version = 1

// Handshake is what both sides must agree on.
var Handshake = goplugin.HandshakeConfig{MagicCookieKey: Cookie, MagicCookieValue: CookieValue, ProtocolVersion: Version}

// service is the name under which the one thing that the plugin offers is dispensed.
const service = "vega-flight"

// versions are the sets of services of all versions that this program speaks.
func versions(p goplugin.Plugin) map[int]goplugin.PluginSet {
	return map[int]goplugin.PluginSet{Version: {service: p}}
}

// line is the connection to a sidecar. ended is done when its process has ended.
type line struct {
	conn  *grpc.ClientConn
	ended context.Context
}

// hostSide is the plugin as a host dispenses it.
type hostSide struct {
	goplugin.NetRPCUnsupportedPlugin
}

// GRPCServer is the other side's.
func (hostSide) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("plugin: a host serves nothing")
}

// GRPCClient gives the connection.
func (hostSide) GRPCClient(ctx context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return &line{conn: conn, ended: ctx}, nil
}

// sidecarSide is the plugin as the sidecar registers it.
type sidecarSide struct {
	goplugin.NetRPCUnsupportedPlugin
	register func(*grpc.Server)
}

// GRPCServer registers Flight SQL and control.
func (s sidecarSide) GRPCServer(_ *goplugin.GRPCBroker, to *grpc.Server) error {
	s.register(to)
	return nil
}

// GRPCClient is the other side's.
func (sidecarSide) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("plugin: a sidecar dials nothing")
}
