package publish_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// BenchmarkCommit measures native commits into a table of a million rows beside the extension's own DML on an equal one.
func BenchmarkCommit(b *testing.B) {
	const rows = 1_000_000
	const columns = "k BIGINT, v VARCHAR, d DECIMAL(18,2), n BIGINT"
	row := func(k string) string {
		return fmt.Sprintf("%s AS k, 'value ' || (%[1]s %% 1000) AS v, CAST(%[1]s %% 10000 AS DECIMAL(18,2)) AS d, %[1]s * 7 AS n", k)
	}
	for _, kind := range laketest.Kinds {
		b.Run(kind.String(), func(b *testing.B) {
			l := newLake(b, kind)
			l.exec("CALL lake.set_option('data_inlining_row_limit', 1000)")
			p := l.publisher()
			table := l.published(p, "v", columns)
			l.exec("CREATE TABLE lake.main.mirror(" + columns + ")")
			all := fmt.Sprintf("SELECT %s FROM range(%d)", row("range"), rows)
			l.exec("INSERT INTO lake.main.mirror " + all)
			epoch, seen := int64(0), int64(0)
			commit := func(b *testing.B, pub publish.Publication) {
				b.Helper()
				pub.CommitID, pub.Table, pub.Seen = commitID(), table, seen
				pub.Swap = publish.Swap{UUID: "v", Epoch: epoch, Frontier: []byte("f")}
				r := one(b, p, pub)
				epoch, seen = r.Epoch, r.Snapshot
			}
			b.Run("replace/native", func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					staged, err := p.Stage(ctx, l.conn, publish.StageSpec{Table: table, Query: all, JobID: "j"}, nil)
					must(b, err)
					b.StartTimer()
					commit(b, publish.Publication{Replace: staged})
				}
			})
			b.Run("replace/stage", func(b *testing.B) {
				for range b.N {
					_, err := p.Stage(ctx, l.conn, publish.StageSpec{Table: table, Query: all, JobID: "unused"}, nil)
					must(b, err)
				}
			})
			must(b, p.Discard(ctx, "unused"))
			b.Run("replace/extension", func(b *testing.B) {
				for range b.N {
					l.exec("BEGIN")
					l.exec("DELETE FROM lake.main.mirror")
					l.exec("INSERT INTO lake.main.mirror " + all)
					l.exec("COMMIT")
				}
			})
			rng := rand.New(rand.NewPCG(1, 2))
			for _, keys := range []int{1, 100, 1000} {
				b.Run(fmt.Sprintf("delta%d/native", keys), func(b *testing.B) {
					for range b.N {
						b.StopTimer()
						ids := distinct(rng, keys, rows)
						where := "k IN (" + join(ids) + ")"
						var gone []publish.Location
						_, err := p.Locate(ctx, l.conn, table, nil, where, func(_ arrow.RecordBatch, at []publish.Location) error {
							gone = append(gone, at...)
							return nil
						})
						must(b, err)
						reader, err := l.conn.Query(ctx, fmt.Sprintf("SELECT %s FROM (SELECT unnest([%s]::BIGINT[]) AS id)", row("id"), join(ids)))
						must(b, err)
						reader.Next()
						batch := reader.RecordBatch()
						batch.Retain()
						must(b, reader.Close())
						b.StartTimer()
						commit(b, publish.Publication{Delta: &publish.Delta{Insert: []arrow.RecordBatch{batch}, Delete: gone}})
						batch.Release()
					}
				})
				b.Run(fmt.Sprintf("delta%d/extension", keys), func(b *testing.B) {
					for range b.N {
						ids := distinct(rng, keys, rows)
						l.exec("BEGIN")
						l.exec("DELETE FROM lake.main.mirror WHERE k IN (" + join(ids) + ")")
						l.exec(fmt.Sprintf("INSERT INTO lake.main.mirror SELECT %s FROM (SELECT unnest([%s]::BIGINT[]) AS id)", row("id"), join(ids)))
						l.exec("COMMIT")
					}
				})
				must(b, p.Relocate(ctx, table, publish.Flush))
				seen = l.snapshot()
			}
		})
	}
}

func distinct(rng *rand.Rand, n, below int) []int64 {
	seen := map[int64]bool{}
	for len(seen) < n {
		seen[rng.Int64N(int64(below))] = true
	}
	out := make([]int64, 0, n)
	for id := range seen {
		out = append(out, id)
	}
	return out
}
