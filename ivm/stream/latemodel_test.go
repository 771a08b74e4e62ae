package stream_test

import (
	"cmp"
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
	"github.com/vegadb/vega-flight/ivm/stream"
)

// timedRow is a row of a source: an event time in minutes, or without one.
type timedRow struct {
	id, x int64
	at    int64
	timed bool
}

// timedSource is what counts of a source with a watermark, by definition.
type timedSource struct {
	name   string
	delay  int64
	rows   map[timedRow]int64 // as the source has them
	counts map[timedRow]int64 // less what was late
	newest int64
	known  bool
	late   int64
}

// begin is a new generation: all that the source has counts.
func (s *timedSource) begin() {
	s.counts, s.newest, s.known = map[timedRow]int64{}, 0, false
	for r, n := range s.rows {
		s.counts[r] = n
		s.saw(r)
	}
}

func (s *timedSource) saw(r timedRow) {
	if r.timed && (!s.known || r.at > s.newest) {
		s.newest, s.known = r.at, true
	}
}

// commit takes what the source has after one.
func (s *timedSource) commit(now map[timedRow]int64) {
	change := map[timedRow]int64{}
	for r, n := range now {
		change[r] += n
	}
	for r, n := range s.rows {
		change[r] -= n
	}
	behind, known := s.newest-s.delay, s.known
	for r, n := range change {
		if n == 0 {
			continue
		}
		if n > 0 {
			s.saw(r)
		}
		if known && r.timed && r.at < behind {
			s.late++
			continue
		}
		s.counts[r] += n
	}
	s.rows = now
}

// relation is what counts, as SQL.
func (s *timedSource) relation(typ string) string {
	var rows []string
	for r, n := range s.counts {
		at := "NULL"
		if r.timed {
			at = fmt.Sprint(r.at)
		}
		for range n {
			rows = append(rows, fmt.Sprintf("(%d, %s, %d)", r.id, at, r.x))
		}
	}
	where := ""
	if len(rows) == 0 {
		rows, where = []string{"(0, 0, 0)"}, " WHERE false"
	}
	return fmt.Sprintf("(SELECT id::BIGINT AS id, m::BIGINT AS m, x::BIGINT AS x, %s AS ts FROM (VALUES %s) AS q(id, m, x)%s)", timeOf(typ, "m"), strings.Join(rows, ", "), where)
}

// timeOf is the time of so many minutes; of a date, days.
func timeOf(typ, m string) string {
	if typ == "DATE" {
		return "(DATE '2024-01-01' + (" + m + ")::INTEGER)"
	}
	return "(TIMESTAMP '2024-01-01' + INTERVAL 1 MINUTE * (" + m + "))::" + typ
}

// What counts of a source is a function of its commits alone, whatever happens to the views in between.
var timedQueries = []string{
	"SELECT id, ts, x FROM {e}",
	"SELECT time_bucket(INTERVAL '5 minutes', ts) AS b, count(*) AS n, max(x) AS most, sum(x) AS s FROM {e} GROUP BY b",
	"SELECT ts, x, count(*) AS n FROM {e} GROUP BY ts, x",
	"SELECT DISTINCT ts, x % 3 AS y FROM {e}",
	"SELECT a.id, a.ts, b.x FROM {e} a JOIN {e} b ON a.id = b.id",
	"SELECT a.id, b.id AS j, a.ts FROM {e} a JOIN {f} b ON a.ts = b.ts",
	"SELECT a.id, b.id AS j, a.ts FROM {e} a JOIN {f} b ON a.ts = b.ts AND a.x <> b.x",
	"SELECT a.id, b.id AS j, b.ts FROM {e} a LEFT JOIN {f} b ON a.ts = b.ts",
	"SELECT a.id, b.id AS j, b.x FROM {e} a FULL JOIN {f} b ON a.ts = b.ts AND a.id % 2 = b.id % 2",
	"SELECT a.id, b.id AS j FROM {e} a JOIN {f} b ON b.ts BETWEEN a.ts AND a.ts + INTERVAL 5 MINUTE",
	"SELECT a.id, b.id AS j FROM {e} a LEFT JOIN {f} b ON b.ts >= a.ts - INTERVAL 3 MINUTE AND b.ts <= a.ts + INTERVAL 2 MINUTE",
	"SELECT time_bucket(INTERVAL '5 minutes', a.ts) AS b, count(*) AS n FROM {e} a JOIN {f} b ON time_bucket(INTERVAL '5 minutes', a.ts) = time_bucket(INTERVAL '5 minutes', b.ts) GROUP BY 1",
	"SELECT id FROM {e} WHERE EXISTS (SELECT 1 FROM {f} f WHERE f.ts = ts)",
	"SELECT e.id FROM {e} e WHERE e.ts IN (SELECT ts FROM {f})",
	"SELECT e.id FROM {e} e WHERE NOT EXISTS (SELECT 1 FROM {f} f WHERE f.ts = e.ts)",
	"SELECT id, ts FROM {e} UNION ALL SELECT id, ts FROM {f}",
	"SELECT ts, id FROM {e} QUALIFY row_number() OVER (PARTITION BY ts ORDER BY id, x) = 1",
	"SELECT id, ts, sum(x) OVER (PARTITION BY ts ORDER BY id, x) AS r FROM {e}",
	"SELECT id, ts FROM {e} ORDER BY ts DESC NULLS LAST, id, x LIMIT 4",
	"SELECT n.ts, n.n, f.id FROM (SELECT ts, count(*) AS n FROM {e} GROUP BY ts) n JOIN {f} f ON f.ts = n.ts",
	"SELECT a.ts, count(*) AS n FROM {e} a JOIN {f} b ON a.ts = b.ts GROUP BY a.ts",
	"SELECT a.id, b.id AS j, c.id AS k FROM {e} a JOIN {f} b ON a.ts = b.ts JOIN {e} c ON c.ts = b.ts",
}

