package metadata

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// Reading is a read-only transaction that stays open until it is closed, for who reads step by step.
type Reading interface {
	Tx
	// Close ends the transaction. It may be called twice.
	Close() error
}

// OpenReading begins a transaction that sees one state of the catalog database. On a DuckDB file it is begun on c, which is the caller's
// and, if it keeps statements prepared, saves their planning; on PostgreSQL c is not used.
func OpenReading(ctx context.Context, s Store, c Conn) (Reading, error) {
	switch s := s.(type) {
	case *duckStore:
		if _, err := c.Exec(context.WithoutCancel(ctx), `BEGIN TRANSACTION READ ONLY`); err != nil {
			return nil, err
		}
		return &duckReading{duckTx: duckTx{store: s, conn: c}}, nil
	case *Postgres:
		tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return nil, gone(err)
		}
		return &pgReading{pgTx: pgTx{store: s, tx: tx}}, nil
	}
	return nil, errors.New("metadata: a store of an unknown kind")
}

type duckReading struct {
	duckTx
	over bool
}

func (r *duckReading) Close() error {
	if r.over {
		return nil
	}
	r.over = true
	_, err := r.conn.Exec(context.Background(), `ROLLBACK`)
	return err
}

type pgReading struct{ pgTx }

func (r *pgReading) Close() error {
	end, stop := ending(context.Background())
	defer stop()
	if err := r.tx.Rollback(end); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		return gone(err)
	}
	return nil
}

// Cells are the rows of a query on a PostgreSQL catalog, one after the other, each value as the server sent it: as text, or in binary.
type Cells struct{ rows pgx.Rows }

// OpenCells runs a query of tx, which must be on PostgreSQL, and streams its rows. binary says for each column whether it is wanted in
// PostgreSQL's binary format. The transaction is busy until Close.
func OpenCells(ctx context.Context, tx Tx, binary []bool, sql string, args ...any) (*Cells, error) {
	r, ok := tx.(*pgReading)
	if !ok {
		return nil, errors.New("metadata: only a reading transaction on PostgreSQL streams cells")
	}
	formats := make(pgx.QueryResultFormats, len(binary))
	for i, b := range binary {
		if b {
			formats[i] = pgx.BinaryFormatCode
		}
	}
	rows, err := r.tx.Query(ctx, expand(sql, r.store.prefix), append([]any{formats}, args...)...)
	if err != nil {
		return nil, gone(err)
	}
	return &Cells{rows: rows}, nil
}

// Next gives the next row's values, nil for NULL, which are valid until the next call; ok is false at the end.
func (c *Cells) Next() (row [][]byte, ok bool, err error) {
	if !c.rows.Next() {
		if err := c.rows.Err(); err != nil {
			return nil, false, gone(err)
		}
		return nil, false, nil
	}
	return c.rows.RawValues(), true, nil
}

// Close ends the query.
func (c *Cells) Close() { c.rows.Close() }
