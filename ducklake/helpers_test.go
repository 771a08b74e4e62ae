package ducklake_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/fault"
)

var ctx = context.Background()

// client is a session with the calls a server makes for a statement, for tests.
type client struct {
	*ducklake.Session
	t *testing.T
}

func connect(t *testing.T, l *ducklake.Lake, change ...func(*ducklake.SessionConfig)) client {
	t.Helper()
	c := ducklake.SessionConfig{Principal: "tester"}
	for _, f := range change {
		f(&c)
	}
	s, err := l.NewSession(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the session: %v", err)
		}
	})
	return client{s, t}
}

// try runs a statement for its effect.
func (c client) try(sql string, args ...any) (int64, error) {
	c.t.Helper()
	a, err := c.Analyze(ctx, sql)
	if err != nil {
		return 0, err
	}
	return c.Exec(ctx, a, args...)
}

func (c client) exec(sql string, args ...any) int64 {
	c.t.Helper()
	n, err := c.try(sql, args...)
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// open starts a query.
func (c client) open(sql string, args ...any) *ducklake.Stream {
	c.t.Helper()
	a, err := c.Analyze(ctx, sql)
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	st, err := c.Query(ctx, a, args...)
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return st
}

// rows runs a query to its end; each row is its values' texts with | between.
func (c client) rows(sql string, args ...any) []string {
	c.t.Helper()
	out, err := read(c.open(sql, args...))
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// read reads a stream to its end and closes it.
func read(st *ducklake.Stream) ([]string, error) {
	var out []string
	for st.Next() {
		b := st.RecordBatch()
		for i := range int(b.NumRows()) {
			cells := make([]string, b.NumCols())
			for j, col := range b.Columns() {
				cells[j] = "NULL"
				if !col.IsNull(i) {
					cells[j] = col.ValueStr(i)
				}
			}
			out = append(out, strings.Join(cells, "|"))
		}
	}
	return out, errors.Join(st.Err(), st.Close())
}

// want checks a query's rows, in their order.
func (c client) want(sql string, want ...string) {
	c.t.Helper()
	if got := c.rows(sql); !slices.Equal(got, want) {
		c.t.Errorf("%s:\n got %q\nwant %q", sql, got, want)
	}
}

// fails checks that an error has a code.
func fails(t *testing.T, err error, code *fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("got the error %v, want %s", err, code.Name())
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprint(err))
	}
	return v
}
