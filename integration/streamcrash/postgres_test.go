package streamcrash

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vegadb/vega-flight/integration/process"
)

// inPostgres are moments that only a catalog has that goes on without the server.
var inPostgres = []moment{
	{"commit held", func(k *killer, _ *process.Client, _ func(string)) { k.held(true) }},
	{"commit let go", func(k *killer, _ *process.Client, _ func(string)) { k.held(false) }},
}

func (k *killer) catalog() *pgx.Conn {
	k.t.Helper()
	c, err := pgx.Connect(k.t.Context(), k.place.lake)
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

// committed waits for the end of the next commit while do runs.
func (k *killer) committed(do func()) {
	c := k.catalog()
	defer c.Close(context.Background())
	h := fnv.New64a()
	_, _ = h.Write([]byte(k.place.schema))
	if _, err := c.Exec(k.t.Context(), fmt.Sprintf("LISTEN vega_%x", h.Sum64())); err != nil {
		k.t.Fatal(err)
	}
	do()
	ctx, stop := context.WithTimeout(k.t.Context(), 3*time.Second)
	defer stop()
	if _, err := c.WaitForNotification(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		k.t.Fatal(err)
	}
}

// held waits until a commit of the server's is stopped by a lock that somebody else has on the table of snapshots. The lock is given up after
// the server's death, or just before: the catalog then goes on with what it was asked.
func (k *killer) held(dead bool) {
	c := k.catalog()
	table := pgx.Identifier{k.place.schema, "ducklake_snapshot"}.Sanitize()
	if _, err := c.Exec(k.t.Context(), "BEGIN; LOCK TABLE "+table+" IN SHARE MODE"); err != nil {
		k.t.Fatal(err)
	}
	beside := k.catalog()
	defer beside.Close(context.Background())
	process.Until(k.t, "a commit is held", func() bool {
		var n int
		if err := beside.QueryRow(k.t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = $1::TEXT::regclass", table).Scan(&n); err != nil {
			k.t.Fatal(err)
		}
		return n > 0
	}, func() any { return "nobody waits" })
	release := func() { _ = c.Close(context.Background()) }
	if dead {
		k.afterwards = release
		return
	}
	release()
}
