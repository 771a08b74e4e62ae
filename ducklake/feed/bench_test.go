package feed_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/feed"
	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// BenchmarkCommit reads the feed of one small commit after the other, on lakes of many files that have a delete file each. The figures are
// medians, of the plan and of the rows.
func BenchmarkCommit(b *testing.B) {
	for _, kind := range laketest.Kinds {
		for _, files := range []int{20, 200, 2000} {
			b.Run(fmt.Sprintf("%s/%d", kind, files), func(b *testing.B) {
				l := newLab(b, kind)
				l.do("CREATE TABLE lake.main.t (k BIGINT, s VARCHAR, d DECIMAL(18,2), n BIGINT)")
				l.do("CALL lake.set_option('data_inlining_row_limit', 0, table_name => 't')")
				l.do("BEGIN")
				for i := range files {
					l.do(fmt.Sprintf("INSERT INTO lake.main.t SELECT i, 'v' || i, i, i FROM range(%d, %d) r(i)", 20*i, 20*i+20))
				}
				l.do("COMMIT")
				l.do("DELETE FROM lake.main.t WHERE k % 20 = 0")
				r := l.open(l.table("t"))
				next := 0
				rows := func(n int) string {
					next += n
					return fmt.Sprintf("SELECT i, 'v' || i, i, i FROM range(%d, %d) r(i)", 1000000+next, 1000000+next+n)
				}
				victim := func() int { next++; return 20*(next%files) + 1 + next%19 }
				for _, c := range []struct {
					name  string
					limit int
					sql   func() string
				}{
					{"insert 1 inlined", 1000, func() string { return "INSERT INTO lake.main.t " + rows(1) }},
					{"insert 100 inlined", 1000, func() string { return "INSERT INTO lake.main.t " + rows(100) }},
					{"delete 1 inlined", 1000, func() string { return fmt.Sprintf("DELETE FROM lake.main.t WHERE k = %d", victim()) }},
					{"update 1 inlined", 1000, func() string { return fmt.Sprintf("UPDATE lake.main.t SET n = n + 1 WHERE k = %d", victim()) }},
					{"insert 100 file", 0, func() string { return "INSERT INTO lake.main.t " + rows(100) }},
					{"delete 1 file", 0, func() string { return fmt.Sprintf("DELETE FROM lake.main.t WHERE k = %d", victim()) }},
				} {
					b.Run(c.name, func(b *testing.B) {
						l.do(fmt.Sprintf("CALL lake.set_option('data_inlining_row_limit', %d, table_name => 't')", c.limit))
						var plans, reads []time.Duration
						for range b.N {
							b.StopTimer()
							from := l.head()
							l.do(c.sql())
							to := l.head()
							b.StartTimer()
							begin := time.Now()
							if _, err := l.feed.Plan(ctx, from, to, r); err != nil {
								b.Fatal(err)
							}
							plans = append(plans, time.Since(begin))
							begin = time.Now()
							if err := readAll(r, from, to); err != nil {
								b.Fatal(err)
							}
							reads = append(reads, time.Since(begin))
						}
						b.ReportMetric(0, "ns/op")
						b.ReportMetric(median(plans), "ms-plan")
						b.ReportMetric(median(reads), "ms-read")
					})
				}
			})
		}
	}
}

func readAll(r *feed.Reader, from, to int64) error {
	s, err := r.Read(ctx, from, to)
	if err != nil {
		return err
	}
	for s.Next() {
	}
	if err := s.Err(); err != nil {
		return err
	}
	return s.Close()
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2]) / float64(time.Millisecond)
}
