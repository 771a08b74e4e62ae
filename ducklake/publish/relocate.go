package publish

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// Move is a way to move a table's rows without changing them.
type Move int

// The moves.
const (
	Flush Move = iota // inlined rows and deletes become files
	Merge             // small adjacent files without deletes become one
)

// MergeLimits bound one merge, since it runs under the commit lock.
const (
	mergeMaxFileBytes = 64 << 20
	mergeMaxFiles     = 256
)

// moves bounds how often a move is begun again because others have committed meanwhile, to any table.
const moves = 40

// Relocate runs the extension's flush or merge on one table, under the commit lock: beside our commits to the same table
// it would fail or, for a merge, lose deletes. The table's auto_compact is off, which also keeps the extension from
// doing it when asked; it is on within this transaction only.
//
// A move during which anybody has committed is begun again as a whole. The extension would try its COMMIT again instead, and forget
// then to remove the inlined deletes that it has written into files: its readers pass over the other inlined deletes of a file, and
// over later ones, when one is in both places.
func (p *Publisher) Relocate(ctx context.Context, table metadata.TableInfo, move Move) error {
	unlock, err := p.Lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	// The table may have another name by now.
	var option string
	err = p.Store.View(ctx, func(tx metadata.Tx) error {
		now, found, err := metadata.TableByID(ctx, tx, table.ID, 0)
		if err != nil {
			return err
		}
		if !found {
			return fault.ObjectNotFound.Newf("table %s.%s was dropped", table.Schema, table.Name)
		}
		table = now
		rows, err := tx.Query(ctx, `SELECT value FROM {M}ducklake_metadata WHERE key = 'auto_compact' AND scope = 'table' AND scope_id = $1`, table.ID)
		if err == nil && len(rows) == 1 {
			option, _ = rows[0][0].(string)
		}
		return err
	})
	if err != nil {
		return err
	}
	run := func() error {
		return p.own(ctx, func(c *duck.Conn) (err error) {
			reset, err := once(ctx, c)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, reset()) }()
			for n := 1; ; n++ {
				err = p.move(ctx, c, table, move, option == "false")
				if err == nil || n == moves || ctx.Err() != nil || !retryable(err) {
					return err
				}
			}
		})
	}
	if p.Store.Dialect() == metadata.PostgreSQL {
		err = p.alone(ctx, table.ID, run)
	} else {
		err = run()
	}
	if err == nil && p.Notify != nil {
		p.Notify(0)
	}
	return err
}

// once keeps the extension from trying COMMITs again, until reset.
func once(ctx context.Context, c *duck.Conn) (reset func() error, err error) {
	const setting = `ducklake_max_retry_count`
	rows, err := c.Rows(ctx, `SELECT CAST(current_setting('`+setting+`') AS BIGINT)`)
	if err != nil {
		return nil, err
	}
	if _, err := c.Exec(ctx, `SET SESSION `+setting+` = 0`); err != nil {
		return nil, err
	}
	return func() error { // RESET would make it the extension's default
		_, err := c.Exec(context.WithoutCancel(ctx), fmt.Sprintf(`SET SESSION %s = %d`, setting, rows[0][0]))
		return err
	}, nil
}

// alone runs f while no other server can publish into the table: it holds the row that each publication updates before it
// commits. Whoever waits for it then finds its snapshot id taken and starts again, from what f has done.
func (p *Publisher) alone(ctx context.Context, tableID int64, f func() error) error {
	return p.Store.Update(ctx, func(tx metadata.Tx) error {
		if _, err := tx.Query(ctx, `SELECT uuid FROM {M}vega_published WHERE table_id = $1 FOR UPDATE`, tableID); err != nil {
			return err
		}
		return f()
	})
}

// retryable reports whether the extension lost against another commit.
func retryable(err error) bool {
	var e *duck.Error
	return metadata.IsConflict(err) || errors.As(err, &e) && e.Type == "TransactionContext"
}

func (p *Publisher) move(ctx context.Context, c *duck.Conn, table metadata.TableInfo, move Move, off bool) (err error) {
	end := context.WithoutCancel(ctx)
	if err := c.Settle(end); err != nil { // of the try before
		return err
	}
	if _, err := c.Exec(end, `BEGIN`); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		rollback := c.Settle(end)
		if off {
			// The extension remembers an option beside the catalog; the rollback does not reach that.
			rollback = errors.Join(rollback, p.setCompact(end, c, table, false))
		}
		err = errors.Join(err, rollback)
	}()
	if off {
		if err := p.setCompact(ctx, c, table, true); err != nil {
			return err
		}
	}
	lake := metadata.QuoteIdent(p.Lake)
	switch move {
	case Flush:
		_, err = c.Rows(ctx, `CALL ducklake_flush_inlined_data(?, schema_name => ?, table_name => ?)`, p.Lake, table.Schema, table.Name)
	case Merge:
		_, err = c.Rows(ctx, fmt.Sprintf(`CALL ducklake_merge_adjacent_files(?, ?, schema => ?, max_file_size => %d, max_compacted_files => %d)`,
			mergeMaxFileBytes, mergeMaxFiles), p.Lake, table.Name, table.Schema)
	}
	if err != nil {
		return err
	}
	if off {
		if err := p.setCompact(ctx, c, table, false); err != nil {
			return err
		}
	}
	info := metadata.CommitInfo{ID: uuid.Must(uuid.NewV7()).String(), Kind: metadata.CommitMaintain, Server: p.ServerID}
	if _, err := c.Exec(ctx, `CALL `+lake+`.set_commit_message(?, ?, extra_info => ?)`, metadata.Author, "maintenance", info.ExtraInfo()); err != nil {
		return err
	}
	if p.Faults.Moved != nil {
		p.Faults.Moved()
	}
	_, err = c.Exec(end, `COMMIT`)
	return err
}
