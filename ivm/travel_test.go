package ivm_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
)

// AT asks for an older state by its name and gets what the view's table held then: the answer of the definition of that time, and nothing
// before the first refresh. Admission looks at the view as it is now: one without content is refused at every version.
func TestAnOlderVersionIsReadAsItWas(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := start(t, laketest.NewPlace(t, k), options{})
		at := func() string {
			t.Helper()
			snapshot, err := s.lake.Snapshot(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf(`SELECT max(k) FROM lake.main.v AT (VERSION => %d)`, snapshot.ID)
		}
		s.exec(`CREATE TABLE t (k INTEGER)`, `INSERT INTO t VALUES (1)`)
		s.run(`CREATE MATERIALIZED VIEW v AS FROM lake.main.t WITH NO DATA`)
		unpopulated := at()
		s.admits(fault.NotPopulated, unpopulated)
		s.run(`REFRESH MATERIALIZED VIEW v`)
		before := at()
		s.run(`CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k + 1 AS k FROM lake.main.t`)
		after := at()
		for sql, want := range map[string]string{unpopulated: "<nil>", before: "1", after: "2"} {
			s.admits(nil, sql)
			if got := s.one(sql); got != want {
				t.Errorf("%s: %s, want %s", sql, got, want)
			}
		}
		s.run(`CREATE OR REPLACE MATERIALIZED VIEW v AS FROM lake.main.t WITH NO DATA`)
		s.admits(fault.NotPopulated, unpopulated, before, after)
	})
}
