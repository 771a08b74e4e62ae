package stream_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// holding is a source whose rows do not come while it is held.
type holding struct {
	summing
	held atomic.Pointer[chan struct{}]
}

func (h *holding) on(l *lab) {
	l.configure = append(l.configure, func(c *stream.Config) {
		h.Source = c.Source
		c.Source = h
	})
}

// hold keeps rows back until it is let go.
func (h *holding) hold() (letGo func()) {
	gate := make(chan struct{})
	h.held.Store(&gate)
	return func() {
		h.held.Store(nil)
		close(gate)
	}
}

func (h *holding) wait(ctx context.Context) error {
	gate := h.held.Load()
	if gate == nil {
		return nil
	}
	select {
	case <-*gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *holding) Content(ctx context.Context, r stream.Reading, at int64, take func(*zset.Batch) error) error {
	if err := h.wait(ctx); err != nil {
		return err
	}
	return h.Source.Content(ctx, r, at, take)
}

func (h *holding) Summary(ctx context.Context, r stream.Reading, at int64, q stream.Summing, take func(*zset.Batch) error) error {
	if err := h.wait(ctx); err != nil {
		return err
	}
	return h.summing.Summary(ctx, r, at, q, take)
}

// telling is a planner whose views' first contents come from other queries than theirs.
type telling struct {
	stream.Planner
	instead map[string]string
}

func (p *telling) Text(ctx context.Context, v *catalog.View, tables map[string]catalog.Table, at int64) (string, error) {
	if q, ok := p.instead[v.Row.Name.Name]; ok {
		return q, nil
	}
	return p.Planner.(stream.Querier).Text(ctx, v, tables, at)
}

var filledViews = map[string]string{
	"grouped": "SELECT g, count(*) AS n, sum(v) AS s, min(v) AS low, max(label) AS most FROM t GROUP BY g",
	"pairs":   "SELECT t.k, t.v, d.name FROM t JOIN d ON t.g = d.g",
	"padded":  "SELECT t.k, d.name FROM t LEFT JOIN d ON t.v = d.g WHERE t.k < 3000",
	"kinds":   "SELECT DISTINCT g, label FROM t",
	"counted": "SELECT label, count(DISTINCT v) AS n FROM t GROUP BY label",
	"best":    "SELECT g, k, v FROM t QUALIFY row_number() OVER (PARTITION BY g ORDER BY v DESC NULLS LAST, k) <= 3",
	"without": "SELECT g, name FROM d WHERE g NOT IN (SELECT v FROM t WHERE v IS NOT NULL)",
	"whole":   "SELECT count(*) AS n, sum(v) AS s FROM t WHERE label <> 'label 1'",
	"upper":   "SELECT k, upper(label) AS label FROM t WHERE v = 7",
}

func (l *lab) filledTables() {
	l.t.Helper()
	l.exec(`CREATE TABLE t AS SELECT i AS k, i % 97 AS g, (i * 7919) % 101 AS v, 'label ' || i % 3 AS label FROM range(140000) r(i)`,
		`CREATE TABLE d AS SELECT i AS g, 'name ' || i AS name FROM range(150) r(i)`,
		`DELETE FROM t WHERE k % 50 = 0`, `UPDATE t SET v = NULL WHERE k % 41 = 0`)
}

// What a large view shows first is DuckDB's answer; it can be read while the state is made, and what has come meanwhile is taken in then.
func TestAFirstContentIsReadBeforeTheState(t *testing.T) {
	for _, kind := range []laketest.Kind{laketest.DuckDB, laketest.PostgreSQL} {
		t.Run(kind.String(), func(t *testing.T) {
			s, h := &stagings{}, &holding{}
			l := newLab(t, kind, s.on, h.on, func(l *lab) {
				l.configure = append(l.configure, func(c *stream.Config) { c.Builders = len(filledViews) + 1 })
			})
			l.filledTables()
			views := filledViews
			if kind == laketest.PostgreSQL { // what differs is the commit
				views = map[string]string{"grouped": views["grouped"], "best": views["best"]}
			}
			letGo := h.hold()
			for name, query := range views {
				l.view(name, query)
			}
			for name := range views {
				l.await(name, stream.Recovering)
			}
			for name, query := range views {
				l.same(name, query)
			}
			if n := s.n.Load(); n != int64(len(views)) {
				t.Errorf("%d of %d contents were made by a query", n, len(views))
			}
			l.exec(`INSERT INTO t SELECT i, i % 100, i % 7, 'new' FROM range(200000, 200300) r(i)`, `DELETE FROM t WHERE k < 900`,
				`UPDATE t SET v = v + 1 WHERE k BETWEEN 1000 AND 1100`, `DELETE FROM d WHERE g = 5`, `UPDATE d SET name = 'other' WHERE g = 7`)
			letGo()
			l.check()

			// Who ends before its state is there begins with the sources again, and publishes the difference.
			letGo = h.hold()
			l.view("late", "SELECT g, min(v) AS low, count(*) AS n FROM t GROUP BY g")
			l.await("late", stream.Recovering)
			l.exec(`DELETE FROM t WHERE k % 3 = 0`)
			go letGo()
			l.stop()
			l.start()
			l.check()
			if n := l.left(); n != 0 {
				t.Errorf("%d folders are left of what was staged", n)
			}
			for _, sql := range []string{`DELETE FROM d WHERE g % 2 = 0`, `UPDATE t SET g = g + 1 WHERE k % 7 = 0`, `DELETE FROM t`} {
				l.exec(sql)
				l.check()
			}
		})
	}
}

// Whatever a first content has, it is what the operators say when they are there.
func TestAFirstContentThatIsWrongIsPutRight(t *testing.T) {
	l := newLab(t, laketest.DuckDB, func(l *lab) {
		l.configure = append(l.configure, func(c *stream.Config) {
			c.Planner = &telling{c.Planner, map[string]string{
				"fewer": "SELECT g, 1, 0 FROM range(40) r(g)",
				"more":  "SELECT k, v FROM lake.main.t UNION ALL SELECT k, v FROM lake.main.t WHERE k % 5 = 0 UNION ALL SELECT -1, i FROM range(70000) r(i)",
				"none":  "SELECT k, v FROM lake.main.t WHERE false",
			}}
		})
	})
	l.filledTables()
	l.view("fewer", "SELECT g, count(*) AS n, sum(v) AS s FROM t GROUP BY g")
	l.view("more", "SELECT k, max(v) AS v FROM t GROUP BY k")
	l.view("none", "SELECT k, max(v) AS v FROM t GROUP BY k")
	l.check()
	l.exec(`DELETE FROM t WHERE k % 3 = 0`, `INSERT INTO t VALUES (-1, 1, 1, 'x')`)
	l.check()
}

// Where DuckDB has several answers, or the sources are small, the operators make the first content.
func TestAFirstContentOfTheOperators(t *testing.T) {
	s := &stagings{}
	l := newLab(t, laketest.DuckDB, s.on)
	l.filledTables()
	l.exec(`CREATE VIEW plain AS SELECT g, v FROM d JOIN (SELECT 1 AS v) ON true`)
	l.view("floats", "SELECT g, sum(v::DOUBLE / 3) > 0 AS s FROM t GROUP BY g")
	l.view("little", "SELECT g, count(*) AS n FROM plain GROUP BY g")
	l.check()
	if n := s.n.Load(); n != 0 {
		t.Errorf("%d contents were made by a query", n)
	}
}
