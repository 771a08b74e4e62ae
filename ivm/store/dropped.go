package store

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/stream"
)

const (
	// smallPieces of what a view has dropped are put together when there are so many of one source.
	smallPieces = 64
	// smallBytes is how large one of those is at most.
	smallBytes = 1 << 20
)

// AddDropped records what a streaming view has dropped as late since its content began, unless that is recorded. What was dropped of contents
// before counts no more.
func (s *Store) AddDropped(ctx context.Context, tx metadata.Tx, c stream.Change) error {
	if c.Anew {
		if _, err := tx.Exec(ctx, `DELETE FROM {M}vega_dropped WHERE uuid = $1 AND since <> $2`, c.UUID, c.Frontier.Since); err != nil {
			return err
		}
	}
	known := map[string]int64{}
	dropped := c.Dropped
	if dropped == nil {
		dropped = func(func(stream.Dropped) bool) {}
	}
	for d := range dropped {
		if _, ok := known[d.Source]; !ok {
			rows, err := tx.Query(ctx, `SELECT CAST(coalesce(max(up_to), 0) AS BIGINT) FROM {M}vega_dropped WHERE uuid = $1 AND since = $2 AND source = $3`, c.UUID, c.Frontier.Since, d.Source)
			if err != nil {
				return err
			}
			known[d.Source], _ = rows[0][0].(int64)
		}
		if d.At <= known[d.Source] {
			continue
		}
		if err := insertDropped(ctx, tx, c.UUID, c.Frontier.Since, d); err != nil {
			return err
		}
	}
	for source := range known {
		if err := joinDropped(ctx, tx, c.UUID, c.Frontier.Since, source); err != nil {
			return err
		}
	}
	return nil
}

func insertDropped(ctx context.Context, tx metadata.Tx, uuid string, since int64, d stream.Dropped) error {
	_, err := tx.Exec(ctx, `INSERT INTO {M}vega_dropped (uuid, since, source, up_to, size, changes) VALUES ($1, $2, $3, $4, $5, $6)`,
		uuid, since, d.Source, d.At, int64(len(d.Rows)), d.Rows)
	return err
}

// joinDropped puts small pieces together.
func joinDropped(ctx context.Context, tx metadata.Tx, uuid string, since int64, source string) error {
	const small = ` FROM {M}vega_dropped WHERE uuid = $1 AND since = $2 AND source = $3 AND size < $4`
	args := []any{uuid, since, source, int64(smallBytes)}
	rows, err := tx.Query(ctx, `SELECT CAST(count(*) AS BIGINT)`+small, args...)
	if err != nil {
		return err
	}
	if n, _ := rows[0][0].(int64); n < smallPieces {
		return nil
	}
	pieces, err := tx.Query(ctx, `SELECT up_to, changes`+small+` ORDER BY up_to`, args...)
	if err != nil {
		return err
	}
	all := stream.Dropped{Source: source}
	for _, values := range pieces {
		var r metadata.Row
		r.Take(values)
		at, changes := r.Int(), r.Bytes()
		if r.Err() != nil {
			return r.Err()
		}
		all.At, all.Rows = max(all.At, at), append(all.Rows, changes...)
	}
	if _, err := tx.Exec(ctx, `DELETE`+small, args...); err != nil {
		return err
	}
	return insertDropped(ctx, tx, uuid, since, all)
}

// Dropped is what a streaming view has dropped as late since its content began at a snapshot.
func (s *Store) Dropped(ctx context.Context, uuid string, since int64) (out []stream.Dropped, err error) {
	err = s.db.View(ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(ctx, `SELECT source, up_to, changes FROM {M}vega_dropped WHERE uuid = $1 AND since = $2`, uuid, since)
		if err != nil {
			return err
		}
		out = slices.Grow(out[:0], len(rows))
		for _, values := range rows {
			var r metadata.Row
			r.Take(values)
			d := stream.Dropped{Source: r.Text(), At: r.Int(), Rows: r.Bytes()}
			if r.Err() != nil {
				return r.Err()
			}
			out = append(out, d)
		}
		return nil
	})
	return out, err
}
