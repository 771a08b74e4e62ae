package stream_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// loading is a lake with views whose first content is there before their state, and what happens to them meanwhile is drawn.
type loading struct {
	*lab
	hold   holding
	fate   *fate
	random *rand.Rand
	named  map[string]string // tables and columns of queries, as they are called now
	texts  map[string]string // queries by view, before names are put in
	moved  bool              // a table or column is not what it was
	letGo  func()
	n      int
}

// loadingQueries have one answer; {d} is a small table beside {t}.
var loadingQueries = []string{
	"SELECT {g}, count(*) AS n, sum({v}) AS s, min({v}) AS low, max({s}) AS most FROM {t} GROUP BY {g}",
	"SELECT {k}, count(*) AS n FROM {t} GROUP BY {k}",
	"SELECT x.{k}, x.{v}, d.name FROM {t} x JOIN {d} d ON x.{g} = d.g",
	"SELECT x.{k}, d.name FROM {t} x LEFT JOIN {d} d ON x.{v} = d.g WHERE x.{k} < 3000",
	"SELECT d.name, x.{v} FROM {d} d LEFT JOIN {t} x ON x.{k} = d.g",
	"SELECT DISTINCT {g}, {s} FROM {t}",
	"SELECT {s}, count(DISTINCT {v}) AS n FROM {t} GROUP BY {s}",
	"SELECT {g}, {k}, {v} FROM {t} QUALIFY row_number() OVER (PARTITION BY {g} ORDER BY {v} DESC NULLS LAST, {k}) <= 3",
	"SELECT g, name FROM {d} WHERE g NOT IN (SELECT {v} FROM {t} WHERE {v} IS NOT NULL)",
	"SELECT count(*) AS n, sum({v}) AS s FROM {t} WHERE {s} <> 'label 1'",
	"SELECT {k}, upper({s}) AS label FROM {t} WHERE {v} = 7",
	"SELECT {k}, {v}, {s} FROM {t}",
	"SELECT {g}, sum({v}) OVER (PARTITION BY {g} ORDER BY {k}) AS running FROM {t} WHERE {g} < 10",
	"SELECT {k} FROM {t} WHERE {g} < 9 EXCEPT SELECT {v} FROM {t}",
	"SELECT {g}, {v} FROM {t} WHERE {k} % 3 = 0 UNION ALL SELECT g, NULL FROM {d}",
	"SELECT {g} % 5 AS m, {s}, count(*) AS n FROM {t} GROUP BY GROUPING SETS ((m, {s}), (m), ())",
	"SELECT {k}, {v} FROM {t} ORDER BY {v} DESC NULLS LAST, {k} LIMIT 20",
	"SELECT d.g, (SELECT count(*) FROM {t} x WHERE x.{v} = d.g) AS n FROM {d} d",
	"SELECT a.{k}, b.{v} FROM {t} a JOIN {t} b ON a.{k} = b.{k} AND a.{g} <> b.{v}",
	"SELECT {s}, list({k} ORDER BY {k}) AS ks FROM {t} WHERE {v} = 3 GROUP BY {s}",
}

func newLoading(t *testing.T, kind laketest.Kind) *loading {
	l := &loading{fate: newFate()}
	l.lab = newLab(t, kind, l.hold.on, func(x *lab) {
		x.publisher.Faults.AfterCommit, x.publisher.Faults.BeforeCommit = l.fate.lost.next, l.fate.refused.next
		x.configure = append(x.configure, func(c *stream.Config) {
			c.Builders = 8
			c.RefileEvery = 3
			c.MemoryBudget = l.fate.budget
		})
	})
	return l
}

