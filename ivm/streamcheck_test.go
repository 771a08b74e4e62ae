package ivm_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// Views are checked while a writer commits and they run: what is right then is found right, and what is wrong is found.
func TestCheckBesideAWriter(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{stream: true})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`, `INSERT INTO t SELECT i % 10, i FROM range(1000) r(i)`)
		s.run(`CREATE STREAMING MATERIALIZED VIEW v WITH (wait_for_ready = true) AS ` + totals)
		s.run(`CREATE STREAMING MATERIALIZED VIEW d WITH (wait_for_ready = true) AS SELECT count(*) AS n, sum(total) AS grand FROM lake.main.v`)
		ctx := context.WithoutCancel(t.Context())
		session, err := s.lake.NewSession(ctx, ducklake.SessionConfig{Principal: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		written := make(chan error, 1)
		go func() { written <- writeOften(ctx, session, 40) }()
		checks, compared, done := 0, 0, false
		for !done || checks < 2 {
			select {
			case err := <-written:
				if done = true; err != nil {
					t.Error(err)
				}
			default:
			}
			r := s.check()
			checks++
			compared += r.Compared
			for _, f := range r.Findings {
				if f.Failure {
					t.Errorf("check %d: %+v", checks, f)
				}
			}
		}
		if compared < checks {
			t.Errorf("%d checks have compared %d views", checks, compared)
		}
		t.Logf("%d checks have compared %d views", checks, compared)
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		s.follows("v", totals)
		s.follows("d", grand)
	})
}

// writeOften commits changes, one after the other.
func writeOften(ctx context.Context, session *ducklake.Session, commits int) error {
	for i := range commits {
		sql := fmt.Sprintf(`INSERT INTO t VALUES (%d, %d), (%d, 1)`, i%12, i, i%7)
		switch i % 5 {
		case 3:
			sql = fmt.Sprintf(`UPDATE t SET v = v + 1 WHERE k = %d`, i%10)
		case 4:
			sql = fmt.Sprintf(`DELETE FROM t WHERE v %% 97 = %d`, i)
		}
		a, err := session.Analyze(ctx, sql)
		if err == nil {
			_, err = session.Exec(ctx, a)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}
