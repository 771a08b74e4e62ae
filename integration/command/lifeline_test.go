package command

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

func TestServerEndsWithTheLastHolderOfItsLifeline(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lifeline")
	first, second := hold(t, path), hold(t, path)
	lake := filepath.Join(dir, "lake")
	s := process.Start(t, process.Options{Lake: lake, Args: []string{"--lifeline", path}})
	client := s.Connect(t)
	client.Must(t, "CREATE TABLE kept AS SELECT 42 AS answer")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if got := client.Value(t, "SELECT answer FROM kept"); got != "42" {
		t.Fatalf("with one holder left it answers %s", got)
	}
	select {
	case <-s.Done():
		t.Fatal("the server ended with a holder left")
	default:
	}
	s.Expect()
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Ended(); err != nil {
		t.Fatalf("%v\n%s", err, s.Log())
	}
	// What comes later finds the lock free and the lake as it was left.
	defer hold(t, path).Close()
	again := process.Start(t, process.Options{Lake: lake, Args: []string{"--lifeline", path}})
	if got := again.Connect(t).Value(t, "SELECT answer FROM kept"); got != "42" {
		t.Fatalf("started again it answers %s", got)
	}
}

// A lake is removed, and another one made with its name, before the server of the first ends: what the second server keeps in the log of
// its catalog stays.
func TestServerOfALakeThatIsRemovedLeavesTheNextOneAlone(t *testing.T) {
	for _, how := range []string{"nobody needs it", "it is stopped"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			lake, path := filepath.Join(dir, "lake"), filepath.Join(dir, "lifeline")
			held := hold(t, path)
			defer held.Close()
			first := process.Start(t, process.Options{Lake: lake, Args: []string{"--lifeline", path}})
			first.Connect(t).Must(t, "CREATE TABLE old AS SELECT 1 AS i")
			if err := os.RemoveAll(lake); err != nil {
				t.Fatal(err)
			}
			second := process.Start(t, process.Options{Lake: lake})
			client := second.Connect(t)
			client.Must(t, "CREATE TABLE kept AS SELECT 42 AS answer")
			first.Expect()
			if how == "it is stopped" {
				first.Signal(syscall.SIGTERM)
			} else if err := held.Close(); err != nil {
				t.Fatal(err)
			}
			if err := first.Ended(); err == nil || !strings.Contains(first.Log(), "was removed while it was open") {
				t.Fatalf("%v\n%s", err, first.Log())
			}
			client.Must(t, "INSERT INTO kept VALUES (43)")
			second.Kill()
			third := process.Start(t, process.Options{Lake: lake}).Connect(t)
			if got := third.Value(t, "SELECT sum(answer) FROM kept"); got != "85" {
				t.Fatalf("the next lake has %s", got)
			}
		})
	}
}

// hold locks the file as a user of a server does.
func hold(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	return f
}