// TestWhatIsLateIsAFunctionOfTheCommits runs random histories.
func TestWhatIsLateIsAFunctionOfTheCommits(t *testing.T) {
	campaign(t, 4, 1, 1, func(t *testing.T, kind laketest.Kind, seeds iter.Seq[uint64]) {
		for seed := range seeds {
			timedRound(t, kind, seed)
		}
	})
}

// timed is a lake whose views have watermarks, with what counts beside it.
type timed struct {
	*lab
	fate   *fate
	random *rand.Rand
	typ    string
	of     []*timedSource
	texts  map[string]string
	id     int64
	now    int64
}

func timedRound(t *testing.T, kind laketest.Kind, seed uint64) {
	l := &timed{fate: newFate(), random: rand.New(rand.NewPCG(seed, 0x1a7e)), texts: map[string]string{}}
	r := l.random
	budget := []int64{0, 0, 16 << 10}[r.IntN(3)]
	l.lab = newLab(t, kind, func(x *lab) {
		x.publisher.Faults.AfterCommit, x.publisher.Faults.BeforeCommit = l.fate.lost.next, l.fate.refused.next
		x.configure = append(x.configure, func(c *stream.Config) { c.MemoryBudget, c.Builders, c.RefileEvery = budget, 4, 3 })
	})
	l.publisher.InlineRows = []int{1, 8, 5000}[r.IntN(3)]
	l.must(l.raw(fmt.Sprintf("CALL lake.set_option('data_inlining_row_limit', %d)", []int{1000, 0, 5}[r.IntN(3)])))
	l.typ = []string{"TIMESTAMP", "TIMESTAMPTZ", "DATE"}[r.IntN(3)]
	l.of = []*timedSource{{name: "e", delay: r.Int64N(8)}, {name: "f", delay: r.Int64N(8)}}
	for _, s := range l.of {
		s.rows = map[timedRow]int64{}
		l.exec("CREATE TABLE " + s.name + " (id BIGINT, m BIGINT, x BIGINT, ts " + l.typ + ")")
	}
	for range r.IntN(4) {
		l.commit()
	}
	t.Logf("%s, delays %d and %d", l.typ, l.of[0].delay, l.of[1].delay)
	for n := range 4 {
		q := timedQueries[r.IntN(len(timedQueries))]
		l.options = ddl.Options{l.marks(q), {Name: "source_batch_rows", Value: ddl.Value{Kind: ddl.Int, Int: 1 + r.Int64N(20)}}}
		if n := r.Int64N(4); n > 0 {
			l.options = append(l.options, ddl.Option{Name: "parallelism", Value: ddl.Value{Kind: ddl.Int, Int: n}})
		}
		if r.IntN(2) == 0 {
			l.options = append(l.options, ddl.Option{Name: "checkpoint_interval", Value: ddl.Value{Kind: ddl.Duration, Duration: 100 * time.Millisecond}})
		}
		text := strings.NewReplacer("{e}", "e", "{f}", "f").Replace(q)
		if l.typ == "DATE" {
			text = strings.ReplaceAll(text, "MINUTE", "DAY")
			q = strings.ReplaceAll(q, "MINUTE", "DAY")
			text, q = strings.ReplaceAll(text, "minutes", "days"), strings.ReplaceAll(q, "minutes", "days")
		}
		if why := l.refused(text); why != "" {
			t.Logf("%s: %s", text, why)
			continue
		}
		name := fmt.Sprintf("v%d", n)
		t.Logf("%s: %s", name, text)
		l.view(name, text)
		l.texts[name] = q
	}
	for _, s := range l.of {
		s.begin()
	}
	l.check()
	kept := ""
	for range 12 {
		l.happen(&kept)
		l.check()
		if t.Failed() {
			return
		}
	}
}