// round is one history: what it was given is there, some of it is loaded, things happen, it is let go.
func (l *loading) round(seed uint64) {
	l.random = rand.New(rand.NewPCG(seed, 0x10ad))
	l.moved = false
	l.fate.budget = []int64{0, 0, 64 << 10}[l.random.IntN(3)]
	l.named = map[string]string{"t": "t", "d": "d", "k": "k", "g": "g", "v": "v", "s": "s"}
	l.texts = map[string]string{}
	l.must(l.raw(fmt.Sprintf("CALL lake.set_option('data_inlining_row_limit', %d)", []int{1000, 0, 5}[l.random.IntN(3)])))
	l.publisher.InlineRows = []int{1, 8, 5000}[l.random.IntN(3)]
	l.stop()
	l.start()
	l.exec(`CREATE TABLE t AS SELECT i AS k, i % 97 AS g, (i * 7919) % 101 AS v, 'label ' || i % 3 AS s FROM range(140000) r(i)`,
		`CREATE TABLE d AS SELECT i AS g, 'name ' || i AS name FROM range(150) r(i)`)
	for range l.random.IntN(3) {
		l.change()
	}
	l.holdOn()
	for range 1 + l.random.IntN(2) {
		l.make(loadingQueries[l.random.IntN(len(loadingQueries))])
	}
	for range l.random.IntN(5) {
		l.happen()
		l.atFrontier()
	}
	l.letGo()
	if l.random.IntN(3) == 0 {
		l.happen()
	}
	l.letGo()
	l.fate.refused.left.Store(0)
	l.fate.lost.left.Store(0)
	l.checkAll()
	for range 2 {
		l.happen()
		l.letGo()
		l.checkAll()
	}
	for name := range l.views {
		l.drop(name)
	}
	l.exec("DROP TABLE "+l.named["t"], "DROP TABLE d")
}

// holdOn holds what is loaded from now on.
func (l *loading) holdOn() {
	letGo, once := l.hold.hold(), false
	l.letGo = func() {
		if !once {
			once = true
			letGo()
		}
	}
}

// text is a query as it is written now.
func (l *loading) text(q string) string {
	var pairs []string
	for from, to := range l.named {
		pairs = append(pairs, "{"+from+"}", to)
	}
	return strings.NewReplacer(pairs...).Replace(q)
}

// make makes a view, with options that are drawn, and perhaps lets it come to where it is held.
func (l *loading) make(q string) {
	l.n++
	name := fmt.Sprintf("v%d", l.n)
	l.options = nil
	if n := l.random.Int64N(4); n > 0 {
		l.options = append(l.options, ddl.Option{Name: "parallelism", Value: ddl.Value{Kind: ddl.Int, Int: n}})
	}
	if l.random.IntN(2) == 0 {
		l.options = append(l.options, ddl.Option{Name: "checkpoint_interval", Value: ddl.Value{Kind: ddl.Duration, Duration: 100 * time.Millisecond}})
	}
	l.t.Logf("%s: %s", name, l.text(q))
	l.texts[name] = q
	l.view(name, l.text(q))
	if l.random.IntN(4) > 0 && !strings.Contains(q, "{up}") { // which waits for what it reads
		l.comes(name)
	}
}

// comes waits until a view is being made, or blocked.
func (l *loading) comes(name string) {
	ctx, cancel := context.WithTimeout(l.ctx, patience)
	defer cancel()
	l.must(l.run.Await(ctx, l.views[name].UUID, func(st stream.Status, ok bool) bool { return ok && st.State != stream.Starting }))
}

func (l *loading) checkAll() {
	l.t.Helper()
	for name, q := range l.texts {
		l.views[name].Def.Query = l.text(q)
	}
	l.check()
	l.atFrontier()
	if l.t.Failed() {
		l.t.FailNow()
	}
}

// atFrontier compares what is published with the queries at the frontiers that it says.
func (l *loading) atFrontier() {
	l.t.Helper()
	if l.moved {
		return
	}
	for name, q := range l.texts {
		p := l.published(name)
		if p.Epoch == 0 || strings.Contains(q, "{up}") {
			continue
		}
		then := strings.NewReplacer("{t}", fmt.Sprintf("(SELECT * FROM t AT (VERSION => %d))", p.Frontier.SourceVersion), "{d}", fmt.Sprintf("(SELECT * FROM d AT (VERSION => %d))", p.Frontier.SourceVersion)).Replace(q)
		shown := fmt.Sprintf("(SELECT * FROM %s AT (VERSION => %d))", name, p.Snapshot)
		l.same(shown, l.text(then))
	}
}

func (l *loading) drop(name string) {
	l.t.Helper()
	l.t.Logf("drop %s", name)
	for {
		v := *l.views[name]
		err := l.sink.Drop(l.ctx, []*catalog.View{&v})
		if quiet(err) {
			continue
		}
		l.must(err)
		break
	}
	delete(l.views, name)
	delete(l.texts, name)
	l.changed()
}

