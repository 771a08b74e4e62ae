package ducklake_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

var errLost = errors.New("server closed the connection unexpectedly")

func TestLostAnswerOfACommit(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		l := laketest.New(t, k)
		c := connect(t, l)
		c.exec(`CREATE TABLE t (i INTEGER)`)
		ctx := ducklake.WithCommitID(ctx, "the commit's id")
		insert := must(c.Analyze(ctx, `INSERT INTO t VALUES (1)`))

		l.LoseAnswer(nil, errLost)
		if n, err := c.Exec(ctx, insert); err != nil || n != 1 {
			t.Errorf("a commit that happened: %d, %v", n, err)
		}
		c.want(`SELECT count(*) FROM t`, "1")

		ctx = ducklake.WithCommitID(ctx, "another id")
		l.LoseAnswer(errLost, nil)
		_, err := c.Exec(ctx, insert)
		fails(t, err, fault.CatalogGone)
		c.want(`SELECT count(*) FROM t`, "1")

		id := c.begin()
		c.exec(`INSERT INTO t VALUES (2)`)
		l.LoseAnswer(nil, errLost)
		if err := c.Commit(ducklake.WithCommitID(ctx, "a third"), id); err != nil {
			t.Errorf("a transaction that was committed: %v", err)
		}
		c.want(`SELECT count(*) FROM t`, "2")

		must(0, l.Store().View(ctx, func(tx metadata.Tx) error {
			for id, want := range map[string]bool{"the commit's id": true, "another id": false, "a third": true} {
				if _, found, err := metadata.LookupCommit(ctx, tx, id, 0); err != nil || found != want {
					t.Errorf("%s: found %v, %v", id, found, err)
				}
			}
			return nil
		}))
	})
}

// On PostgreSQL every commit can be looked up, asked for or not.
func TestEveryRemoteCommitHasAnID(t *testing.T) {
	l := laketest.New(t, laketest.PostgreSQL)
	c := connect(t, l)
	c.exec(`CREATE TABLE t (i INTEGER)`)
	l.LoseAnswer(nil, errLost)
	c.exec(`INSERT INTO t VALUES (1)`)
	l.LoseAnswer(errLost, nil)
	_, err := c.try(`INSERT INTO t VALUES (2)`)
	fails(t, err, fault.CatalogGone)
	c.want(`FROM t`, "1")
}

func TestUnknownOutcome(t *testing.T) {
	l := laketest.New(t, laketest.PostgreSQL)
	c := connect(t, l)
	c.exec(`CREATE TABLE t (i INTEGER)`)
	l.LoseAnswer(nil, errLost)
	back := l.LoseCatalog()
	a := must(c.Analyze(ctx, `INSERT INTO t VALUES (1)`))
	_, err := c.Exec(ducklake.WithCommitID(ctx, "look-me-up"), a)
	fails(t, err, fault.CommitUnknown)
	if err == nil || !strings.Contains(err.Error(), "look-me-up") {
		t.Errorf("the message does not have the commit id: %v", err)
	}
	back()
	c.want(`SELECT count(*) FROM t`, "1")
}

func TestWatch(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		p := laketest.NewPlace(t, k)
		l := p.Open(t)
		c := connect(t, l)
		watched := l
		if k == laketest.PostgreSQL {
			watched = p.Open(t) // another server of the lake
		}
		newest := watched.Watch(t.Context())
		c.exec(`CREATE TABLE t (i INTEGER)`)
		c.exec(`INSERT INTO t VALUES (1)`)
		want := must(l.Snapshot(ctx)).ID
		for id := range newest {
			if id >= want {
				break
			}
		}
	})
}

// Two servers on one PostgreSQL lake see each other's tables and rows, and lose nothing to one another.
func TestTwoServers(t *testing.T) {
	p := laketest.NewPlace(t, laketest.PostgreSQL)
	one, two := p.Open(t), p.Open(t)
	a, b := connect(t, one), connect(t, two)
	a.exec(`CREATE TABLE t (who INTEGER, i INTEGER)`)
	b.want(`SELECT count(*) FROM t`, "0")
	var work sync.WaitGroup
	for i, c := range []client{a, b} {
		work.Add(1)
		go func() {
			defer work.Done()
			for n := range 15 {
				if _, err := c.try(`INSERT INTO t VALUES (?, ?)`, int64(i), int64(n)); err != nil {
					t.Errorf("server %d, row %d: %v", i, n, err)
				}
			}
		}()
	}
	work.Wait()
	for _, c := range []client{a, b} {
		c.want(`SELECT who, count(*), count(DISTINCT i) FROM t GROUP BY who ORDER BY who`, "0|15|15", "1|15|15")
	}
	b.exec(`CREATE OR REPLACE TABLE t AS SELECT 'new' AS c`)
	a.want(`FROM t`, "new")
}

// Users' writes, DDL and native commits go on beside each other without losing to one another.
func TestCommitsBesideEachOther(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		l := laketest.New(t, k)
		setup := connect(t, l)
		setup.exec(`CREATE TABLE t (i INTEGER)`)
		var work sync.WaitGroup
		for w := range 4 {
			c := connect(t, l)
			work.Add(1)
			go func() {
				defer work.Done()
				for n := range 6 {
					var err error
					switch w {
					case 0:
						_, err = c.try(`CREATE OR REPLACE TABLE mine AS SELECT ? AS n`, int64(n))
					case 1:
						_, err = c.try(`CREATE OR REPLACE VIEW v AS SELECT 1 AS i`)
					default:
						_, err = c.try(`INSERT INTO t VALUES (?)`, int64(n))
					}
					if err != nil {
						t.Errorf("writer %d: %v", w, err)
					}
				}
			}()
		}
		work.Wait()
		setup.want(`SELECT count(*) FROM t`, "12")
		setup.want(`FROM mine`, "5")
	})
}