// marks is the option that a view with a query has.
func (l *timed) marks(q string) ddl.Option {
	unit := "minutes"
	if l.typ == "DATE" {
		unit = "days"
	}
	text := fmt.Sprintf("e.ts: %d %s", l.of[0].delay, unit)
	if strings.Contains(q, "{f}") {
		text += fmt.Sprintf(", f.ts: %d %s", l.of[1].delay, unit)
	}
	return ddl.Option{Name: "watermark_column", Value: ddl.Value{Kind: ddl.Text, Text: text}}
}

// set changes a view's options.
func (l *lab) set(name string, o ...ddl.Option) {
	l.t.Helper()
	for {
		var row catalog.Row
		l.must(l.lake.Store().View(l.ctx, func(tx metadata.Tx) (err error) {
			row, _, err = l.rows.RowByUUID(l.ctx, tx, l.views[name].UUID)
			return err
		}))
		def, err := catalog.Decode(row.Definition)
		l.must(err)
		def.Options, err = def.Options.Set(o)
		l.must(err)
		ok, err := l.rows.Views().Update(l.ctx, row.WithDefinition(def))
		l.must(err)
		if ok {
			l.changed()
			return
		}
	}
}

// check compares the views with their queries over what counts.
func (l *timed) check() {
	l.t.Helper()
	l.settle()
	for name, q := range l.texts {
		l.same(name, strings.NewReplacer("{e}", l.of[0].relation(l.typ), "{f}", l.of[1].relation(l.typ)).Replace(q))
	}
}

// commit changes a source, in one commit.
func (l *timed) commit() {
	r := l.random
	s := l.of[r.IntN(2)]
	l.now += r.Int64N(4)
	insert := func() string {
		var rows []string
		for range 1 + r.IntN(5) {
			at := fmt.Sprint(l.now - r.Int64N(12))
			if r.IntN(10) == 0 {
				at = "NULL::BIGINT"
			}
			l.id += r.Int64N(2)
			rows = append(rows, fmt.Sprintf("(%d, %s, %d)", l.id, at, r.Int64N(3)))
		}
		return "INSERT INTO " + s.name + " SELECT id, m, x, " + timeOf(l.typ, "m") + " FROM (VALUES " + strings.Join(rows, ", ") + ") q(id, m, x)"
	}
	var sql []string
	for range 1 + r.IntN(2) {
		switch n := r.Int64N(10); n {
		default:
			sql = append(sql, insert())
		case 5:
			sql = append(sql, fmt.Sprintf("DELETE FROM %s WHERE m < %d AND id %% 2 = %d", s.name, l.now-r.Int64N(16), r.IntN(2)))
		case 6:
			sql = append(sql, fmt.Sprintf("DELETE FROM %s WHERE id %% 4 = %d", s.name, r.IntN(4)))
		case 7:
			sql = append(sql, fmt.Sprintf("UPDATE %s SET x = x + 1 WHERE id %% 3 = %d", s.name, r.IntN(3)))
		case 8:
			by := r.Int64N(15) - 8
			sql = append(sql, fmt.Sprintf("UPDATE %s SET m = m + %d, ts = %s WHERE id %% 3 = %d", s.name, by, timeOf(l.typ, fmt.Sprintf("m + %d", by)), r.IntN(3)))
		case 9:
			sql = append(sql, fmt.Sprintf("UPDATE %s SET m = NULL, ts = NULL WHERE id %% 5 = %d", s.name, r.IntN(5)))
		}
	}
	for _, q := range sql {
		l.t.Log(q)
	}
	if len(sql) == 1 {
		l.exec(sql[0])
	} else {
		id, err := l.session.Begin(l.ctx)
		l.must(err)
		l.exec(sql...)
		l.must(l.session.Commit(l.ctx, id))
	}
	now := map[timedRow]int64{}
	for _, row := range l.rowsOf("SELECT id, m, x, count(*) FROM " + s.name + " GROUP BY ALL") {
		at, timed := row[1].(int64)
		now[timedRow{row[0].(int64), row[2].(int64), at, timed}] += row[3].(int64)
	}
	if s.counts == nil {
		s.rows = now
		return
	}
	s.commit(now)
}