// quietly runs a statement that may meet others.
func (l *loading) quietly(sql string) {
	l.t.Helper()
	l.t.Log(sql)
	if err := l.try(sql); err != nil && !quiet(err) {
		l.t.Fatal(err)
	}
}

// change changes rows.
func (l *loading) change() {
	n := l.random.IntN(1000)
	all := []string{
		"INSERT INTO {t} ({k}, {g}, {v}, {s}) SELECT i, i % 100, i % 7, 'new' FROM range(200000, 200300) r(i)",
		"INSERT INTO {t} ({k}, {g}, {v}, {s}) SELECT i, NULL, NULL, NULL FROM range(#) r(i)",
		"INSERT INTO {t} ({k}, {g}, {v}, {s}) SELECT i % 500, 5, 6, 'many' FROM range(20000) r(i)",
		"DELETE FROM {t} WHERE {k} < #",
		"DELETE FROM {t} WHERE {k} % 50 = 0",
		"DELETE FROM {t} WHERE {g} = 5",
		"UPDATE {t} SET {v} = {v} + 1 WHERE {k} BETWEEN # AND 1100",
		"UPDATE {t} SET {v} = NULL WHERE {k} % 41 = 0",
		"UPDATE {t} SET {k} = {k} + 1 WHERE {g} = 7",
		"UPDATE {t} SET {s} = 'a label that is longer than twelve bytes ' || {k} % 10 WHERE {k} % 7 = 0",
		"DELETE FROM {d} WHERE g = #",
		"UPDATE {d} SET name = 'other' WHERE g % 7 = 0",
		"INSERT INTO {d} VALUES (#, NULL), (5, 'again'), (NULL, 'none')",
		"DELETE FROM {d}",
	}
	l.quietly(strings.ReplaceAll(l.text(all[l.random.IntN(len(all))]), "#", fmt.Sprint(n)))
}

