package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/vegadb/vega-flight/fault"
)

func load(t *testing.T, file string, env map[string]string, args ...string) (*Config, error) {
	t.Helper()
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	addFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	if file != "" {
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		file = path
	}
	return loadConfig(fs, file, func(k string) (string, bool) { v, ok := env[k]; return v, ok })
}

func TestFlagWinsOverEnvironmentOverFile(t *testing.T) {
	file := "lake: /file\nlisten: 1.1.1.1:1\nthreads: 3\nsession-idle: 5m\n"
	env := map[string]string{"VEGA_FLIGHT_LISTEN": "2.2.2.2:2", "VEGA_FLIGHT_THREADS": "4"}
	c, err := load(t, file, env, "--threads", "5", "--http", "")
	if err != nil {
		t.Fatal(err)
	}
	got := []any{c.Lake, c.Listen, c.Threads, c.SessionIdle.String(), c.HTTP, c.JobWorkers}
	want := []any{"/file", "2.2.2.2:2", 5, "5m0s", "", 2}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestWrongConfigurationNamesTheOption(t *testing.T) {
	for name, tc := range map[string]struct {
		file string
		env  map[string]string
		args []string
		want string
	}{
		"unknown key":    {file: "lak: x", want: `no option "lak"`},
		"wrong type":     {env: map[string]string{"VEGA_FLIGHT_THREADS": "many"}, want: "threads must be a whole number"},
		"half a TLS":     {args: []string{"--tls-cert", "x"}, want: "belong together"},
		"unknown level":  {args: []string{"--log-level", "loud"}, want: "log-level"},
		"size":           {args: []string{"--spool-quota", "lots"}, want: "spool-quota"},
		"no worker":      {args: []string{"--job-workers", "0"}, want: "job-workers"},
		"not a document": {file: "[", want: "CONFIG_INVALID"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, tc.file, tc.env, tc.args...)
			if fault.CodeOf(err) != fault.ConfigInvalid || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestPrintedConfigurationReadsBack(t *testing.T) {
	c, err := load(t, "", nil, "--listen", "0.0.0.0:0", "--insecure", "--statement-timeout", "90s")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	c.print(&text)
	again, err := load(t, text.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(c, again) {
		t.Fatalf("got %+v, want %+v", again, c)
	}
}

func TestPrintedConfigurationHidesPasswords(t *testing.T) {
	for in, want := range map[string]string{
		"postgres://u:secret@h/db?sslmode=disable": "postgres://u:***@h/db?sslmode=disable",
		"host=h password=secret dbname=d":          "host=h password=*** dbname=d",
		"postgres://h/db?user=u&password=secret":   "postgres://h/db?user=u&password=***",
		"./lake":                                   "./lake",
	} {
		if got := hidePassword(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
