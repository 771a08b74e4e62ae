package sidecar

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/integration/process"
)

// TestWhoCalls: the host is an administrator, and calls for users by their credentials; others prove who they are.
func TestWhoCalls(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(users, []byte("users:\n  ann:\n    api_keys:\n      - {name: k, hash: \""+auth.HashAPIKey("secret")+"\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, _ := options(t, "users-file", users, "listen", "127.0.0.1:0")
	s := start(t, o)
	c := client(s)
	if got := c.Value(t, "SELECT current_user"); got != auth.Host && got != "duckdb" {
		t.Errorf("the host is %s", got)
	}
	c.Must(t, "CREATE TABLE t (k BIGINT, v BIGINT)")
	c.Must(t, "CREATE STREAMING MATERIALIZED VIEW follows WITH (wait_for_ready = true) AS "+perKey)
	if got := c.Value(t, "SELECT owner || ' ' || state FROM vega.streaming_views"); got != "host RUNNING" {
		t.Errorf("the host's view: %s", got)
	}
	forAnn := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", "secret")
	if _, err := client(s).Query(forAnn, "CREATE MATERIALIZED VIEW hers AS SELECT 1 AS x"); err != nil {
		t.Fatal(err)
	}
	if got := c.Value(t, "SELECT owner FROM vega.materialized_views WHERE view_name = 'hers'"); got != "ann" {
		t.Errorf("her view is %s's", got)
	}
	_, err := client(s).Query(metadata.AppendToOutgoingContext(t.Context(), "x-api-key", "wrong"), "SELECT 1")
	process.Refused(t, err, "UNAUTHENTICATED")

	info, err := s.Info(t.Context())
	if err != nil || !strings.HasPrefix(info.GetAddress(), "grpc://127.0.0.1:") {
		t.Fatalf("%v %v", info, err)
	}
	outside := &process.Server{Flight: info.GetAddress()}
	_, err = outside.Connect(t).Query(t.Context(), "SELECT 1")
	process.Refused(t, err, "UNAUTHENTICATED")
	_, err = outside.Connect(t).Query(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+auth.Host), "SELECT 1")
	process.Refused(t, err, "UNAUTHENTICATED")
	if got := outside.ConnectAs(t, "secret").Value(t, "SELECT 1"); got != "1" {
		t.Errorf("SELECT 1 is %s", got)
	}
}
