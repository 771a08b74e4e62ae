package stream_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// overtaken lets something happen between a source's word that a query may read it and the query.
type overtaken struct {
	stream.Source
	do atomic.Pointer[func()]
}

func (s *overtaken) happen() {
	if do := s.do.Swap(nil); do != nil {
		(*do)()
	}
}

func (s *overtaken) Relation(ctx context.Context, r stream.Reading, at int64) (string, error) {
	text, err := s.Source.(stream.Summariser).Relation(ctx, r, at)
	s.happen()
	return text, err
}

func (s *overtaken) Summary(ctx context.Context, r stream.Reading, at int64, q stream.Summing, take func(*zset.Batch) error) error {
	of := q.Of
	q.Of = func(relation string) string {
		s.happen()
		return of(relation)
	}
	return s.Source.(stream.Summariser).Summary(ctx, r, at, q, take)
}

func (s *overtaken) Size(ctx context.Context, r stream.Reading) int64 {
	return s.Source.(stream.Summariser).Size(ctx, r)
}

// A transaction that began before a view's content is retried, and commits before DuckDB reads that: the rows that it deletes seem to have
// been deleted before. They count, until the feed comes to their deletion.
func TestAContentIsOvertakenByARetriedDelete(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		for name, query := range map[string]string{"staged": "SELECT k, v + 1 AS v FROM t WHERE v >= 0", "summed": "SELECT v % 5 AS g, count(*) AS n, sum(v) AS s FROM t GROUP BY 1"} {
			t.Run(name, func(t *testing.T) {
				s := &overtaken{}
				l := newLab(t, kind, func(l *lab) {
					l.configure = append(l.configure, func(c *stream.Config) { s.Source, c.Source = c.Source, s })
				})
				l.exec("CREATE TABLE o (id BIGINT)", "CREATE TABLE t AS SELECT i AS k, i % 100 AS v FROM range(140000) r(i)")
				late, release, err := l.acquire(l.ctx)
				l.must(err)
				defer release()
				raw := func(sql string) {
					if _, err := late.Exec(l.ctx, sql); err != nil {
						t.Error(err)
					}
				}
				raw("CALL lake.set_option('data_inlining_row_limit', 0, table_name => 't')") // deletes are files
				l.exec("DELETE FROM t WHERE k % 50 = 0")
				raw("BEGIN")
				raw("DELETE FROM lake.main.t WHERE k < 100")
				l.exec("INSERT INTO o VALUES (1)")
				done := make(chan struct{})
				commit := func() { raw("COMMIT"); close(done) }
				s.do.Store(&commit)
				l.view("a", query)
				<-done
				l.check()
				l.exec("DELETE FROM t WHERE k < 200", "INSERT INTO t VALUES (-1, 7)")
				l.check()
			})
		}
	})
}
