package store

import (
	"context"
	"fmt"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// InsertStream makes the control row of a new streaming view in a transaction. mode is how its first generation begins, and at the lake snapshot
// that the view is made in.
func (s *Store) InsertStream(ctx context.Context, tx metadata.Tx, uuid, mode string, at int64) error {
	if mode != stream.Backfill && mode != stream.Future {
		return fmt.Errorf("store: a streaming view cannot begin with %q", mode)
	}
	boundary := int64(0)
	if mode == stream.Future {
		boundary = at
	}
	_, err := tx.Exec(ctx, `INSERT INTO {M}vega_streams (`+streamColumns+`)
		VALUES ($1, FALSE, NULL, 0, 1, $2, $3, '', $4, '', now(), 0, $5, 0, '', 0, NULL)`,
		uuid, mode, string(stream.Starting), "no server has taken it up yet", boundary)
	return err
}

// Control is what statements ask of streaming views.
type Control struct{ s *Store }

// Control is the port of the engine to the wanted part of the streaming views' rows.
func (s *Store) Control() *Control { return &Control{s} }

// Records are the control rows, by the views' uuids.
func (c *Control) Records(ctx context.Context) (map[string]stream.Record, error) {
	var out map[string]stream.Record
	err := c.s.db.View(ctx, func(tx metadata.Tx) (err error) {
		out, err = streamRows(ctx, tx, "")
		return err
	})
	return out, err
}

// Pause asks that the view stands still, or goes on. Asking twice is asking once.
func (c *Control) Pause(ctx context.Context, uuid string, paused bool) error {
	return c.change(ctx, `UPDATE {M}vega_streams SET paused_at = CASE WHEN NOT $2 THEN NULL WHEN paused THEN paused_at ELSE now() END, paused = $2
		WHERE uuid = $1`, uuid, paused)
}

// Restart asks that the view begins again from its last checkpoint.
func (c *Control) Restart(ctx context.Context, uuid string) error {
	return c.change(ctx, `UPDATE {M}vega_streams SET restarts = restarts + 1 WHERE uuid = $1`, uuid)
}

// Rebuild asks for a new generation; mode says how it begins, "" as the one before it. In the future mode it counts rows that come after the
// newest snapshot now, whenever it is built.
func (c *Control) Rebuild(ctx context.Context, uuid, mode string) error {
	return c.change(ctx, `UPDATE {M}vega_streams SET generation = generation + 1, mode = CASE WHEN $2 = '' THEN mode ELSE $2 END,
		rebuilt_at = (SELECT max(snapshot_id) FROM {M}ducklake_snapshot) WHERE uuid = $1`, uuid, mode)
}

func (c *Control) change(ctx context.Context, sql, uuid string, args ...any) error {
	return c.s.db.Update(ctx, func(tx metadata.Tx) error {
		n, err := tx.Exec(ctx, sql, append([]any{uuid}, args...)...)
		if err == nil && n == 0 {
			err = fault.ViewNotFound.Newf("the view was dropped")
		}
		return err
	})
}
