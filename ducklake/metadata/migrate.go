package metadata

import (
	"context"
	"fmt"

	"github.com/vegadb/vega-flight/fault"
)

// Migration is one step of a component's tables, in both dialects. Steps are numbered from 1 without gaps and never
// changed once released.
type Migration struct {
	Version    int
	DuckDB     []string
	PostgreSQL []string
}

// Migrate brings a component's vega_* tables to the newest version, each step in a transaction with its record
// in vega_migrations. A catalog that a newer server has migrated further is refused with fault.DefinitionTooNew.
func Migrate(ctx context.Context, s Store, component string, steps []Migration) error {
	for i, m := range steps {
		if m.Version != i+1 {
			return fmt.Errorf("metadata: migration %d of %s has version %d", i+1, component, m.Version)
		}
	}
	if err := s.Update(ctx, func(tx Tx) error { return ensureMigrations(ctx, tx) }); err != nil {
		return fmt.Errorf("create vega_migrations: %w", err)
	}
	for {
		more := false
		err := s.Update(ctx, func(tx Tx) error {
			more = false
			if tx.Dialect() == PostgreSQL {
				// Taken before the transaction has a snapshot, so what follows sees the other servers' steps.
				if _, err := tx.Exec(ctx, `LOCK TABLE {M}vega_migrations IN EXCLUSIVE MODE`); err != nil {
					return err
				}
			}
			rows, err := tx.Query(ctx, `SELECT max(version) FROM {M}vega_migrations WHERE component = $1`, component)
			if err != nil {
				return err
			}
			var r Row
			r.Take(rows[0])
			at := int(r.NullInt(0))
			if r.Err() != nil {
				return r.Err()
			}
			if at > len(steps) {
				return fault.DefinitionTooNew.Newf("the catalog's %s tables have version %d; this server knows %d", component, at, len(steps)).
					WithHint("run a server at least as new as the one that wrote them")
			}
			if at == len(steps) {
				return nil
			}
			more = at+1 < len(steps)
			return step(ctx, tx, component, steps[at])
		})
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
	}
}

func ensureMigrations(ctx context.Context, tx Tx) error {
	if tx.Dialect() == PostgreSQL {
		// CREATE TABLE IF NOT EXISTS of two sessions at once fails with a duplicate key of pg_type.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext($1))`, tx.Table("vega_migrations")); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS {M}vega_migrations (
		component VARCHAR NOT NULL, version BIGINT NOT NULL, applied_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (component, version))`)
	return err
}

func step(ctx context.Context, tx Tx, component string, m Migration) error {
	statements := m.DuckDB
	if tx.Dialect() == PostgreSQL {
		statements = m.PostgreSQL
	}
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s migration %d: %w", component, m.Version, err)
		}
	}
	_, err := tx.Exec(ctx, `INSERT INTO {M}vega_migrations VALUES ($1, $2, now())`, component, int64(m.Version))
	return err
}
