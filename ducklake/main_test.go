package ducklake_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// Tests that need another process run this binary again with these set.
const (
	roleEnv       = "VEGA_TEST_ROLE"
	catalogEnv    = "VEGA_TEST_CATALOG"
	extensionsEnv = "VEGA_TEST_EXTENSIONS"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		if err := other(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(laketest.Main(m))
}

// process is another process that opens the lake and plays a role.
func process(t *testing.T, role string, p laketest.Place) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), roleEnv+"="+role, catalogEnv+"="+p.Config.Catalog, extensionsEnv+"="+p.Config.ExtensionDir)
	c.Stderr = os.Stderr
	return c
}

func other(role string) error {
	l, err := ducklake.Open(ctx, ducklake.Config{Catalog: os.Getenv(catalogEnv), ExtensionDir: os.Getenv(extensionsEnv)})
	if err != nil {
		return err
	}
	switch role {
	case "hold": // until the input ends
		os.Stdout.WriteString("open\n")
		io.Copy(io.Discard, os.Stdin)
		return l.Close()
	case "crash": // with a table half built
		if err := l.HalfBuild(ctx, "main"); err != nil {
			return err
		}
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return fmt.Errorf("no role %q", role)
}
