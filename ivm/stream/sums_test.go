package stream_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// summing counts the sums that a source gave.
type summing struct {
	stream.Source
	given atomic.Int64
}

func (s *summing) Summary(ctx context.Context, r stream.Reading, at int64, q stream.Summing, take func(*zset.Batch) error) error {
	err := s.Source.(stream.Summariser).Summary(ctx, r, at, q, take)
	if err == nil {
		s.given.Add(1)
	}
	return err
}

func (s *summing) Size(ctx context.Context, r stream.Reading) int64 {
	return s.Source.(stream.Summariser).Size(ctx, r)
}

// TestSumsAreBackfilledByAQuery makes views over tables that have been changed in each way, of sums and of a bad row, and follows.
func TestSumsAreBackfilledByAQuery(t *testing.T) {
	for _, kind := range []laketest.Kind{laketest.DuckDB, laketest.PostgreSQL} {
		t.Run(kind.String(), func(t *testing.T) {
			source := &summing{}
			l := newLab(t, kind, func(l *lab) {
				l.configure = append(l.configure, func(c *stream.Config) {
					source.Source = c.Source
					c.Source = source
				})
			})
			l.exec(`CREATE SCHEMA "a.b"`, `CREATE TABLE "a.b"."t's" (id INTEGER, "k ""1""" VARCHAR, v SMALLINT, d DECIMAL(9,2))`,
				`INSERT INTO "a.b"."t's" SELECT i, 'k' || i % 5, i % 100, i / 7 FROM range(5000) r(i)`,
				`DELETE FROM "a.b"."t's" WHERE id % 7 = 0`, `UPDATE "a.b"."t's" SET v = NULL WHERE id % 11 = 0`,
				`INSERT INTO "a.b"."t's" VALUES (-1, NULL, -5, NULL), (-2, NULL, NULL, 1.25)`,
				`ALTER TABLE "a.b"."t's" RENAME COLUMN "k ""1""" TO "k 2"`, `ALTER TABLE "a.b"."t's" ALTER v TYPE INTEGER`,
				`ALTER TABLE "a.b"."t's" ADD COLUMN e BIGINT DEFAULT 3`, `DELETE FROM "a.b"."t's" WHERE id BETWEEN 100 AND 120`)
			l.view("sums", `SELECT "k 2" AS k, count(*) AS n, count(v) AS m, sum(v) AS s, avg(d) AS a, sum(e) AS e FROM "a.b"."t's" GROUP BY 1`)
			l.view("whole", `SELECT count(*) AS n, sum(v + 1) AS s FROM "a.b"."t's" WHERE "k 2" <> 'k3'`)
			l.check()
			if n := source.given.Load(); n != 2 {
				t.Errorf("%d views were backfilled by a query", n)
			}
			l.exec(`CREATE TABLE many AS SELECT i % 7 AS g, (i % 11)::SMALLINT AS v, 'label ' || i % 3 AS label FROM range(150000) r(i)`,
				`DELETE FROM many WHERE v = 3`, `UPDATE many SET v = NULL WHERE v = 4`)
			l.view("extremes", "SELECT g, min(v) AS low, max(label) AS most, count(*) AS n FROM many GROUP BY g")
			l.view("pairs", "SELECT m.label, count(DISTINCT t.v) AS n, sum(m.v) AS s FROM many m JOIN \"a.b\".\"t's\" t ON m.g = t.id GROUP BY 1")
			l.check()
			if n := source.given.Load(); n != 6 { // each was asked for a sample, too
				t.Errorf("%d queries were answered", n)
			}
			l.view("joined", `SELECT t."k 2" AS k, sum(m.v) AS s, avg(m.v) AS a, count(*) AS n FROM many m JOIN "a.b"."t's" t ON m.g = t.id GROUP BY 1`)
			l.view("padded", `SELECT t."k 2" AS k, sum(m.v) AS s, count(m.v) AS n FROM (FROM many WHERE label <> 'label 1') m FULL JOIN "a.b"."t's" t ON m.v = t.id GROUP BY 1`)
			l.check()
			if n := source.given.Load(); n != 9 { // of the joins one side comes from a query; for one it was asked first how many keys there are
				t.Errorf("%d queries were answered", n)
			}
			l.view("total", "SELECT sum(n) AS n, sum(s) AS s FROM sums")
			for _, sql := range []string{
				`INSERT INTO "a.b"."t's" SELECT i, 'k' || i % 9, i, i, i FROM range(9000, 9100) r(i)`, `DELETE FROM "a.b"."t's" WHERE "k 2" = 'k1'`,
				`UPDATE "a.b"."t's" SET "k 2" = 'k1' WHERE id % 3 = 0`, `DELETE FROM "a.b"."t's"`,
				`DELETE FROM many WHERE label = 'label 2' OR v = 0`, `DELETE FROM many`,
			} {
				l.check()
				l.exec(sql)
			}
			l.check()
		})
	}
}
