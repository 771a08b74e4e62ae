//go:build unix

package metadata

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return f, syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK})
}

// TestSeverKeepsLocks: connections are cut, and the process's locks on files stay, whatever descriptors it looks at.
func TestSeverKeepsLocks(t *testing.T) {
	if path := os.Getenv("VEGA_TEST_LOCK"); path != "" {
		if _, err := tryLock(path); err == nil {
			t.Fatal("another process has the lock, too")
		}
		return
	}
	path := filepath.Join(t.TempDir(), "LOCK")
	f, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sever(func(peer string, _ uint64) bool { return peer == l.Addr().String() })
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Fatal("the connection was not cut")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSeverKeepsLocks$")
	cmd.Env = append(os.Environ(), "VEGA_TEST_LOCK="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
