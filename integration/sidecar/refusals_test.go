package sidecar

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/integration/process"
	"github.com/vegadb/vega-flight/plugin"
)

// script is a program that is no sidecar.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatCannotBeStarted(t *testing.T) {
	good, _ := options(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("not a lake"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*plugin.Options)
		code   *fault.Code
	}{
		{"no binary", func(o *plugin.Options) { o.Binary = filepath.Join(t.TempDir(), "nothing") }, fault.SidecarMissing},
		{"no program", func(o *plugin.Options) { o.Binary = file }, fault.SidecarMissing},
		{"another checksum", func(o *plugin.Options) { o.SHA256 = make([]byte, 32) }, fault.SidecarChanged},
		{"another version", func(o *plugin.Options) { o.Binary = script(t, "echo '1|99|unix|/nowhere|grpc|'; exec sleep 60") }, fault.SidecarIncompatible},
		{"something else", func(o *plugin.Options) { o.Binary = script(t, "echo hello") }, fault.SidecarGone},
		{"it ends at once", func(o *plugin.Options) { o.Binary = script(t, "exit 3") }, fault.SidecarGone},
		{"it says nothing", func(o *plugin.Options) {
			o.Binary, o.StartTimeout = script(t, "exec sleep 60"), 200*time.Millisecond
		}, fault.SidecarGone},
		{"no such option", func(o *plugin.Options) { o.Lake = map[string]string{"lakes": "x"} }, fault.ConfigInvalid},
		{"a wrong value", func(o *plugin.Options) { o.Lake = map[string]string{"lake": t.TempDir(), "threads": "many"} }, fault.ConfigInvalid},
		{"no lake", func(o *plugin.Options) { o.Lake = map[string]string{"lake": file} }, fault.LakeUnreadable},
		{"no catalog", func(o *plugin.Options) {
			o.Lake = map[string]string{"lake": "postgres://127.0.0.1:1/none", "data-path": t.TempDir()}
		}, fault.CatalogGone},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := good
			c.change(&o)
			s, err := plugin.Start(t.Context(), o)
			if err == nil {
				s.Kill()
			}
			if fault.CodeOf(err) != c.code {
				t.Errorf("%v, want %s", err, c.code.Name())
			}
		})
	}
}

func TestBeforeTheLakeIsOpen(t *testing.T) {
	o, _ := options(t)
	s, err := plugin.Launch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	c := client(s)
	_, err = c.Query(t.Context(), "SELECT 1")
	process.Refused(t, err, "NOT_CONFIGURED")
	if _, err := s.Configure(t.Context(), map[string]string{"lake": ""}); err == nil {
		t.Error("it serves no lake")
	}
	info, err := s.Configure(t.Context(), o.Lake) // it may be tried again
	if err != nil {
		t.Fatal(err)
	}
	if info.GetOptions()["lake"] != o.Lake["lake"] || info.GetServerId() == "" || info.GetAddress() != "" || info.GetPid() == 0 {
		t.Errorf("it says of itself %v", info)
	}
	// The connection that was refused before is served now.
	if got := c.Value(t, "SELECT 1"); got != "1" {
		t.Errorf("SELECT 1 is %s", got)
	}
	c.Must(t, "SET vega.isolation = 'snapshot'")
	if _, err := s.Configure(t.Context(), o.Lake); err != nil {
		t.Errorf("the same options again: %v", err)
	}
	_, err = s.Configure(t.Context(), map[string]string{"lake": t.TempDir()})
	if fault.CodeOf(err) != fault.ConfigInvalid {
		t.Errorf("another lake: %v", err)
	}
}

func TestThePluginCommandByHand(t *testing.T) {
	out, bad, err := command(t, nil, process.Binary(t), "plugin")
	if err == nil || out != "" || !strings.Contains(bad, "CONFIG_INVALID") || !strings.Contains(bad, "vega-flight serve") {
		t.Errorf("%v\n%s\n%s", err, out, bad)
	}
}

// TestSessionsOnOneSocket have settings of their own, and one connection.
func TestSessionsOnOneSocket(t *testing.T) {
	o, _ := options(t)
	s := start(t, o)
	a, b := client(s), client(s)
	a.Must(t, "CREATE TEMP TABLE mine AS SELECT 1 AS x")
	if got := a.Value(t, "SELECT x FROM mine"); got != "1" {
		t.Errorf("x is %s", got)
	}
	if _, err := b.Query(t.Context(), "SELECT x FROM mine"); err == nil {
		t.Error("a temporary table is seen by another session")
	}
}
