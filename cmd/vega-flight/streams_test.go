package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
)

// Each lake and server has a state folder of its own, the same one each time.
func TestStateFolders(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/var/lib/state")
	embedded := laketest.New(t, laketest.DuckDB)
	shared := laketest.New(t, laketest.PostgreSQL, func(c *ducklake.Config) { c.ServerID = "host/0.0.0.0:8815" })
	dir := func(c Config, l *ducklake.Lake) string {
		t.Helper()
		got, err := c.stateDir(l)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := dir(Config{}, embedded); got != embedded.CatalogFile()+".state" || !filepath.IsAbs(got) {
		t.Errorf("embedded: %s", got)
	}
	for _, l := range []*ducklake.Lake{embedded, shared} {
		if got := dir(Config{StateDir: "/fast/disk"}, l); got != "/fast/disk" {
			t.Errorf("as told: %s", got)
		}
	}
	a, b := dir(Config{Lake: "postgres://u:secret@h/db"}, shared), dir(Config{Lake: "postgres://u:other@h/db"}, shared)
	if a != b || !strings.HasPrefix(a, "/var/lib/state/vega-flight/") || filepath.Base(a) != "host%2F0.0.0.0:8815" {
		t.Errorf("a password decides: %s, %s", a, b)
	}
	if c := dir(Config{Lake: "postgres://u@h/db", MetadataSchema: "two"}, shared); c == a {
		t.Errorf("two lakes share %s", c)
	}
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	if _, err := (&Config{Lake: "postgres://h/db"}).stateDir(shared); fault.CodeOf(err) != fault.ConfigInvalid {
		t.Errorf("nowhere: %v", err)
	}
}

type only string

func (o only) Barred(user string) string {
	if user == string(o) {
		return ""
	}
	return "may not"
}

func TestOwnersAreUsers(t *testing.T) {
	v := &catalog.View{Row: catalog.Row{Owner: "ann"}}
	for h, want := range map[*house]*fault.Code{{}: nil, {users: only("ann")}: nil, {users: only("bob")}: fault.PermissionDenied} {
		if err := h.allowed(t.Context(), v); fault.CodeOf(err) != want {
			t.Errorf("users %v: %v", h.users, err)
		}
	}
}
