package flightsql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

func quietLog() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func infoOf(t *testing.T, s *status.Status) *errdetails.ErrorInfo {
	t.Helper()
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info
		}
	}
	t.Fatalf("no ErrorInfo in %v", s)
	return nil
}

func TestEveryFaultHasItsStatus(t *testing.T) {
	tr := translator{log: quietLog()}
	want := map[fault.Kind]codes.Code{
		fault.Internal: codes.Internal, fault.Invalid: codes.InvalidArgument, fault.NotFound: codes.NotFound, fault.Exists: codes.AlreadyExists,
		fault.Denied: codes.PermissionDenied, fault.Unauthenticated: codes.Unauthenticated, fault.Precondition: codes.FailedPrecondition,
		fault.Conflict: codes.Aborted, fault.Canceled: codes.Canceled, fault.Deadline: codes.DeadlineExceeded, fault.Exhausted: codes.ResourceExhausted,
		fault.Unavailable: codes.Unavailable, fault.Unimplemented: codes.Unimplemented,
	}
	for _, code := range fault.Codes() {
		s := tr.status(context.Background(), "test", code.Newf("what happened").WithHint("what to do").At(7))
		if s.Code() != want[code.Kind()] || s.Code() == codes.OK {
			t.Errorf("%s has status %s", code.Name(), s.Code())
		}
		if !strings.HasPrefix(s.Message(), code.Name()+": ") {
			t.Errorf("the message of %s is %q", code.Name(), s.Message())
		}
		info := infoOf(t, s)
		if info.Reason != code.Name() || info.Domain != "vega-flight" || nameOf(s) != code.Name() {
			t.Errorf("%s: %v", code.Name(), info)
		}
		if code != fault.InternalError {
			if !strings.HasSuffix(s.Message(), "what happened; what to do") || info.Metadata["position"] != "7" || info.Metadata["hint"] != "what to do" {
				t.Errorf("%s: %q %v", code.Name(), s.Message(), info.Metadata)
			}
		}
	}
}

func TestOtherErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want *fault.Code
	}{
		{context.Canceled, fault.Cancelled},
		{fmt.Errorf("query: %w", context.DeadlineExceeded), fault.TimedOut},
		{fmt.Errorf("write: %w", syscall.ENOSPC), fault.DiskFull},
		{fault.SQLError.Wrap(context.Canceled, "DuckDB"), fault.Cancelled},
		{fault.SQLError.Wrap(&duck.Error{Type: "Out of Memory", Position: -1}, "DuckDB"), fault.MemoryExhausted},
		{fault.ViewStale.Wrap(context.Canceled, "x"), fault.ViewStale},
		{status.Error(codes.InvalidArgument, "unable to parse ticket"), fault.InvalidParameter},
		{status.Error(codes.Unimplemented, "BeginSavepoint not implemented"), fault.NotYetSupported},
		{status.Error(codes.NotFound, "no sql info"), fault.ObjectNotFound},
		{status.Error(codes.Internal, "failed to marshal"), fault.InternalError},
		{errors.New("surprise"), fault.InternalError},
		{&duck.Error{Type: "INTERNAL", Position: -1}, fault.InternalError},
	} {
		if got := classify(c.err); got.Code != c.want {
			t.Errorf("%v is %s, want %s", c.err, got.Code.Name(), c.want.Name())
		}
	}
}

func TestInternalErrorsTellNothing(t *testing.T) {
	var log bytes.Buffer
	tr := translator{log: slog.New(slog.NewTextHandler(&log, nil))}
	err := fmt.Errorf("nil map at /srv/secret.go")
	s := tr.status(auth.NewContext(context.Background(), auth.Principal{Admin: true}), "GetFlightInfo", err)
	if strings.Contains(s.Message(), "secret") {
		t.Fatal(s.Message())
	}
	_, after, ok := strings.Cut(s.Message(), "logged as ")
	if !ok {
		t.Fatal(s.Message())
	}
	id, _, _ := strings.Cut(after, ";")
	if !strings.Contains(log.String(), id) || !strings.Contains(log.String(), "secret.go") {
		t.Fatalf("the log does not have %s: %s", id, log.String())
	}
	// An error that was kept is not logged again, and keeps its id.
	log.Reset()
	kept := tr.settle(context.Background(), "run", err)
	log.Reset()
	again := tr.status(context.Background(), "PollFlightInfo", kept)
	if log.Len() > 0 || !strings.Contains(again.Message(), kept.Message) {
		t.Fatalf("%q, log %q", again.Message(), log.String())
	}
}

