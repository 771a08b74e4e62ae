package plugin

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/plugin/control"
)

// Options is how a host launches a sidecar.
type Options struct {
	// Binary is the vega-flight program: a path, or a name to be found by PATH.
	Binary string
	// SHA256 is the checksum that the binary must have; nil accepts any. Between the check and the start the file could be exchanged by
	// whoever may write it, so it should lie where only its installer may.
	SHA256 []byte
	// Lake is what the sidecar serves: options of `vega-flight serve` by name, without dashes. Nothing but the host's socket is served
	// unless "listen" or "http" say so.
	Lake map[string]string
	// Environment is added to what a sidecar gets of the host's: HOME, PATH, TMPDIR, TZ, LANG, XDG_*
	// and the folder of DuckDB's extensions.
	Environment []string
	// StartTimeout bounds the start of the process, without opening the lake; default 30 s.
	StartTimeout time.Duration
	// Log gets the sidecar's log lines; default: nowhere.
	Log hclog.Logger
	// Reattach uses a sidecar that runs already, instead of Binary. The environment variable [ReattachVariable] does the same.
	Reattach *Reattach
}

// Start launches a sidecar and opens its lake. It returns when the lake can be used. ctx bounds the start only.
//
// Its errors are fault errors: SIDECAR_MISSING, SIDECAR_CHANGED (the checksum), SIDECAR_INCOMPATIBLE (no protocol version in common),
// SIDECAR_GONE (it ended before it could be used; its log says why), and those of opening a lake.
func Start(ctx context.Context, o Options) (*Sidecar, error) {
	s, err := Launch(ctx, o)
	if err != nil {
		return nil, err
	}
	if _, err := s.Configure(ctx, o.Lake); err != nil {
		s.Kill()
		return nil, err
	}
	return s, nil
}

// Launch launches a sidecar without a lake; Configure opens one.
func Launch(ctx context.Context, o Options) (*Sidecar, error) {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.StartTimeout <= 0 {
		o.StartTimeout = 30 * time.Second
	}
	if until, ok := ctx.Deadline(); ok {
		o.StartTimeout = min(o.StartTimeout, time.Until(until))
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.Cancelled.Wrap(err, "starting the sidecar")
	}
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	var t *tie // none to a sidecar that runs already
	if config.Cmd != nil {
		if t, err = tied(config.Cmd); err != nil {
			return nil, launchFault(err, o)
		}
	}
	client := goplugin.NewClient(config)
	raw, err := dispense(client)
	t.started()
	if err != nil {
		client.Kill()
		t.cut()
		return nil, launchFault(err, o)
	}
	return &Sidecar{client: client, line: raw, tie: t, control: control.NewControlClient(raw.conn)}, nil
}

func dispense(client *goplugin.Client) (*line, error) {
	protocol, err := client.Client()
	if err != nil {
		return nil, err
	}
	raw, err := protocol.Dispense(service)
	if err != nil {
		return nil, err
	}
	l, ok := raw.(*line)
	if !ok {
		return nil, errors.New("another sort of plugin")
	}
	return l, nil
}

// config is the options as go-plugin takes them.
func (o *Options) config() (*goplugin.ClientConfig, error) {
	c := &goplugin.ClientConfig{
		HandshakeConfig: Handshake, VersionedPlugins: versions(hostSide{}), AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Logger: o.Log, StartTimeout: o.StartTimeout, SkipHostEnv: true,
	}
	at := o.Reattach
	if at == nil {
		var err error
		if at, err = reattachFromEnvironment(); err != nil {
			return nil, err
		}
	}
	if at != nil {
		if at.Protocol != Version {
			return nil, incompatible(nil)
		}
		var err error
		if c.Reattach, err = at.config(); err != nil {
			return nil, err
		}
		c.Plugins = versions(hostSide{})[Version] // go-plugin takes the set of no version here
		return c, nil
	}
	path, err := exec.LookPath(o.Binary)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, fault.SidecarMissing.Wrap(err, "the sidecar's binary %q", o.Binary).WithHint("install vega-flight, or give its path")
	}
	c.Cmd = exec.Command(path, "plugin")
	c.Cmd.Env = slices.Concat(inherited(os.Environ()), o.Environment)
	c.AutoMTLS = true
	if o.SHA256 != nil {
		c.SecureConfig = &goplugin.SecureConfig{Checksum: o.SHA256, Hash: sha256.New()}
	}
	return c, nil
}

// inherited is what of the host's environment a sidecar gets. The host's secrets are not its own.
func inherited(environ []string) []string {
	var out []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if slices.Contains([]string{"HOME", "PATH", "TMPDIR", "TZ", "LANG", "USER", "VEGA_EXTENSION_DIR"}, name) ||
			strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "LC_") {
			out = append(out, pair)
		}
	}
	return out
}

// launchFault names what went wrong before the sidecar could be talked to.
func launchFault(err error, o Options) error {
	switch {
	case errors.Is(err, goplugin.ErrChecksumsDoNotMatch):
		return fault.SidecarChanged.Newf("the binary %s has another checksum than the host expects", o.Binary).
			WithHint("install the version that the host was made for, or give the host the new checksum")
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return fault.SidecarMissing.Wrap(err, "the sidecar's binary %s", o.Binary).WithHint("install vega-flight, or give its path")
	case strings.Contains(strings.ToLower(err.Error()), "incompatible"):
		return incompatible(err)
	}
	return fault.SidecarGone.Wrap(err, "the sidecar %s", o.Binary).WithHint("its log lines are in the host's log")
}

func incompatible(err error) error {
	f := fault.SidecarIncompatible.Newf("the sidecar speaks no version of the protocol that this host speaks (%d)", Version)
	f.Cause = err
	return f.WithHint("use a vega-flight of the host's generation")
}
