package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Options say how a server is started.
type Options struct {
	Lake string   // what --lake gets; required
	Args []string // more flags
	Env  []string // more environment
	Wrap []string // a command that is put before the binary and must become it by exec

	ReadyFile string // what --ready-file gets; default a new one
}

// Server is one run of the binary.
type Server struct {
	Flight string `json:"flight"` // grpc://host:port
	HTTP   string `json:"http"`
	PID    int    `json:"pid"`

	t      testing.TB
	lake   string
	cmd    *exec.Cmd
	done   chan struct{}
	waited error
	log    *tail
	meant  bool // the end of the process was asked for
}

var build = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("VEGA_BINARY"); path != "" {
		return path, nil
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(root, ".build", "bin", "vega-flight-under-test")
	unlock, err := lockFile(binary + ".lock") // packages are tested at the same time
	if err != nil {
		return "", err
	}
	defer unlock()
	cmd := exec.Command("go", "build", "-tags", "duckdb_arrow", "-o", binary, "./cmd/vega-flight")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return binary, nil
})

// lockFile waits until this process is the only one that holds the lock.
func lockFile(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // closing gives the lock up
}

// Binary builds the server once per test process and returns its path; VEGA_BINARY is one that is built already.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Root is the module's root folder.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the test's folder")
		}
		dir = parent
	}
}

// ExtensionDir is where the tests' DuckDB extensions are.
func ExtensionDir(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("VEGA_EXTENSION_DIR"); dir != "" {
		return dir
	}
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, ".build", "extensions")
}

// Start runs the server and returns when it is ready.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := TryStart(t, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TryStart is Start for servers that may refuse to start: the error has what they printed.
func TryStart(t testing.TB, o Options) (*Server, error) {
	t.Helper()
	readyFile := o.ReadyFile
	if readyFile == "" {
		readyFile = filepath.Join(t.TempDir(), "ready.json")
	}
	args := append(slices.Clone(o.Wrap), Binary(t), "serve", "--lake", o.Lake, "--extension-dir", ExtensionDir(t),
		"--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--ready-file", readyFile, "--log-level", "debug")
	args = append(args, o.Args...)
	s := &Server{t: t, lake: o.Lake, cmd: exec.Command(args[0], args[1:]...), done: make(chan struct{}), log: &tail{}}
	s.cmd.Env = append(os.Environ(), o.Env...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.wait()
	tick := time.NewTicker(5 * time.Millisecond) // a file appears without an event
	defer tick.Stop()
	for {
		if text, err := os.ReadFile(readyFile); err == nil && json.Unmarshal(text, s) == nil && s.PID == s.cmd.Process.Pid {
			t.Cleanup(s.cleanup)
			return s, nil
		}
		select {
		case <-s.done:
			return nil, errors.New(s.log.String())
		case <-tick.C:
		}
	}
}

func (s *Server) wait() {
	s.waited = s.cmd.Wait()
	close(s.done)
}

// Lake is what --lake got.
func (s *Server) Lake() string { return s.lake }

// Done is closed when the process has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Ended waits for the end of the process and returns how it was.
func (s *Server) Ended() error {
	<-s.done
	return s.waited
}

// Expect says that the process is going to end by itself.
func (s *Server) Expect() { s.meant = true }

// Log is the end of what the server printed.
func (s *Server) Log() string { return s.log.String() }

// Kill ends the process at once, as a power cut would.
func (s *Server) Kill() {
	s.meant = true
	_ = s.cmd.Process.Signal(syscall.SIGKILL) // it may have ended meanwhile
	<-s.done
}

// Signal sends a signal; the end of the process is then expected.
func (s *Server) Signal(sig syscall.Signal) {
	s.meant = true
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Stop ends the process gracefully and returns how it ended.
func (s *Server) Stop() error {
	s.Signal(syscall.SIGTERM)
	return s.Ended()
}

func (s *Server) cleanup() {
	select {
	case <-s.done:
		if !s.meant {
			s.t.Errorf("the server ended by itself: %v\n%s", s.waited, s.Log())
		}
	default:
		if err := s.Stop(); err != nil {
			s.t.Errorf("the server did not stop cleanly: %v\n%s", err, s.Log())
		}
	}
	if s.t.Failed() {
		s.t.Log(s.Log())
	}
}

// Run executes another command of the binary and returns what it printed.
func Run(t testing.TB, args ...string) (stdout string, err error) {
	t.Helper()
	cmd := exec.Command(Binary(t), args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), errors.New(strings.TrimSpace(errOut.String() + " " + err.Error()))
	}
	return out.String(), nil
}

// tail keeps the last lines of a log.
type tail struct {
	mu    sync.Mutex
	lines []string
	part  []byte
}

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	sc := bufio.NewReader(bytes.NewReader(l.part))
	l.part = nil
	for {
		line, err := sc.ReadString('\n')
		if err != nil {
			l.part = []byte(line)
			return len(p), nil
		}
		l.lines = append(l.lines, line)
		if len(l.lines) > 3000 {
			l.lines = l.lines[1000:]
		}
	}
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "") + string(l.part)
}