func TestHostPathsAreForAdministrators(t *testing.T) {
	tr := translator{log: quietLog(), hidden: newRedactor("/srv/lake/data", "/srv/lake")}
	err := fault.LakeUnreadable.Newf(`Cannot open file "/srv/lake/data/main/t/x.parquet" (see /etc/vega/users.yaml), 1/2/3 and a/b/c`)
	admin := auth.NewContext(context.Background(), auth.Principal{Admin: true})
	if s := tr.status(admin, "", err); !strings.Contains(s.Message(), "/srv/lake/data/main/t/x.parquet") {
		t.Error(s.Message())
	}
	s := tr.status(context.Background(), "", err)
	if strings.Contains(s.Message(), "/srv") || strings.Contains(s.Message(), "/etc") || !strings.Contains(s.Message(), "1/2/3 and a/b/c") {
		t.Error(s.Message())
	}
	for _, secret := range []string{
		"postgres://vega:hunter2@db/lake", "dbname=lake password=hunter2 host=db", "password = 'hunter2'", `secret="hunter2"`,
	} {
		for _, ctx := range []context.Context{context.Background(), admin} {
			if s := tr.status(ctx, "", fault.CatalogGone.Newf("cannot connect to %s", secret)); strings.Contains(s.Message(), "hunter2") {
				t.Errorf("%q tells a password", s.Message())
			}
		}
	}
}

func TestLongMessagesFitIntoHeaders(t *testing.T) {
	tr := translator{log: quietLog()}
	for _, text := range []string{strings.Repeat("x", 100_000), strings.Repeat("ü", 100_000), strings.Repeat("\xff", 100_000)} {
		s := tr.status(context.Background(), "", fault.SQLError.Newf("%s", text).WithHint("%s", text))
		raw, err := s.Proto(), error(nil)
		if err != nil {
			t.Fatal(err)
		}
		encoded := 0
		for _, r := range s.Message() {
			if r < ' ' || r > '~' {
				encoded += 3 * utf8.RuneLen(r)
			} else {
				encoded++
			}
		}
		if !utf8.ValidString(s.Message()) || encoded+len(raw.String())*4/3 > 8000 {
			t.Errorf("%d and %d bytes of trailers", encoded, len(raw.String()))
		}
	}
}

// TestDuckDBErrors asks DuckDB itself for each class.
func TestDuckDBErrors(t *testing.T) {
	ctx := context.Background()
	db, err := duck.Open(t.TempDir()+"/x.duckdb", duck.Options{Config: map[string]string{"memory_limit": "64MB", "threads": "1", "temp_directory": ""}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn := func() *duck.Conn {
		c, err := db.Connect()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	c, other := conn(), conn()
	must := func(c *duck.Conn, sql string) {
		t.Helper()
		if _, err := c.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	must(c, "CREATE TABLE t(k INTEGER PRIMARY KEY, v VARCHAR); INSERT INTO t VALUES (1, 'a')")
	check := func(c *duck.Conn, sql string, want *fault.Code) {
		t.Helper()
		_, err := c.Exec(ctx, sql)
		if err == nil {
			t.Errorf("%s: no error", sql)
			return
		}
		if got := classify(err); got.Code != want {
			t.Errorf("%s: %s, want %s: %v", sql, got.Code.Name(), want.Name(), err)
		}
	}
	check(c, "SELEC 1", fault.SyntaxError)
	check(c, "SELECT * FROM absent", fault.ObjectNotFound)
	check(c, "SELECT * FROM absent.t", fault.ObjectNotFound)
	check(c, "DROP TABLE absent", fault.ObjectNotFound)
	check(c, "SELECT nofunction(1)", fault.ObjectNotFound)
	check(c, "SELECT nocolumn FROM t", fault.ObjectNotFound)
	check(c, "CREATE TABLE t(x INTEGER)", fault.ObjectExists)
	check(c, "CREATE SCHEMA main", fault.ObjectExists)
	check(c, "SELECT 1 + 'x'::INTEGER", fault.SQLError)
	check(c, "SELECT sum('x')", fault.SQLError)
	check(c, "INSERT INTO t VALUES (1, 'b')", fault.SQLError)
	check(c, "SELECT 2147483647::INTEGER + 1::INTEGER", fault.SQLError)
	check(c, "SELECT error('mine')", fault.SQLError)
	check(c, "SELECT list(i), list(hash(i)) FROM range(100000000) r(i)", fault.MemoryExhausted)
	must(c, "BEGIN")
	must(other, "BEGIN")
	must(c, "UPDATE t SET v = 'c'")
	check(other, "UPDATE t SET v = 'd'", fault.CommitConflict)
	check(other, "SELECT 1", fault.TransactionFailed)
	must(other, "ROLLBACK")
	must(c, "ROLLBACK")
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Exec(stopped, "SELECT count(*) FROM range(1000000000) a, range(1000) b"); err == nil || classify(err).Code != fault.Cancelled {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := c.Exec(ctx, "SELECT 1 + FROM t"); err == nil || classify(err).Position < 0 {
		t.Errorf("a syntax error without its position: %v", err)
	}
}
