package stream_test

import (
	"context"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// What others are told of a view is what it does, also when a server that had it meanwhile has said something else of it.
func TestAStateThatAnotherServerWroteIsCorrected(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT)")
	l.view("x", "SELECT count(*) AS n FROM o")
	l.settle()
	row := func() (state string) {
		l.must(l.lake.Store().View(l.ctx, func(tx metadata.Tx) error {
			rows, err := tx.Query(l.ctx, `SELECT state FROM {M}vega_streams WHERE uuid = $1`, l.views["x"].UUID)
			if err == nil {
				state = rows[0][0].(string)
			}
			return err
		}))
		return state
	}
	is := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(l.ctx, patience)
		defer cancel()
		for row() != string(stream.Running) {
			if ctx.Err() != nil {
				t.Fatalf("it is said to be %s", row())
			}
			l.run.Changed()
		}
	}
	is()
	l.must(l.lake.Store().Update(l.ctx, func(tx metadata.Tx) error {
		_, err := tx.Exec(l.ctx, `UPDATE {M}vega_streams SET state = $1`, string(stream.Recovering))
		return err
	}))
	is()
}