// one draws a view; "" when there is none.
func (l *loading) one() string {
	var all []string
	for name := range l.views {
		all = append(all, name)
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return all[l.random.IntN(len(all))]
}

func (l *loading) again(columns string) {
	t := l.named["t"]
	if t != "t" || l.named["v"] != "v" {
		return // a table that is made again is known by the names that were seen last
	}
	l.moved = true
	switch l.random.IntN(3) {
	case 0:
		l.quietly("CREATE OR REPLACE TABLE " + t + " AS SELECT " + columns + " FROM " + t)
	case 1:
		l.quietly("CREATE TABLE meanwhile AS SELECT " + columns + " FROM " + t)
		l.quietly("DROP TABLE " + t)
		l.quietly("ALTER TABLE meanwhile RENAME TO " + t)
	default:
		l.quietly("CREATE TABLE meanwhile AS SELECT " + columns + " FROM " + t + " LIMIT 100")
		l.quietly("DROP TABLE " + t)
		l.quietly("CREATE TABLE " + t + " AS FROM meanwhile")
		l.quietly("DROP TABLE meanwhile")
	}
}

// happen lets something happen.
func (l *loading) happen() {
	control := func(what string, f func(c *store.Control, uuid string) error) {
		if name := l.one(); name != "" {
			l.t.Logf("%s %s", what, name)
			l.must(f(l.rows.Control(), l.views[name].UUID))
			l.changed()
		}
	}
	quick := func(sql string) {
		l.t.Log(sql)
		if err := l.raw(sql); err != nil && !strings.Contains(err.Error(), "onflict") && !strings.Contains(err.Error(), "could not serialize access") {
			l.t.Fatal(err)
		}
	}
	switch n := l.random.IntN(28); n {
	default:
		l.change()
	case 9:
		l.quietly(l.text("TRUNCATE {t}"))
	case 10:
		l.again("*")
	case 11:
		to := []string{"t", "u", `"T t"`}[l.random.IntN(3)]
		if to != l.named["t"] {
			l.moved = true
			l.quietly("ALTER TABLE " + l.named["t"] + " RENAME TO " + to)
			l.named["t"] = to
		}
	case 12:
		to := []string{"v", "w", `"V v"`}[l.random.IntN(3)]
		if to != l.named["v"] {
			l.moved = true
			l.quietly("ALTER TABLE " + l.named["t"] + " RENAME COLUMN " + l.named["v"] + " TO " + to)
			l.named["v"] = to
		}
	case 13:
		l.quietly(l.text("ALTER TABLE {t} ADD COLUMN passing INTEGER DEFAULT 7"))
		if l.random.IntN(2) == 0 {
			l.change()
		}
		l.quietly(l.text("ALTER TABLE {t} DROP COLUMN passing"))
	case 14:
		quick("CALL ducklake_flush_inlined_data('lake')")
	case 15:
		quick("CALL ducklake_merge_adjacent_files('lake')")
	case 16:
		l.t.Log("maintenance")
		l.moved = true // snapshots may be gone
		_, err := l.maintenance().RunOnce(l.ctx)
		if !quiet(err) {
			l.must(err)
		}
	case 17:
		l.t.Log("expire")
		l.moved = true
		l.expire()
	case 18:
		if name := l.one(); name != "" {
			l.t.Logf("pause %s", name)
			l.must(l.rows.Control().Pause(l.ctx, l.views[name].UUID, true))
			l.changed()
			for range l.random.IntN(3) {
				l.change()
			}
			l.t.Logf("resume %s", name)
			l.must(l.rows.Control().Pause(l.ctx, l.views[name].UUID, false))
			l.changed()
		}
	case 19:
		control("rebuild", func(c *store.Control, uuid string) error { return c.Rebuild(l.ctx, uuid, "") })
	case 20:
		control("restart", func(c *store.Control, uuid string) error { return c.Restart(l.ctx, uuid) })
	case 21:
		l.t.Log("the server stops")
		l.stop()
		if l.random.IntN(3) == 0 {
			l.t.Log("and has lost its state")
			l.back("")
		}
		for range l.random.IntN(3) {
			l.change()
		}
		l.start()
	case 22:
		if name := l.one(); name != "" {
			c := metadata.QuoteIdent(l.views[name].Table.Columns[0].Name)
			l.quietly([]string{"INSERT INTO " + name + " FROM " + name + " LIMIT 2", "DELETE FROM " + name, "UPDATE " + name + " SET " + c + " = NULL"}[l.random.IntN(3)])
		}
	case 23:
		l.t.Log("commits fail")
		l.fate.refused.fail(1+l.random.Int64N(3), commitTroubles[l.random.IntN(len(commitTroubles))])
	case 24:
		l.t.Log("answers are lost")
		l.fate.lost.fail(1+l.random.Int64N(3), errStopped)
	case 25, 26:
		if up := l.one(); up != "" {
			c := metadata.QuoteIdent(l.views[up].Table.Columns[0].Name)
			l.make([]string{"SELECT " + c + ", count(*) AS many FROM " + up + " GROUP BY 1 --{up}\n", "SELECT count(*) AS many FROM " + up + " --{up}\n", "SELECT u." + c + ", d.name FROM " + up + " u LEFT JOIN {d} d ON d.g = hash(u." + c + ") % 150 --{up}\n"}[l.random.IntN(3)])
		} else {
			l.make(loadingQueries[l.random.IntN(len(loadingQueries))])
		}
	case 27:
		if name := l.one(); name != "" && !slices.ContainsFunc(l.under(), func(q string) bool { return strings.Contains(q, name+" ") }) {
			l.drop(name)
		}
	}
}

func (l *loading) under() (all []string) {
	for _, q := range l.texts {
		all = append(all, q)
	}
	return all
}

func (l *loading) maintenance() *maintain.Maintainer {
	servers := &maintain.Servers{Store: l.lake.Store(), Lease: time.Hour}
	return maintain.New(maintain.Config{
		Store: l.lake.Store(), Lock: l.lake.CommitLock(), Lake: l.lake.Name(), Publisher: l.publisher, Servers: servers, Owner: l.owner,
		Acquire: l.acquire, PublicationRetention: 1, CleanupDelay: 1, OrphanAge: 1, Flushable: l.lake.Flushable,
		FlushRows: 1 + l.random.Int64N(30), MergeFiles: 2 + l.random.Int64N(3), UserRetention: time.Duration(l.random.IntN(2)),
	})
}

// TestWhatHappensWhileStateIsMade runs random histories.
func TestWhatHappensWhileStateIsMade(t *testing.T) {
	campaign(t, 4, 1, 5, func(t *testing.T, kind laketest.Kind, seeds iter.Seq[uint64]) {
		l := newLoading(t, kind)
		for seed := range seeds {
			l.round(seed)
		}
	})
}
