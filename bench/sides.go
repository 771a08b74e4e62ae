package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/vegadb/vega-flight/ducklake/duck"
)

// sides is what is measured against what: a running server on one lake, plain
// DuckDB with the ducklake extension in this process on another.
type sides struct {
	quick  bool
	dir    string
	binary string

	flight, http string // addresses of the server
	cmd          *exec.Cmd
	ended        chan error // how the server ended
	client       *flightsql.Client

	extensions string   // folder of extensions
	extension  string   // the ducklake extension's file
	db         *duck.DB // plain DuckDB, lake attached as "lake"
}

// scale is n, or a tenth in a quick run.
func (s *sides) scale(n int) int {
	if s.quick {
		return n / 10
	}
	return n
}

func openSides(ctx context.Context, binary, extensions, dir string, quick bool) (*sides, error) {
	s := &sides{quick: quick, dir: dir, binary: binary, extensions: extensions}
	if err := s.startServer(ctx, binary, extensions); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := s.openPlain(ctx, extensions); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *sides) startServer(ctx context.Context, binary, extensions string) error {
	readyFile := filepath.Join(s.dir, "ready.json")
	if err := os.RemoveAll(readyFile); err != nil { // of a server before it
		return err
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(binary, "serve", "--lake", filepath.Join(s.dir, "served"), "--extension-dir", extensions,
		"--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--ready-file", readyFile, "--log-level", "warn")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan error, 1)
	go s.wait(s.cmd, s.ended)
	var ready struct{ Flight, HTTP string }
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if text, err := os.ReadFile(readyFile); err == nil && json.Unmarshal(text, &ready) == nil {
			break
		}
		select {
		case err := <-s.ended:
			s.cmd = nil
			text, _ := os.ReadFile(log.Name()) // the reason below says enough without it
			return fmt.Errorf("the server did not start: %w\n%s", err, text)
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	s.flight, s.http = ready.Flight, ready.HTTP
	s.client, err = flightsql.NewClient(strings.TrimPrefix(s.flight, "grpc://"), nil, nil,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	return err
}

func (*sides) wait(cmd *exec.Cmd, ended chan<- error) { ended <- cmd.Wait() }

func (s *sides) openPlain(ctx context.Context, extensions string) error {
	var err error
	if s.db, err = duck.Open("", duck.Options{}); err != nil {
		return err
	}
	c, err := s.db.Connect()
	if err != nil {
		return err
	}
	defer c.Close()
	data := filepath.Join(s.dir, "plain")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(extensions, "v*", "*", "ducklake.duckdb_extension"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no ducklake extension under %s", extensions)
	}
	s.extension = files[0]
	_, err = c.Exec(ctx, fmt.Sprintf("LOAD '%s'; ATTACH 'ducklake:%s.ducklake' AS lake (DATA_PATH '%s/')", files[0], data, data))
	return err
}

// plain opens a connection of the plain side with the lake as its default.
func (s *sides) plain(ctx context.Context) (*duck.Conn, error) {
	c, err := s.db.Connect()
	if err != nil {
		return nil, err
	}
	if _, err := c.Exec(ctx, "USE lake"); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// both runs the same statement on both sides.
func (s *sides) both(ctx context.Context, sql string) error {
	if err := s.serve(ctx, sql); err != nil {
		return err
	}
	c, err := s.plain(ctx)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, sql)
	return errors.Join(err, c.Close())
}

// serve runs one statement on the server and reads its result to the end.
func (s *sides) serve(ctx context.Context, sql string) error {
	_, err := s.serveRows(ctx, sql)
	return err
}

// serveRows is serve that counts the rows.
func (s *sides) serveRows(ctx context.Context, sql string) (int64, error) {
	info, err := s.client.Execute(ctx, sql)
	if err != nil {
		return 0, err
	}
	var rows int64
	for _, ep := range info.GetEndpoint() {
		r, err := s.client.DoGet(ctx, ep.GetTicket())
		if err != nil {
			return 0, err
		}
		for r.Next() {
			rows += r.RecordBatch().NumRows()
		}
		err = r.Err()
		r.Release()
		if err != nil {
			return 0, err
		}
	}
	return rows, nil
}

// serverMemory is the resident memory of the server in MiB.
func (s *sides) serverMemory() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, errors.New("no VmRSS")
}

func (s *sides) close() error {
	var errs []error
	if s.client != nil {
		errs = append(errs, s.client.Close())
	}
	if s.cmd != nil && s.cmd.Process != nil {
		errs = append(errs, s.cmd.Process.Signal(syscall.SIGTERM), <-s.ended)
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	return errors.Join(errs...)
}
