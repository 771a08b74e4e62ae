package ducklake_test

import (
	"errors"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// A transaction whose end could not begin does not stay in the way of the statements that come.
func TestAnEndWithoutMemory(t *testing.T) {
	lacks := errors.New("no memory")
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		l := laketest.New(t, k)
		c := connect(t, l)
		c.exec(`CREATE TABLE t (i INTEGER)`)
		c.exec(`CREATE TEMPORARY TABLE p (i INTEGER)`)
		works := func(what string) {
			l.LoseEnds(0, nil) // there is memory again
			t.Helper()
			for range 3 {
				c.exec(`INSERT INTO t SELECT 1 WHERE false`)
				c.exec(`INSERT INTO p SELECT 1 WHERE false`)
				c.want(`SELECT count(*) FROM t`, "0")
				c.want(`SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM p)`, "0")
			}
			id := c.begin()
			c.exec(`INSERT INTO t SELECT 1 WHERE false`)
			c.commit(id)
			if n := l.IdleTransactions(); n > 0 {
				t.Errorf("%s: %d connections wait with a transaction", what, n)
			}
		}
		for _, lost := range []int{0, 1, 2, 3} {
			l.LoseEnds(lost, lacks)
			l.LoseAnswer(lacks, nil)
			if _, err := c.try(`INSERT INTO t VALUES (1)`); err == nil {
				t.Error("a write that was not committed is none")
			}
			works("a write")

			l.LoseEnds(lost, lacks)
			if _, err := c.try(`INSERT INTO t SELECT error('no')`); err == nil {
				t.Error("a failure is lost")
			}
			works("a write that failed")

			id := c.begin()
			c.exec(`INSERT INTO t VALUES (1)`)
			l.LoseEnds(lost, lacks)
			l.LoseAnswer(lacks, nil)
			if err := c.Commit(ctx, id); err == nil {
				t.Error("a transaction that was not committed is none")
			}
			works("a commit")

			id = c.begin()
			c.exec(`INSERT INTO t VALUES (1)`)
			l.LoseEnds(lost, lacks)
			if err := c.Rollback(ctx, id); (err == nil) != (lost == 0) {
				t.Error(err)
			}
			works("a rollback")
		}
	})
}
