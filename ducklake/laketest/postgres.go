package laketest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// server is the PostgreSQL server of this test process.
type server struct {
	dir    string
	port   int
	cmd    *exec.Cmd
	alive  io.Closer     // the guard's input: the server is stopped when it is closed, be it by the death of this process
	ended  chan struct{} // closed when the process is gone
	output bytes.Buffer  // read after ended
}

var (
	startOnce sync.Once
	running   *server
	startErr  error
)

// Main runs a package's tests, stops PostgreSQL if they started it, and looks for leaked goroutines.
func Main(m *testing.M) int {
	code := m.Run()
	if running != nil {
		if err := running.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "laketest:", err)
			code = max(code, 1)
		}
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "laketest:", err)
			return 1
		}
	}
	return code
}

// PostgresDSN is the address of this process's PostgreSQL server, which the first call starts. Where
// PostgreSQL is not installed the test is skipped; in CI it fails.
func PostgresDSN(t testing.TB) string {
	t.Helper()
	bin := binaries()
	if bin == "" {
		const reason = "PostgreSQL's server is not installed (no initdb in $PG_BIN, $PATH or /usr/lib/postgresql)"
		if os.Getenv("CI") != "" {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	startOnce.Do(func() { running, startErr = start(bin) })
	if startErr != nil {
		t.Fatalf("start PostgreSQL: %v", startErr)
	}
	return running.dsn()
}

// binaries is the folder of initdb and postgres, "" when there is none.
func binaries() string {
	candidates := []string{os.Getenv("PG_BIN")}
	if path, err := exec.LookPath("initdb"); err == nil {
		candidates = append(candidates, filepath.Dir(path))
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin"} {
		found, _ := filepath.Glob(pattern)
		sort.Slice(found, func(i, j int) bool { return version(found[i]) > version(found[j]) })
		candidates = append(candidates, found...)
	}
	for _, dir := range candidates {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir
		}
	}
	return ""
}

func version(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}

// errTaken says that somebody else has the port meanwhile.
var errTaken = errors.New("the port is taken")

// start makes a cluster and waits until it answers.
func start(bin string) (s *server, err error) {
	for range 10 {
		if s, err = startOn(bin); !errors.Is(err, errTaken) {
			break
		}
	}
	return s, err
}

// startOn is start on a port that is free now.
func startOn(bin string) (_ *server, err error) {
	s := &server{ended: make(chan struct{})}
	if s.dir, err = os.MkdirTemp("", "laketest-postgres-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(s.dir)
		}
	}()
	as, err := s.account()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(s.dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = s.dir, as
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	s.cmd = exec.Command("/bin/sh", "-c", guard, "guard", s.dir, filepath.Join(bin, "postgres"), "-D", data,
		"-c", "listen_addresses=127.0.0.1", "-c", "port="+strconv.Itoa(s.port), "-c", "unix_socket_directories=",
		"-c", "shared_buffers=32MB", "-c", "max_connections=200", "-c", "fsync=off")
	s.cmd.Dir, s.cmd.SysProcAttr, s.cmd.Stderr = s.dir, as, &s.output
	if s.alive, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.wait()
	if err := s.ready(data); err != nil {
		_ = s.stop()
		if strings.Contains(s.output.String(), "could not bind") {
			err = errors.Join(err, errTaken)
		}
		return nil, fmt.Errorf("%w\n%s", err, s.output.String())
	}
	return s, nil
}

// guard runs the server until its own input ends, so that no server outlives a test process that was killed.
const guard = `dir=$1; shift
exec 3<&0
"$@" </dev/null 3<&- &
pid=$!
( cat <&3 >/dev/null; kill -INT $pid ) 2>/dev/null >/dev/null &
wait $pid
rm -rf "$dir"`

// account makes the folder usable for the account the server runs under: PostgreSQL refuses root.
func (s *server) account() (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("root cannot run PostgreSQL, and there is no account for it: %w", err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err1 != nil || err2 != nil {
		return nil, fmt.Errorf("the account postgres has the ids %q and %q", u.Uid, u.Gid)
	}
	attr := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return attr, os.Chown(s.dir, int(uid), int(gid))
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (s *server) dsn() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", s.port)
}

// wait is the goroutine that reaps the server.
func (s *server) wait() {
	_ = s.cmd.Wait()
	close(s.ended)
}

// ready waits until the server takes connections: it, and not another one that has its port.
func (s *server) ready(data string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	for {
		c, err := pgx.Connect(ctx, s.dsn())
		if err == nil {
			folder := ""
			err = errors.Join(c.QueryRow(ctx, "SHOW data_directory").Scan(&folder), c.Close(ctx))
			if err == nil && same(folder, data) {
				return nil
			}
			err = errors.Join(err, errTaken)
		}
		select {
		case <-s.ended:
			return fmt.Errorf("the server ended: %w", err)
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond): // the server has no event for this
		}
	}
}

// same says that two paths are one folder's.
func same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// stop is PostgreSQL's fast shutdown.
func (s *server) stop() error {
	_ = s.alive.Close()
	<-s.ended
	return os.RemoveAll(s.dir)
}
