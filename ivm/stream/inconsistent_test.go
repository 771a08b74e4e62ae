package stream_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// lying is a source that takes back each deleted row twice, while it lies.
type lying struct {
	stream.Source
	lies atomic.Bool
}

func (s *lying) on(l *lab) {
	l.configure = append(l.configure, func(c *stream.Config) { s.Source, c.Source = c.Source, s })
}

func (s *lying) Changes(ctx context.Context, r stream.Reading, from, to int64, take func(*zset.Batch) error) error {
	return s.Source.Changes(ctx, r, from, to, func(b *zset.Batch) error {
		if !s.lies.Load() || r.Name.Name != "o" {
			return take(b)
		}
		twice := zset.New(b.Layout)
		for i, w := range b.Weights {
			if w < 0 {
				w *= 2
			}
			twice.Append(b.Row(i), b.Heap, w)
		}
		return take(twice)
	})
}

// A source that takes back more rows than it gave fails the view, with the row; nothing is ever there less than no times.
func TestMoreRetractionsThanRows(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		s := &lying{}
		l := newLab(t, kind, s.on)
		l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o SELECT i, i % 3 FROM range(9) r(i)")
		own := map[string]string{} // of each view the row, as it is named: its own fields and nothing else
		for name, of := range map[string][2]string{
			"groups": {"SELECT v, count(*) AS n, sum(id) AS s, max(id) AS m FROM o GROUP BY v", "(2 | 8)"},
			"sorted": {"SELECT v, list(id ORDER BY id DESC) AS l FROM o GROUP BY v", "(2 | 8)"},
			"pairs":  {"SELECT a.id, b.id AS other FROM o a JOIN o b USING (v)", "(8 | 2)"},
			"padded": {"SELECT a.id, b.id AS other FROM o a LEFT JOIN o b ON a.id + 1 = b.id", "(8"},
			"kinds":  {"SELECT DISTINCT id, v FROM o", "(8 | 2)"},
			"firsts": {"SELECT DISTINCT ON (v) id, v FROM o ORDER BY v, id DESC", "(8 | 2)"},
			"top":    {"SELECT id, v FROM o ORDER BY id DESC LIMIT 3", "(8 | 2)"},
			"ranked": {"SELECT id, v, row_number() OVER (PARTITION BY v ORDER BY id DESC) AS n FROM o", "(8 | 2)"},
			"shares": {"SELECT id, v, sum(id) OVER (PARTITION BY v ORDER BY id DESC) AS s FROM o", "(8 | 2)"},
			"common": {"SELECT id, v FROM o INTERSECT ALL SELECT id, v FROM o", "(8 | 2)"},
		} {
			own[name] = of[1]
			l.view(name, of[0])
		}
		l.check()
		had := map[string][][]any{}
		remembering := slices.Collect(maps.Keys(l.views))
		l.view("rows", "SELECT id, v + 1 AS w FROM o") // has no state: its table knows that the row is not there
		l.check()
		for _, name := range remembering {
			had[name] = l.rowsOf("SELECT * FROM " + name + " ORDER BY ALL")
		}
		s.lies.Store(true)
		l.exec("DELETE FROM o WHERE id = 8")
		for _, name := range remembering {
			st := l.await(name, stream.Failed)
			if st.Reason.Code != fault.SourceInconsistent.Name() || !strings.Contains(st.Reason.Message, "the row "+own[name]) || !strings.Contains(st.Reason.Hint, "REBUILD") {
				t.Errorf("%s: the reason is %+v", name, st.Reason)
			}
			if has := l.rowsOf("SELECT * FROM " + name + " ORDER BY ALL"); !equalRows(had[name], has) {
				t.Errorf("%s had %v and has %v", name, had[name], has)
			}
		}
		s.lies.Store(false)
		l.exec("INSERT INTO o VALUES (20, 0)")
		for _, name := range remembering {
			l.control(name, func(c *store.Control, uuid string) error { return c.Rebuild(l.ctx, uuid, "") })
		}
		l.check()
	})
}
