package command

import (
	"os"
	"path/filepath"
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
