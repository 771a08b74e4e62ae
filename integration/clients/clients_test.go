package clients

import (
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

// servers are what clients connect to. User ann has the password "secret", and robot the API key "k1".
type servers struct {
	plain, secure *process.Server
	certificate   string // the secure one's
}

func start(t *testing.T) *servers {
	t.Helper()
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
	return &servers{
		plain:       process.Start(t, process.Options{Lake: filepath.Join(dir, "plain"), Args: []string{"--users-file", users}}),
		secure:      process.Start(t, process.Options{Lake: filepath.Join(dir, "secure"), Args: []string{"--users-file", users, "--tls-generate", tls}}),
		certificate: filepath.Join(tls, "cert.pem"),
	}
}

func (s *servers) plainHost() string  { return strings.TrimPrefix(s.plain.Flight, "grpc://") }
func (s *servers) secureHost() string { return strings.TrimPrefix(s.secure.Flight, "grpc+tls://") }

// TestClients is one server of each kind, and every client.
func TestClients(t *testing.T) {
	s := start(t)
	for _, name := range []string{"adbc", "pyarrow", "pandas", "polars", "duckdb", "sqlalchemy"} {
		t.Run("python "+name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), python(t), "-u", filepath.Join("python", "use_"+name+".py"), s.plain.Flight, s.secure.Flight, s.certificate)
			cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join("..", "python"))
			run(t, cmd)
		})
	}
	t.Run("jdbc", func(t *testing.T) {
		run(t, java(t, filepath.Join("java", "Jdbc.java"), s.plainHost(), s.secureHost(), s.certificate))
	})
	t.Run("rust", func(t *testing.T) {
		run(t, exec.CommandContext(t.Context(), rust(t), s.plainHost(), s.secureHost(), s.certificate))
	})
	t.Run("go adbc", s.goADBC)
	t.Run("go database sql by adbc", s.databaseSQLByADBC)
	t.Run("go database sql by arrow", s.databaseSQLByArrow)
}

// run runs a client, which fails by its exit code.
func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	t.Log(string(out))
	if err != nil {
		t.Fatal(err)
	}
}
