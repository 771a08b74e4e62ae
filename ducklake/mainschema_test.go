package ducklake_test

import (
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// Another program drops the schema that every connection begins in: the lake goes on, and opens again.
func TestTheSchemaMainIsDropped(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		p := laketest.NewPlace(t, k)
		works := func(c client) {
			t.Helper()
			c.exec(`CREATE TABLE t (i BIGINT)`)
			c.exec(`INSERT INTO t VALUES (1)`)
			c.want(`SELECT i FROM t`, "1")
			c.want(`SELECT i FROM lake.kept.t`, "7")
			c.exec(`DROP TABLE t`)
		}
		l := p.Open(t)
		c := connect(t, l)
		c.exec(`CREATE SCHEMA kept`)
		c.exec(`CREATE TABLE kept.t AS SELECT 7 AS i`)
		foreign := l
		if k == laketest.PostgreSQL {
			foreign = p.Open(t)
		}
		for range 2 { // an open lake, with connections in the pool
			if err := foreign.DDL(ctx, `DROP SCHEMA lake.main CASCADE`); err != nil {
				t.Fatal(err)
			}
			works(c)
			works(connect(t, l))
		}
	})
}

func TestALakeWithoutTheSchemaMainOpens(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		p := laketest.NewPlace(t, k)
		first, err := ducklake.Open(ctx, p.Config)
		if err != nil {
			t.Fatal(err)
		}
		if err := first.DDL(ctx, `CREATE SCHEMA lake.kept`); err != nil {
			t.Fatal(err)
		}
		if err := first.DDL(ctx, `DROP SCHEMA lake.main CASCADE`); err != nil {
			t.Fatal(err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		c := connect(t, p.Open(t))
		c.exec(`CREATE TABLE t (i BIGINT)`)
		c.want(`SELECT count(*) FROM t`, "0")
		c.want(`SELECT count(*) FROM information_schema.schemata WHERE schema_name IN ('main', 'kept') AND catalog_name = 'lake'`, "2")
	})
}
