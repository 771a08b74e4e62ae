package ivm_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/job"
	"github.com/vegadb/vega-flight/ivm/refresh"
	sink "github.com/vegadb/vega-flight/ivm/sink/lake"
)

// Refreshes that are ready while the commit lock is held by another share the next commit; the one among them that was cancelled is left
// out, and it alone.
func TestReadyViewsShareACommit(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		const views = 4
		joined := make(chan struct{}, 100)
		s := start(t, laketest.NewPlace(t, k), options{faults: sink.Faults{Joined: func() { joined <- struct{}{} }}})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t SELECT i % 10, i FROM range(1000) r(i)`)
		query := func(i int) string {
			return fmt.Sprintf(`SELECT k, sum(v)::DECIMAL(38,0) AS total FROM lake.main.t WHERE k <> %d GROUP BY k`, i)
		}
		for i := range views {
			s.run(fmt.Sprintf(`CREATE MATERIALIZED VIEW v%d AS %s`, i, query(i)))
			<-joined
		}
		s.exec(`INSERT INTO t SELECT i % 10, i FROM range(1000) r(i)`)

		unlock, err := s.lake.CommitLock().Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var jobs []job.Job
		for i := range views { // the first has begun its commit before the others come, or takes them along
			jobs = append(jobs, s.submit(fmt.Sprintf(`REFRESH MATERIALIZED VIEW v%d`, i)))
			<-joined
		}
		cancelled := jobs[views-1]
		if _, err := s.engine.Cancel(context.Background(), s.caller, cancelled.ID); err != nil {
			t.Fatal(err)
		}
		unlock()

		snapshots := map[int64]int{}
		for i, j := range jobs {
			end := s.done(j.ID)
			if j.ID == cancelled.ID {
				if end.State != job.Cancelled {
					t.Errorf("the cancelled one is %s", end.State)
				}
				continue
			}
			if end.State != job.Succeeded {
				t.Fatalf("%+v", end)
			}
			r, err := refresh.DecodeResult(end.Result)
			if err != nil {
				t.Fatal(err)
			}
			snapshots[r.Version]++
			s.matches(fmt.Sprintf("lake.main.v%d", i), query(i))
		}
		if len(snapshots) > 2 { // the first one's, and that of the others
			t.Errorf("commits with their publications: %v", snapshots)
		}
		s.run(fmt.Sprintf(`REFRESH MATERIALIZED VIEW v%d`, views-1))
		s.matches(fmt.Sprintf("lake.main.v%d", views-1), query(views-1))
		s.clean()
	})
}