// happen lets something happen.
func (l *timed) happen(kept *string) {
	r := l.random
	some := func() {
		for range r.IntN(3) {
			l.commit()
		}
	}
	var names []string
	for name := range l.views {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare)
	one := func() string { return names[r.IntN(len(names))] }
	if len(names) == 0 {
		return
	}
	quick := func(sql string) {
		l.t.Log(sql)
		if err := l.raw(sql); err != nil && !strings.Contains(err.Error(), "onflict") && !strings.Contains(err.Error(), "could not serialize access") {
			l.t.Fatal(err)
		}
	}
	switch r.IntN(24) {
	default:
		l.commit()
		some()
	case 8:
		l.t.Log("restart")
		l.stop()
		some()
		l.start()
	case 9, 10:
		l.t.Log("the state is lost")
		l.stop()
		some()
		l.back("")
		some()
		l.start()
	case 11:
		l.t.Log("an older checkpoint")
		l.stop()
		if *kept != "" {
			l.back(*kept)
		} else {
			*kept = l.keep()
		}
		some()
		l.start()
	case 12:
		name := one()
		l.t.Logf("pause %s", name)
		l.paused(name, some)
	case 13:
		quick("CALL ducklake_flush_inlined_data('lake')")
	case 14:
		quick("CALL ducklake_merge_adjacent_files('lake')")
	case 15:
		l.t.Log("rebuild all")
		for _, name := range names {
			l.rebuilt(name, "")
		}
		for _, s := range l.of {
			s.begin()
		}
	case 16:
		name := one()
		l.t.Logf("restart %s", name)
		l.restart(name)
		some()
	case 17:
		l.t.Log("commits fail")
		l.fate.refused.fail(1+r.Int64N(3), commitTroubles[r.IntN(len(commitTroubles))])
		some()
	case 18:
		l.t.Log("answers are lost")
		l.fate.lost.fail(1+r.Int64N(3), errStopped)
		some()
	case 19:
		name := one()
		l.t.Logf("somebody writes into %s", name)
		l.must(l.try([]string{"INSERT INTO " + name + " FROM " + name + " LIMIT 2", "DELETE FROM " + name}[r.IntN(2)]))
		some()
	case 20:
		l.t.Log("maintenance")
		servers := &maintain.Servers{Store: l.lake.Store(), Lease: time.Hour}
		_, err := maintain.New(maintain.Config{
			Store: l.lake.Store(), Lock: l.lake.CommitLock(), Lake: l.lake.Name(), Publisher: l.publisher, Servers: servers, Owner: l.owner,
			Acquire: l.acquire, PublicationRetention: 1, CleanupDelay: 1, OrphanAge: 1, Flushable: l.lake.Flushable,
			FlushRows: 1 + r.Int64N(30), MergeFiles: 2 + r.Int64N(3),
		}).RunOnce(l.ctx)
		if !quiet(err) {
			l.must(err)
		}
	case 21, 22:
		before := map[string]ddl.Option{}
		for _, name := range names {
			before[name] = l.marks(l.texts[name])
		}
		for _, s := range l.of {
			s.delay = r.Int64N(8)
		}
		l.t.Logf("other delays: %d and %d", l.of[0].delay, l.of[1].delay)
		for _, name := range names {
			if l.marks(l.texts[name]).Value.Text == before[name].Value.Text {
				continue // it goes on as it was
			}
			l.anew(name, func() { l.set(name, l.marks(l.texts[name])) })
		}
	case 23:
		s := l.of[r.IntN(2)]
		l.t.Logf("rename %s", s.name)
		l.exec("ALTER TABLE "+s.name+" RENAME TO other", "ALTER TABLE other RENAME TO "+s.name)
		some()
	}
}
