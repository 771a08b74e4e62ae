package metadata_test

import (
	"context"
	"errors"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// lacking is a connection that fails statements before they begin, as without memory.
type lacking struct {
	*duck.Conn
	fails map[string]int // by statement, how often
}

var errLacking = errors.New("no memory")

func (c *lacking) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	if c.fails[sql] > 0 {
		c.fails[sql]--
		return 0, errLacking
	}
	return c.Conn.Exec(ctx, sql, args...)
}

// A transaction whose end could not begin does not stay in the way of those that come.
func TestAnEndWithoutMemory(t *testing.T) {
	db, err := duck.Open("", duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	fails := map[string]int{}
	s, err := metadata.OpenDuckDB("lake", func() (metadata.Conn, error) {
		c, err := db.Connect()
		return &lacking{c, fails}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	works := func() {
		t.Helper()
		for range 2 {
			if _, err := s.Now(t.Context()); err != nil {
				t.Error(err)
			}
			if err := s.Update(t.Context(), func(metadata.Tx) error { return nil }); err != nil {
				t.Error(err)
			}
		}
	}
	works()
	for _, lacks := range []map[string]int{{"COMMIT": 1}, {"COMMIT": 1, "ROLLBACK": 1}} {
		for _, run := range []func() error{
			func() error { _, err := s.Now(t.Context()); return err },
			func() error { return s.Update(t.Context(), func(metadata.Tx) error { return nil }) },
		} {
			for sql, n := range lacks {
				fails[sql] = n
			}
			if err := run(); !errors.Is(err, errLacking) {
				t.Errorf("%v: %v", lacks, err)
			}
			works()
		}
	}
	// A statement that failed, and whose ROLLBACK did, leaves the transaction aborted.
	fails["ROLLBACK"] = 1
	err = s.View(t.Context(), func(tx metadata.Tx) error {
		_, err := tx.Query(t.Context(), "SELECT error('no')")
		return err
	})
	if err == nil {
		t.Error("a failure is lost")
	}
	works()
}
