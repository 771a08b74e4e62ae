package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"github.com/vegadb/vega-flight/fault"
)

// Config is everything `serve` can be told. Each field is a flag, an
// environment variable (VEGA_FLIGHT_ and the flag's name in capitals) and a
// key of the YAML file, all of the same name; a flag wins over the
// environment, the environment over the file, the file over the default.
type Config struct {
	Lake           string `name:"lake" default:"./lake" usage:"the lake: a folder (embedded catalog and data), a .ducklake catalog file, or postgres://…"`
	DataPath       string `name:"data-path" usage:"folder of the lake's data files (default: beside the embedded catalog; required for a new PostgreSQL lake)"`
	MetadataSchema string `name:"metadata-schema" usage:"PostgreSQL schema of the lake's catalog tables"`
	ExtensionDir   string `name:"extension-dir" usage:"folder of DuckDB extensions, as 'vega-flight extensions install' fills it (default: the user's cache folder)"`
	ServerID       string `name:"server-id" usage:"name of this server among those of one lake; the same name is the same server again (default: host and address)"`
	TempDir        string `name:"temp-dir" usage:"folder for spooled results and DuckDB's spill (default: the system's)"`
	StateDir       string `name:"state-dir" usage:"folder of this server's own for the state of streaming views (default: beside an embedded catalog, or in the user's state folder for a PostgreSQL one)"`
	MemoryLimit    string `name:"memory-limit" usage:"DuckDB's memory limit, such as '8GB' (default: DuckDB's, 80 % of the machine)"`
	MemoryCeiling  string `name:"memory-ceiling" usage:"resident memory of the whole process; statements that lead above it fail; 0 is no ceiling (default: 90 % of the machine's or the cgroup's)"`
	Threads        int    `name:"threads" usage:"DuckDB's threads, at least two (default: one a core)"`

	Listen    string `name:"listen" default:"127.0.0.1:8815" usage:"address of the Flight SQL service; port 0 picks one; unix:///path for a socket"`
	HTTP      string `name:"http" default:"127.0.0.1:8816" usage:"address of /metrics, /healthz and /readyz; empty turns it off"`
	ReadyFile string `name:"ready-file" usage:"file that is written, as JSON with the addresses and the pid, when the server is ready"`
	Lifeline  string `name:"lifeline" usage:"file that the server's users lock (flock, shared); the server ends when none of them does any more"`

	UsersFile   string        `name:"users-file" usage:"YAML file of users and API keys; without it there is no authentication and only loopback is served"`
	Insecure    bool          `name:"insecure" usage:"serve without authentication on addresses beyond loopback"`
	TokenTTL    time.Duration `name:"token-ttl" default:"12h" usage:"how long a bearer token of a login is valid"`
	TLSCert     string        `name:"tls-cert" usage:"PEM certificate chain"`
	TLSKey      string        `name:"tls-key" usage:"PEM private key"`
	TLSGenerate string        `name:"tls-generate" usage:"folder in which a self-signed certificate is made and kept"`

	SessionIdle      time.Duration `name:"session-idle" default:"8h" usage:"a session without calls ends after this; open notebooks hold one"`
	TransactionIdle  time.Duration `name:"transaction-idle" default:"10m" usage:"a transaction without calls is rolled back after this"`
	StatementTimeout time.Duration `name:"statement-timeout" usage:"a statement is interrupted after this; 0 is never"`
	MaxSessions      int           `name:"max-sessions" default:"1000" usage:"sessions in all"`
	MaxUserSessions  int           `name:"max-user-sessions" default:"200" usage:"sessions of one user"`
	MaxHandles       int           `name:"max-handles" default:"1000" usage:"retained query handles in all"`
	MaxUserHandles   int           `name:"max-user-handles" default:"200" usage:"retained query handles of one user"`
	HandleExpiry     time.Duration `name:"handle-expiry" default:"5m" usage:"a finished query's handle and results are kept this long, longer when renewed"`
	SpoolQuota       string        `name:"spool-quota" default:"10 GiB" usage:"disk that spooled results may take"`
	ShutdownGrace    time.Duration `name:"shutdown-grace" default:"30s" usage:"how long running work may go on after SIGTERM"`

	SlowSubscriber time.Duration `name:"slow-subscriber" default:"1m" usage:"a subscriber that takes no batch for so long is cut off, and told where to go on"`

	ViewMemory string `name:"view-memory" default:"1 GiB" usage:"memory for the state of a streaming view without a memory_budget of its own; what is beyond is read from disk; 0 is no bound"`

	JobWorkers           int           `name:"job-workers" default:"2" usage:"short refreshes that run at the same time; as many long ones (over 5s) run beside them"`
	JobRetention         time.Duration `name:"job-retention" default:"168h" usage:"ended jobs are kept in the history this long"`
	JobHistory           int           `name:"job-history" default:"10000" usage:"ended jobs kept in the history at most"`
	Lease                time.Duration `name:"lease" default:"15s" usage:"another server takes over this one's jobs when its lease is that old (PostgreSQL catalogs)"`
	PublicationRetention time.Duration `name:"publication-retention" default:"1h" usage:"snapshots that hold only publications of views are kept this long"`
	SnapshotRetention    time.Duration `name:"snapshot-retention" usage:"users' snapshots are kept this long; 0 is for ever"`
	MaintenanceInterval  time.Duration `name:"maintenance-interval" default:"30s" usage:"how often flushing, merging and expiry are considered; 0 turns maintenance off"`

	LogLevel  string `name:"log-level" default:"info" usage:"debug, info, warn or error"`
	LogFormat string `name:"log-format" default:"text" usage:"text or json"`
}

