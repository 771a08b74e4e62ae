package metadata

import (
	"context"
	"fmt"
	"hash/fnv"
)

// Listen calls f for every snapshot that any process commits, until ctx ends or the connection breaks. It
// puts a trigger on ducklake_snapshot if there is none.
func (p *Postgres) Listen(ctx context.Context, f func()) error {
	if err := p.Update(ctx, func(tx Tx) error { return ensureTrigger(ctx, tx, p.channel()) }); err != nil {
		return err
	}
	c, err := p.pool.Acquire(ctx)
	if err != nil {
		return gone(err)
	}
	// A connection that listens is not for others.
	conn := c.Hijack()
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, `LISTEN `+QuoteIdent(p.channel())); err != nil {
		return gone(err)
	}
	// What was committed before the LISTEN is not told.
	f()
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return gone(err)
		}
		f()
	}
}

// channel is the schema's channel; names of channels are short and common to the whole database.
func (p *Postgres) channel() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.schema))
	return fmt.Sprintf("vega_%x", h.Sum64())
}

func ensureTrigger(ctx context.Context, tx Tx, channel string) error {
	rows, err := tx.Query(ctx, `SELECT count(*) FROM pg_trigger WHERE tgname = 'vega_notify' AND tgrelid = $1::TEXT::regclass`,
		tx.Table("ducklake_snapshot"))
	if err != nil {
		return err
	}
	if rows[0][0] != int64(0) {
		return nil
	}
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext($1))`, tx.Table("vega_notify")); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `CREATE OR REPLACE FUNCTION {M}vega_notify() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_notify(`+QuoteLiteral(channel)+`, NEW.snapshot_id::TEXT); RETURN NEW; END $$`); err != nil {
		return err
	}
	// CREATE OR REPLACE TRIGGER is newer than the oldest PostgreSQL that DuckLake takes.
	if _, err := tx.Exec(ctx, `DROP TRIGGER IF EXISTS vega_notify ON {M}ducklake_snapshot`); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `CREATE TRIGGER vega_notify AFTER INSERT ON {M}ducklake_snapshot
		FOR EACH ROW EXECUTE FUNCTION {M}vega_notify()`)
	return err
}
