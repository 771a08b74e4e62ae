package metadata

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Read runs one query by itself, in one round trip where View takes three.
func (p *Postgres) Read(ctx context.Context, sql string, args ...any) ([][]any, error) {
	rows, err := p.pool.Query(ctx, expand(sql, p.prefix), args...)
	if err != nil {
		return nil, gone(err)
	}
	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]any, error) {
		values, err := r.Values()
		for i, v := range values {
			values[i] = plain(v)
		}
		return values, err
	})
	if err != nil {
		return nil, gone(err)
	}
	return out, nil
}
