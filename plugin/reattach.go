package plugin

import (
	"encoding/json"
	"net"
	"os"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/vegadb/vega-flight/fault"
)

// ReattachVariable is the environment variable by which a host is told to use a sidecar that somebody runs in a debugger: a [Reattach] as JSON,
// as `vega-flight plugin --debug` prints it.
const ReattachVariable = "VEGA_FLIGHT_REATTACH"

// Reattach is where a sidecar is that no host has launched.
type Reattach struct {
	Network  string `json:"network"` // unix or tcp
	Address  string `json:"address"`
	PID      int    `json:"pid"`
	Protocol int    `json:"protocol"` // version between host and sidecar
}

// reattachFromEnvironment is what the environment says; nil for nothing.
func reattachFromEnvironment() (*Reattach, error) {
	text := os.Getenv(ReattachVariable)
	if text == "" {
		return nil, nil
	}
	r := new(Reattach)
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "%s", ReattachVariable).WithHint("give it the line that 'vega-flight plugin --debug' prints")
	}
	return r, nil
}

func (r *Reattach) config() (*goplugin.ReattachConfig, error) {
	out := &goplugin.ReattachConfig{Protocol: goplugin.ProtocolGRPC, ProtocolVersion: r.Protocol, Pid: r.PID, Test: true}
	var err error
	switch r.Network {
	case "unix":
		out.Addr, err = net.ResolveUnixAddr(r.Network, r.Address)
	default:
		out.Addr, err = net.ResolveTCPAddr(r.Network, r.Address)
	}
	if err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "the address of the sidecar to attach to")
	}
	return out, nil
}

// attach gives out where this sidecar is.
func (c *ServeConfig) attach(from <-chan *goplugin.ReattachConfig, served <-chan struct{}) error {
	select {
	case r := <-from:
		return c.Attach(Reattach{Network: r.Addr.Network(), Address: r.Addr.String(), PID: r.Pid, Protocol: Version})
	case <-served:
		return fault.ConfigInvalid.Newf("the sidecar cannot listen; the log says why")
	}
}
