package publish_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
)

// stage stages the rows 0..n-1 of a table with one column.
func (l *lake) stage(p *publish.Publisher, table metadata.TableInfo, n int, owner publish.Fence) *publish.Staged {
	l.t.Helper()
	conn := l.connect()
	defer conn.Close()
	s, err := p.Stage(ctx, conn, publish.StageSpec{Table: table, Query: fmt.Sprintf("SELECT range FROM range(%d)", n), JobID: "job", Owner: owner}, nil)
	must(l.t, err)
	return s
}

func (l *lake) state(uuid string) publish.Published {
	l.t.Helper()
	var out publish.Published
	must(l.t, l.store.View(ctx, func(tx metadata.Tx) error {
		p, found, err := publish.ReadPublished(ctx, tx, uuid)
		if err == nil && !found {
			l.t.Fatalf("nothing is published as %s", uuid)
		}
		out = p
		return err
	}))
	return out
}

// Of several publishers that start from the same state exactly one wins, whatever there is to publish.
func TestOnePublisherWins(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		one := l.publisher()
		table := l.published(one, "v", "k BIGINT")
		for _, c := range []struct {
			name string
			pub  func(p *publish.Publisher, n int) publish.Publication
			rows bool
		}{
			{"rows", func(p *publish.Publisher, n int) publish.Publication {
				return publish.Publication{Replace: l.stage(p, table, n, publish.Fence{})}
			}, true},
			{"an empty view", func(p *publish.Publisher, _ int) publish.Publication {
				return publish.Publication{Replace: l.stage(p, table, 0, publish.Fence{})}
			}, false},
			{"no change", func(*publish.Publisher, int) publish.Publication { return publish.Publication{} }, false},
			{"an empty delta", func(*publish.Publisher, int) publish.Publication {
				return publish.Publication{Delta: &publish.Delta{}}
			}, false},
		} {
			t.Run(c.name, func(t *testing.T) {
				const publishers = 4
				before := l.snapshot()
				var wait sync.WaitGroup
				errs, rows := make([]error, publishers), make([]int64, publishers)
				for i := range publishers {
					// Each has a lock of its own, as in another process.
					p := l.publisher(func(c *publish.Config) {
						c.ServerID = fmt.Sprint("s", i)
						if kind == laketest.PostgreSQL {
							c.Lock = metadata.NewCommitLock()
						}
					})
					pub := c.pub(p, i+1)
					pub.CommitID, pub.Table = commitID(), table
					pub.Swap = publish.Swap{UUID: "view " + c.name, Generation: 3, NextGeneration: int64(10 + i), Frontier: []byte{byte(i)}}
					wait.Go(func() {
						r, err := p.Publish(ctx, pub)
						errs[i] = errors.Join(err, r[0].Err)
						rows[i] = r[0].Rows
					})
				}
				wait.Wait()
				winner := -1
				for i, err := range errs {
					switch {
					case err == nil && winner >= 0:
						t.Fatalf("%d and %d both won", winner, i)
					case err == nil:
						winner = i
					case fault.CodeOf(err) != fault.RefreshConflict:
						t.Errorf("a loser got %v", err)
					}
				}
				if winner < 0 {
					t.Fatalf("nobody won: %v", errs)
				}
				now := l.state("view " + c.name)
				if now.Epoch != 1 || now.Generation != int64(10+winner) || string(now.Frontier) != string([]byte{byte(winner)}) {
					t.Errorf("the state is %+v after %d has won", now, winner)
				}
				if s := l.snapshot(); s != before+1 || now.Snapshot != s {
					t.Errorf("snapshot %d became %d, the state says %d", before, s, now.Snapshot)
				}
				if n := l.number("SELECT count(*) FROM lake.main.v"); c.rows && n != rows[winner] {
					t.Errorf("%d rows are there, the winner wrote %d", n, rows[winner])
				}
			})
		}
	})
}

