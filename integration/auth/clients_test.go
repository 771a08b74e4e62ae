package auth

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/flightsql/auth"
	"github.com/vegadb/vega-flight/integration/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestClients(t *testing.T) {
	python := process.Python(t)
	hash, err := auth.HashPassword("secret")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	users := filepath.Join(dir, "users.yaml")
	text := fmt.Sprintf("users:\n  ann: {password: %q}\n  robot: {api_keys: [{hash: %q}]}\n", hash, auth.HashAPIKey("k1"))
	if err := os.WriteFile(users, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tls := filepath.Join(dir, "tls")
	plain := process.Start(t, process.Options{Lake: filepath.Join(dir, "a"), Args: []string{"--users-file", users}})
	secure := process.Start(t, process.Options{Lake: filepath.Join(dir, "b"), Args: []string{"--users-file", users, "--tls-generate", tls}})
	cmd := exec.CommandContext(t.Context(), python, "-u", "clients.py", plain.Flight, secure.Flight, filepath.Join(tls, "cert.pem"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, s := range []*process.Server{plain, secure} {
		if log := s.Log(); strings.Contains(log, "secret") || strings.Contains(log, "k1") && strings.Contains(log, "x-api-key=k1") {
			t.Error("the log has a password or key")
		}
	}
}

// TestOpenServerStaysHome: without users only loopback is served.
func TestOpenServerStaysHome(t *testing.T) {
	_, err := process.TryStart(t, process.Options{Lake: t.TempDir(), Args: []string{"--listen", "0.0.0.0:0"}})
	if err == nil || !strings.Contains(err.Error(), "INSECURE_LISTENER") {
		t.Fatalf("%v", err)
	}
}
