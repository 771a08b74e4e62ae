package ivm_test

import (
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	sink "github.com/vegadb/vega-flight/ivm/sink/lake"
)

// Between the drop of a view's table and that of its row nobody is told that another program dropped it.
func TestAViewIsGoneOnceItsTableIs(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		var s *server
		var errs []error
		var listed []map[string]string
		s = start(t, laketest.NewPlace(t, k), options{stream: true, faults: sink.Faults{Dropped: func() error {
			for _, sql := range []string{`SHOW CREATE MATERIALIZED VIEW over_v`, `SHOW STREAMING MATERIALIZED VIEW v`, `REFRESH MATERIALIZED VIEW over_v`} {
				_, err := s.try(sql)
				errs = append(errs, err)
			}
			listed = append(s.run(`SHOW MATERIALIZED VIEWS`), s.run(`SHOW STREAMING MATERIALIZED VIEWS`)...)
			return nil
		}}})
		s.exec(`CREATE TABLE t (k INTEGER, v BIGINT)`)
		s.run(`CREATE STREAMING MATERIALIZED VIEW v WITH (wait_for_ready = true) AS ` + totals)
		s.run(`CREATE MATERIALIZED VIEW over_v AS SELECT count(*) AS n FROM lake.main.v`)
		s.run(`CREATE MATERIALIZED VIEW x AS ` + totals)
		s.run(`DROP STREAMING MATERIALIZED VIEW v CASCADE`)
		if len(errs) != 3 || len(listed) != 1 || listed[0]["view_name"] != "x" {
			t.Errorf("%v, %v", errs, listed)
		}
		for _, err := range errs {
			if fault.CodeOf(err) != fault.ViewNotFound {
				t.Errorf("%v", err)
			}
		}
	})
}