// A server that was taken over publishes nothing, not even from files it staged before.
func TestFencedOwnerLoses(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		p := l.publisher()
		servers := &maintain.Servers{Store: l.store, Lease: 1}
		old, err := servers.Register(ctx, "old", "")
		must(t, err)
		table := l.published(p, "v", "k BIGINT")
		staged := l.stage(p, table, 5, old)
		one(t, p, publish.Publication{CommitID: commitID(), Table: table, Swap: publish.Swap{UUID: "v"}, Owner: old})

		all, err := servers.List(ctx)
		must(t, err)
		won, err := servers.TakeOver(ctx, all[0])
		must(t, err)
		if !won {
			t.Fatal("an expired server was not taken over")
		}
		if again, err := servers.TakeOver(ctx, all[0]); err != nil || again {
			t.Fatalf("it was taken over twice: %v, %v", again, err)
		}
		before := l.snapshot()
		r, err := p.Publish(ctx, publish.Publication{CommitID: commitID(), Table: table, Replace: staged, Swap: publish.Swap{UUID: "v", Epoch: 1}, Owner: old})
		must(t, err)
		if fault.CodeOf(r[0].Err) != fault.Fenced {
			t.Errorf("a fenced server got %v", r[0].Err)
		}
		if _, err := p.Stage(ctx, l.conn, publish.StageSpec{Table: table, Query: "SELECT 1", Owner: old}, nil); fault.CodeOf(err) != fault.Fenced {
			t.Errorf("staging by a fenced server gave %v", err)
		}
		if fault.CodeOf(servers.Renew(ctx, old, nil)) != fault.Fenced {
			t.Error("a fenced server renewed its lease")
		}
		must(t, p.DiscardOwner(ctx, old))
		// The server comes back as a new incarnation; what the old one staged is gone.
		fresh, err := servers.Register(ctx, "old", "")
		must(t, err)
		r, err = p.Publish(ctx, publish.Publication{CommitID: commitID(), Table: table, Replace: staged, Swap: publish.Swap{UUID: "v", Epoch: 1}, Owner: fresh})
		must(t, err)
		if fault.CodeOf(r[0].Err) != fault.Fenced {
			t.Errorf("publishing discarded files gave %v", r[0].Err)
		}
		if s := l.snapshot(); s != before {
			t.Errorf("snapshot %d became %d", before, s)
		}
		one(t, p, publish.Publication{CommitID: commitID(), Table: table, Replace: l.stage(p, table, 3, fresh), Swap: publish.Swap{UUID: "v", Epoch: 1}, Owner: fresh})
		if n := l.number("SELECT count(*) FROM lake.main.v"); n != 3 {
			t.Errorf("%d rows", n)
		}
	})
}

// A group is one snapshot; members that may not be committed are left out and cost the others nothing.
func TestGroupCommit(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		p := l.publisher()
		var pubs []publish.Publication
		const size = 6
		for i := range size {
			table := l.published(p, fmt.Sprint("v", i), "k BIGINT")
			pubs = append(pubs, publish.Publication{CommitID: commitID(), Table: table, Seen: l.snapshot(), Replace: l.stage(p, table, 10+i, publish.Fence{}),
				Swap: publish.Swap{UUID: fmt.Sprint("u", size-i)}})
		}
		one(t, p, publish.Publication{CommitID: commitID(), Table: pubs[1].Table, Swap: publish.Swap{UUID: pubs[1].Swap.UUID}}) // 1 has lost
		hook := errors.New("no")
		pubs[3].Also = append(pubs[3].Also, func(context.Context, metadata.Tx, metadata.Snapshot) error { return hook })
		l.exec("ALTER TABLE lake.main.v4 ADD COLUMN more INTEGER")
		saw := metadata.Snapshot{}
		pubs[0].Also = append(pubs[0].Also, func(ctx context.Context, tx metadata.Tx, s metadata.Snapshot) error {
			saw = s
			_, err := tx.Exec(ctx, `INSERT INTO {M}vega_journal VALUES ('j', 'k', 'p', 's', 1, now())`)
			return err
		})
		before := l.snapshot()
		results, err := p.Publish(ctx, pubs...)
		must(t, err)
		if s := l.snapshot(); s != before+1 || saw.ID != s {
			t.Fatalf("snapshot %d became %d, the hook saw %d", before, s, saw.ID)
		}
		for i, r := range results {
			var bad bool
			switch i {
			case 1:
				bad = fault.CodeOf(r.Err) != fault.RefreshConflict
			case 3:
				bad = !errors.Is(r.Err, hook)
			case 4:
				bad = fault.CodeOf(r.Err) != fault.SourceChanged
			default:
				bad = r.Err != nil || r.Snapshot != before+1 || r.Rows != int64(10+i) || r.At.IsZero()
				if n := l.number(fmt.Sprintf("SELECT count(*) FROM lake.main.v%d", i)); n != int64(10+i) {
					t.Errorf("v%d has %d rows", i, n)
				}
			}
			if bad {
				t.Errorf("%d: %+v", i, r)
			}
		}
		for _, i := range []int{1, 3, 4} {
			if n := l.number(fmt.Sprintf("SELECT count(*) FROM lake.main.v%d", i)); n != 0 {
				t.Errorf("v%d has %d rows", i, n)
			}
		}
		must(t, l.store.View(ctx, func(tx metadata.Tx) error {
			for _, i := range []int{0, 2, 5} {
				s, found, err := metadata.LookupCommit(ctx, tx, pubs[i].CommitID, 0)
				if err != nil || !found || s != before+1 {
					t.Errorf("the commit of %d is looked up as %d, %v, %v", i, s, found, err)
				}
			}
			entries, err := maintain.Entries(ctx, tx, "s")
			if len(entries) != 1 {
				t.Errorf("the hook's row: %v", entries)
			}
			return err
		}))
	})
}

