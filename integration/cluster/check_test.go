package cluster

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/vegadb/vega-flight/integration/process"
)

// A check that takes longer than a lease stays registered, with the snapshot it reads, so that servers leave that alone.
func TestACheckKeepsItsLease(t *testing.T) {
	l := newLake(t)
	a := l.start("a")
	c := a.Connect(t)
	c.Must(t, "CREATE TABLE src (i BIGINT)")
	c.Must(t, "INSERT INTO src VALUES (1)")
	c.Must(t, "CREATE MATERIALIZED VIEW v AS SELECT sum(i) AS s FROM src")
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}

	conn, err := pgx.Connect(t.Context(), l.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The jobs are looked at after the views: the check waits there.
	if _, err := tx.Exec(t.Context(), "LOCK TABLE "+l.schema+".vega_jobs IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	var out string
	go func() {
		var err error
		out, err = process.Run(t, "check", l.dsn, "--metadata-schema", l.schema, "--data-path", l.data, "--lease", "3s", "--extension-dir", process.ExtensionDir(t))
		done <- err
	}()
	lease := func() string {
		return l.value(`SELECT coalesce(max(lease_until::VARCHAR), '') FROM {M}vega_servers WHERE id LIKE 'check-%' AND lease_until > now() AND pinned_snapshot > 0`)
	}
	seen := map[string]bool{}
	until(t, "the lease is renewed again and again", func() bool {
		if at := lease(); at != "" {
			seen[at] = true
		}
		return len(seen) >= 4
	})
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
	if left := l.value(`SELECT count(*)::VARCHAR FROM {M}vega_servers WHERE id LIKE 'check-%'`); left != "0" {
		t.Errorf("%s registrations are left", left)
	}
}