const envPrefix = "VEGA_FLIGHT_"

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fields calls f with every option of c.
func (c *Config) fields(f func(name string, tag reflect.StructTag, v reflect.Value)) {
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		f(tag.Get("name"), tag, v.Field(i))
	}
}

func setField(v reflect.Value, text string) error {
	switch v.Interface().(type) {
	case string:
		v.SetString(text)
	case bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("must be true or false")
		}
		v.SetBool(b)
	case int:
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return errors.New("must be a whole number, 0 or more")
		}
		v.SetInt(int64(n))
	case time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return errors.New("must be a duration such as 30s or 5m")
		}
		v.SetInt(int64(d))
	}
	return nil
}

// addFlags registers every option, with its default, on fs.
func addFlags(fs *pflag.FlagSet) {
	new(Config).fields(func(name string, tag reflect.StructTag, v reflect.Value) {
		def, usage := tag.Get("default"), tag.Get("usage")
		switch v.Interface().(type) {
		case bool:
			fs.Bool(name, false, usage)
		case int:
			n, _ := strconv.Atoi(def) // a default is a constant of this file; the test sets each
			fs.Int(name, n, usage)
		case time.Duration:
			d, _ := time.ParseDuration(def)
			fs.Duration(name, d, usage)
		default:
			fs.String(name, def, usage)
		}
	})
}

// loadConfig puts defaults, file, environment and flags together and checks them.
func loadConfig(fs *pflag.FlagSet, file string, lookup func(string) (string, bool)) (*Config, error) {
	c := new(Config)
	var fileValues map[string]any
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fault.ConfigInvalid.Wrap(err, "cannot read the configuration file")
		}
		dec := yaml.NewDecoder(bytes.NewReader(text))
		if err := dec.Decode(&fileValues); err != nil && !errors.Is(err, io.EOF) {
			return nil, fault.ConfigInvalid.Wrap(err, "%s", file)
		}
	}
	known := map[string]bool{}
	var errs []error
	c.fields(func(name string, tag reflect.StructTag, v reflect.Value) {
		known[name] = true
		set := func(source, text string) {
			if text == "" {
				return
			}
			if err := setField(v, text); err != nil {
				errs = append(errs, fmt.Errorf("%s: %s %w, not %q", source, name, err, text))
			}
		}
		set("default", tag.Get("default"))
		if x, ok := fileValues[name]; ok {
			set(file, fmt.Sprint(x))
		}
		if x, ok := lookup(envName(name)); ok {
			set(envName(name), x)
		}
		if fl := fs.Lookup(name); fl != nil && fl.Changed {
			if fl.Value.String() == "" {
				v.SetZero() // an option that is set to nothing is turned off
			}
			set("--"+name, fl.Value.String())
		}
	})
	for key := range fileValues {
		if !known[key] {
			errs = append(errs, fmt.Errorf("%s: no option %q", file, key))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "the configuration is wrong").WithHint("'vega-flight serve --help' lists the options")
	}
	return c, c.check()
}

