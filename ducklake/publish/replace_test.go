package publish_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/publish"
)

func TestReplaceSmoke(t *testing.T) {
	for _, kind := range []string{"duckdb", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			ctx := context.Background()
			l := newLake(t, kind)
			p := l.publisher()
			l.exec(`CREATE TABLE lake.main.v(k BIGINT, v VARCHAR, l INTEGER[], s STRUCT(a INT, b VARCHAR))`)
			table := l.table("v")
			must(t, p.Prepare(ctx, table))
			for i := range 3 {
				staged, err := p.Stage(ctx, l.conn, publish.StageSpec{Table: table, Query: fmt.Sprintf("SELECT range + %d, 'x' || range, [range, NULL], {'a': range, 'b': 'y'} FROM range(%d)", i*1000, 10-i), JobID: "j"}, nil)
				must(t, err)
				res, err := p.Publish(ctx, publish.Publication{CommitID: fmt.Sprint("c", i), Table: table, Replace: staged,
					Swap: publish.Swap{UUID: "u", Generation: 1, Epoch: int64(i), Frontier: []byte{1, 2}}})
				must(t, err)
				fmt.Println(res)
				fmt.Println(l.rows("SELECT min(k), max(k), count(*), min(v), max(v) FROM lake.main.v"), l.rows("SELECT * FROM lake.main.v WHERE k % 1000 = 1"))
			}
		})
	}
}