// A COMMIT without an answer is never done twice and never reported as failed when it was done.
func TestLostAnswer(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		lost := errors.New("the connection broke")
		lose := 0
		p := l.publisher(func(c *publish.Config) {
			c.Faults.AfterCommit = func() error {
				if lose > 0 {
					lose--
					return lost
				}
				return nil
			}
		})
		table := l.published(p, "v", "k BIGINT")
		hooks := 0
		for epoch := range int64(3) {
			before := l.snapshot()
			lose = 1
			r := one(t, p, publish.Publication{CommitID: commitID(), Table: table, Replace: l.stage(p, table, 7, publish.Fence{}), Swap: publish.Swap{UUID: "v", Epoch: epoch},
				Also: []func(context.Context, metadata.Tx, metadata.Snapshot) error{func(ctx context.Context, tx metadata.Tx, _ metadata.Snapshot) error {
					tx.OnCommit(func() { hooks++ })
					return nil
				}}})
			if s := l.snapshot(); s != before+1 || r.Snapshot != s || r.Epoch != epoch+1 || r.Rows != 7 {
				t.Errorf("snapshot %d became %d, the result says %+v", before, s, r)
			}
			if n := l.number("SELECT count(*) FROM lake.main.v"); n != 7 {
				t.Errorf("%d rows", n)
			}
		}
		if hooks != 3 {
			t.Errorf("%d commits ran their hooks, not 3", hooks)
		}
		// The same publication again, as a caller does that has not heard of its end: it is found, also under a later one.
		pub := publish.Publication{CommitID: commitID(), Table: table, Replace: l.stage(p, table, 9, publish.Fence{}), Swap: publish.Swap{UUID: "v", Epoch: 3}}
		first := one(t, p, pub)
		if again := one(t, p, pub); again.Snapshot != first.Snapshot || again.Epoch != first.Epoch {
			t.Errorf("the second time gave %+v, the first %+v", again, first)
		}
		one(t, p, publish.Publication{CommitID: commitID(), Table: table, Swap: publish.Swap{UUID: "v", Epoch: 4}})
		if again := one(t, p, pub); again.Snapshot != first.Snapshot {
			t.Errorf("under a later publication it is found as %+v, not %+v", again, first)
		}
	})
}

// A cancelled publication leaves nothing.
func TestCancelledBeforeCommit(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		run, cancel := context.WithCancel(ctx)
		p := l.publisher(func(c *publish.Config) {
			c.Faults.BeforeCommit = func() error { cancel(); return run.Err() }
		})
		table := l.published(p, "v", "k BIGINT")
		staged := l.stage(p, table, 5, publish.Fence{})
		before := l.snapshot()
		_, err := p.Publish(run, publish.Publication{CommitID: commitID(), Table: table, Replace: staged, Swap: publish.Swap{UUID: "v"}})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("it gave %v", err)
		}
		if s := l.snapshot(); s != before || l.state("v").Epoch != 0 {
			t.Errorf("snapshot %d became %d, %+v", before, s, l.state("v"))
		}
		unlock, err := l.lock.Lock(ctx) // the lock is free again
		must(t, err)
		unlock()
	})
}

// Dropped and altered tables are refused, a renamed one is published into.
func TestTableChangedByOthers(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		p := l.publisher()
		for _, c := range []struct {
			name, ddl string
			seen      bool
			code      *fault.Code
		}{
			{"renamed", "ALTER TABLE lake.main.renamed RENAME TO other_name", true, nil},
			{"commented", "COMMENT ON TABLE lake.main.commented IS 'x'", true, nil},
			{"columnrenamed", "ALTER TABLE lake.main.columnrenamed RENAME COLUMN k TO kk", true, nil},
			{"added", "ALTER TABLE lake.main.added ADD COLUMN x INTEGER", true, fault.SourceChanged},
			{"addedunseen", "ALTER TABLE lake.main.addedunseen ADD COLUMN x INTEGER", false, fault.SourceChanged},
			{"retyped", "ALTER TABLE lake.main.retyped ALTER COLUMN i TYPE BIGINT", true, fault.SourceChanged},
			{"dropped", "DROP TABLE lake.main.dropped", true, fault.ObjectNotFound},
			{"droppedunseen", "DROP TABLE lake.main.droppedunseen", false, fault.ObjectNotFound},
			{"partitioned", "ALTER TABLE lake.main.partitioned SET PARTITIONED BY (k)", true, fault.LakeUnsupported},
		} {
			table := l.published(p, c.name, "k BIGINT, i INTEGER")
			seen := int64(0)
			if c.seen {
				seen = l.snapshot()
			}
			staged, err := p.Stage(ctx, l.conn, publish.StageSpec{Table: table, Query: "SELECT range, 1 FROM range(4)", JobID: "job"}, nil)
			must(t, err)
			l.exec(c.ddl)
			r, err := p.Publish(ctx, publish.Publication{CommitID: commitID(), Table: table, Seen: seen, Replace: staged, Swap: publish.Swap{UUID: c.name}})
			must(t, err)
			if fault.CodeOf(r[0].Err) != c.code {
				t.Errorf("%s: %v", c.name, r[0].Err)
			}
		}
		if n := l.number("SELECT count(kk) FROM lake.main.columnrenamed"); n != 4 {
			t.Errorf("%d rows under the column's new name", n)
		}
		if n := l.number("SELECT count(*) FROM lake.main.other_name"); n != 4 {
			t.Errorf("%d rows under the new name", n)
		}
	})
}
