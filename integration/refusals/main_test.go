package refusals

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/integration/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a lake with users: ann and ben, and root, who is an administrator. Their keys are their names.
type house struct {
	folder, lake, users string
}

func newHouse(t *testing.T) house {
	t.Helper()
	dir := t.TempDir()
	h := house{dir, filepath.Join(dir, "lake"), filepath.Join(dir, "users.yaml")}
	text := "users:\n"
	for _, u := range []string{"ann: {", "ben: {", "root: {admin: true, "} {
		name := u[:len("ann")]
		if name == "roo" {
			name = "root"
		}
		text += fmt.Sprintf("  %sapi_keys: [{hash: %q}]}\n", u, auth.HashAPIKey(name))
	}
	if err := os.WriteFile(h.users, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h house) start(t *testing.T, args ...string) *process.Server {
	t.Helper()
	return process.Start(t, process.Options{Lake: h.lake, Args: append([]string{"--users-file", h.users, "--shutdown-grace", "1s"}, args...)})
}

// world is what a refused statement must leave as it was.
func world(t *testing.T, c *process.Client) string {
	t.Helper()
	return fmt.Sprint(c.Must(t, "SELECT id FROM lake.current_snapshot()"), c.Must(t, "SELECT * FROM src ORDER BY ALL"), c.Must(t, "SELECT * FROM v ORDER BY ALL"),
		c.Must(t, "SELECT view_name, owner, state, generation FROM vega.materialized_views ORDER BY ALL"))
}
