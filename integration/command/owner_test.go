package command

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/integration/process"
)

// The owner of a streaming view is taken out of the users file while the view runs, and comes back; then somebody else gets it.
func TestAnOwnerLeaves(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.yaml")
	write := func(users ...string) {
		t.Helper()
		text := "users:\n"
		for _, u := range users {
			text += fmt.Sprintf("  %s: {admin: %t, api_keys: [{hash: %q}]}\n", u, u == "root", auth.HashAPIKey("key of "+u))
		}
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write("root", "ann", "bob")
	s := start(t, "--users-file", file)
	root, ann := s.ConnectAs(t, "key of root"), s.ConnectAs(t, "key of ann")
	root.Must(t, "CREATE TABLE t (k INTEGER)")
	root.Must(t, "INSERT INTO t VALUES (1), (2)")
	ann.Must(t, "CREATE STREAMING MATERIALIZED VIEW v WITH (wait_for_ready = true) AS SELECT count(*) AS n FROM t")
	is := func(state, n string) {
		t.Helper()
		var now [][]string
		process.Until(t, "the view is "+state, func() bool {
			now = root.Must(t, "SELECT state, coalesce(reason_code, ''), coalesce(reason, ''), coalesce(hint, ''), (SELECT n FROM v)::VARCHAR FROM vega.streaming_views WHERE view_name = 'v'")
			return now[0][0] == state && now[0][4] == n
		}, func() any { return now })
		if blocked := state != "RUNNING"; blocked != (now[0][1] == "PERMISSION_DENIED") || blocked != (now[0][2] != "") {
			t.Errorf("the view is %v", now[0])
		}
	}
	is("RUNNING", "2")
	write("root", "bob")
	is("PERMISSION_BLOCKED", "2")
	root.Must(t, "INSERT INTO t VALUES (3)")
	is("PERMISSION_BLOCKED", "2") // its last result is served
	write("root", "ann", "bob")
	is("RUNNING", "3")
	write("root", "bob")
	is("PERMISSION_BLOCKED", "3")
	root.Must(t, "INSERT INTO t VALUES (4)")
	root.Must(t, "ALTER STREAMING MATERIALIZED VIEW v OWNER TO bob")
	is("RUNNING", "4")
}
