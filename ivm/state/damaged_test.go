package state_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
)

// A folder of which a file is gone or damaged is told of, and lets itself be made again.
func TestDamagedFolder(t *testing.T) {
	for what, damage := range map[string]func(path string) error{
		"gone":  os.Remove,
		"empty": func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			begin := func() (*state.Store, error) { return state.OpenStore(state.StoreOptions{Dir: dir, Stamp: "one"}) }
			s, err := begin()
			if err != nil {
				t.Fatal(err)
			}
			tab := openTable(t, s, state.Spec{Key: row.ParseLayout("BIGINT"), Payload: 1}, state.Part{})
			for k := range uint64(1000) {
				tab.Upsert([]uint64{0, k}, nil)
			}
			c := s.Capture([]byte("1"))
			c.Drain(0)
			if err := c.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.Settle()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err = begin(); err != nil { // what the log had is in a file now
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			files, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if strings.HasSuffix(f.Name(), ".sst") {
					if err := damage(filepath.Join(dir, f.Name())); err != nil {
						t.Fatal(err)
					}
				}
			}
			if _, err := begin(); fault.CodeOf(err) != fault.StateUnreadable {
				t.Fatalf("the error is %v", err)
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if s, err = begin(); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