// check tells what cannot work together.
func (c *Config) check() error {
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return fault.ConfigInvalid.Newf("tls-cert and tls-key belong together")
	}
	if c.TLSCert != "" && c.TLSGenerate != "" {
		return fault.ConfigInvalid.Newf("tls-generate makes a certificate of its own; leave out tls-cert and tls-key")
	}
	switch c.LogLevel {
	case "debug", "info", "warn", "error":
	default:
		return fault.ConfigInvalid.Newf("log-level is debug, info, warn or error, not %q", c.LogLevel)
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		return fault.ConfigInvalid.Newf("log-format is text or json, not %q", c.LogFormat)
	}
	if _, err := parseBytes(c.SpoolQuota); err != nil {
		return fault.ConfigInvalid.Wrap(err, "spool-quota")
	}
	if _, err := parseBytes(c.MemoryCeiling); err != nil && c.MemoryCeiling != "" {
		return fault.ConfigInvalid.Wrap(err, "memory-ceiling")
	}
	if _, err := parseBytes(c.ViewMemory); err != nil {
		return fault.ConfigInvalid.Wrap(err, "view-memory")
	}
	if c.JobWorkers == 0 {
		return fault.ConfigInvalid.Newf("job-workers must be at least 1")
	}
	return nil
}

// hiddenPaths are where things are on this host, besides the lake's own folders.
func (c *Config) hiddenPaths() []string {
	paths := []string{c.TempDir, c.StateDir, c.ExtensionDir, c.UsersFile, c.TLSGenerate, c.TLSCert, c.TLSKey}
	if !strings.HasPrefix(c.Lake, "postgres") {
		paths = append(paths, c.Lake)
	}
	return paths
}

// print writes c as a YAML file that loadConfig reads back. Passwords inside
// a catalog address are hidden.
func (c *Config) print(w io.Writer) {
	c.fields(func(name string, tag reflect.StructTag, v reflect.Value) {
		text := fmt.Sprint(v.Interface())
		if name == "lake" {
			text = hidePassword(text)
		}
		if _, isText := v.Interface().(string); isText {
			text = strconv.Quote(text)
		}
		fmt.Fprintf(w, "# %s\n%s: %s\n", tag.Get("usage"), name, text)
	})
}

// hidePassword masks the password of a catalog address in URI or key=value form.
func hidePassword(s string) string {
	if i := strings.Index(s, "://"); i >= 0 {
		if at := strings.LastIndex(s, "@"); at > i {
			if colon := strings.Index(s[i+3:at], ":"); colon >= 0 {
				s = s[:i+3+colon] + ":***" + s[at:]
			}
		}
	}
	for _, key := range []string{"password="} {
		if i := strings.Index(s, key); i >= 0 {
			end := strings.IndexAny(s[i:], " &")
			if end < 0 {
				end = len(s) - i
			}
			s = s[:i] + key + "***" + s[i+end:]
		}
	}
	return s
}

// parseBytes reads sizes such as "10 GiB", "512MB" or "1000".
func parseBytes(s string) (int64, error) {
	s = strings.TrimSpace(s)
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	unit := ""
	if i >= 0 {
		s, unit = s[:i], strings.TrimSpace(s[i:])
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("a size is a number and a unit, such as '10 GiB'")
	}
	factor, ok := map[string]float64{
		"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	}[strings.ToLower(unit)]
	if !ok {
		return 0, fmt.Errorf("unknown unit %q: use B, KB, MB, GB, KiB, MiB or GiB", unit)
	}
	return int64(n * factor), nil
}
