package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ready is what the server writes to its ready file.
type ready struct {
	Flight string `json:"flight"`
	HTTP   string `json:"http"`
	PID    int    `json:"pid"`
}

// server is a running vega-flight process.
type server struct {
	ready
	cmd  *exec.Cmd
	done chan error
}

// startServer runs the binary on a fresh lake in dir and returns when it is ready.
func startServer(ctx context.Context, binary, extensions, dir string) (*server, error) {
	if r, ok := running(dir); ok {
		return nil, fmt.Errorf("a demo is running on %s (%s, pid %d): stop it first, or choose another folder with --dir", dir, r.Flight, r.PID)
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	readyFile, logFile := filepath.Join(dir, "ready.json"), filepath.Join(dir, "server.log")
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s := &server{done: make(chan error, 1)}
	s.cmd = exec.Command(binary, "serve", "--lake", filepath.Join(dir, "lake"), "--extension-dir", extensions,
		"--listen", freeOr("127.0.0.1:8815"), "--http", freeOr("127.0.0.1:8816"), "--ready-file", readyFile)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is ours to forward
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.wait()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if text, err := os.ReadFile(readyFile); err == nil && json.Unmarshal(text, &s.ready) == nil {
			return s, nil
		}
		select {
		case err := <-s.done:
			text, _ := os.ReadFile(logFile) // the reason below says enough without it
			return nil, fmt.Errorf("the server did not start: %w\n%s", err, text)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), s.stop())
		case <-tick.C:
		}
	}
}

// running is the server of an earlier demo that still serves dir.
func running(dir string) (r ready, ok bool) {
	text, err := os.ReadFile(filepath.Join(dir, "ready.json"))
	if err != nil || json.Unmarshal(text, &r) != nil || r.PID <= 0 || syscall.Kill(r.PID, 0) != nil {
		return r, false
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(r.Flight, "grpc://")) // the pid alone may be another process by now
	if err != nil {
		return r, false
	}
	return r, c.Close() == nil
}

func (s *server) wait() { s.done <- s.cmd.Wait() }

// stop ends the server gracefully.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return <-s.done
}

// freeOr is addr, or a port of the system's choice when addr is taken.
func freeOr(addr string) string {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "127.0.0.1:0"
	}
	l.Close()
	return addr
}
