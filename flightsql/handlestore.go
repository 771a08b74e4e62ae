package flightsql

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/job"
)

// handleRow is what of a handle survives a restart.
type handleRow struct {
	id, principal, kind string
	job                 string // the durable job, which has its own row
	server, boot        string // the process that runs, or ran, a plain statement
	commit              commitMark
	schema              string // serialized, base64
	state               job.State
	rows                int64
	code, message, hint string
	submitted           time.Time
	ended               time.Time
	expires             time.Time
}

// handleStore keeps the rows in the lake's catalog database.
type handleStore struct{ db metadata.Store }

const handleColumns = `id, principal, kind, job_id, server_id, boot, commit_id, commit_after, schema, state, rows,
	error_code, error_message, error_hint, submitted_at, ended_at, expires_at`

// Times are microseconds since 1970: they are this server's, not the catalog's.
var handleTable = `CREATE TABLE {M}vega_query_handles (
	id VARCHAR NOT NULL, principal VARCHAR NOT NULL, kind VARCHAR NOT NULL, job_id VARCHAR NOT NULL,
	server_id VARCHAR NOT NULL, boot VARCHAR NOT NULL, commit_id VARCHAR NOT NULL, commit_after BIGINT NOT NULL,
	schema VARCHAR NOT NULL, state VARCHAR NOT NULL, rows BIGINT NOT NULL,
	error_code VARCHAR NOT NULL, error_message VARCHAR NOT NULL, error_hint VARCHAR NOT NULL,
	submitted_at BIGINT NOT NULL, ended_at BIGINT NOT NULL, expires_at BIGINT NOT NULL)`

func openHandleStore(ctx context.Context, db metadata.Store) (*handleStore, error) {
	steps := []metadata.Migration{{Version: 1, DuckDB: []string{handleTable}, PostgreSQL: []string{handleTable,
		`CREATE INDEX vega_query_handles_id ON {M}vega_query_handles (id)`}}}
	if err := metadata.Migrate(ctx, db, "handles", steps); err != nil {
		return nil, err
	}
	return &handleStore{db}, nil
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n)
}

func (s *handleStore) insert(ctx context.Context, r handleRow) error {
	return s.db.Update(ctx, func(tx metadata.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO {M}vega_query_handles (`+handleColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
			r.id, r.principal, r.kind, r.job, r.server, r.boot, r.commit.id, r.commit.after, r.schema, string(r.state), r.rows,
			r.code, r.message, r.hint, micros(r.submitted), micros(r.ended), micros(r.expires))
		return err
	})
}

// update writes what may change after the submission.
func (s *handleStore) update(ctx context.Context, r handleRow) error {
	return s.db.Update(ctx, func(tx metadata.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE {M}vega_query_handles SET schema = $2, state = $3, rows = $4, error_code = $5, error_message = $6,
			error_hint = $7, ended_at = $8, expires_at = $9 WHERE id = $1`,
			r.id, r.schema, string(r.state), r.rows, r.code, r.message, r.hint, micros(r.ended), micros(r.expires))
		return err
	})
}

// prolong writes new expiries of handles that have not ended.
func (s *handleStore) prolong(ctx context.Context, until map[*handle]time.Time) error {
	return s.db.Update(ctx, func(tx metadata.Tx) error {
		for h, expires := range until {
			if _, err := tx.Exec(ctx, `UPDATE {M}vega_query_handles SET expires_at = $2 WHERE id = $1 AND ended_at = 0`, h.id, micros(expires)); err != nil {
				return err
			}
		}
		return nil
	})
}

// byID finds a row; found is false when there is none.
func (s *handleStore) byID(ctx context.Context, id string) (r handleRow, found bool, err error) {
	err = s.db.View(ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(ctx, `SELECT `+handleColumns+` FROM {M}vega_query_handles WHERE id = $1`, id)
		if err != nil || len(rows) == 0 {
			return err
		}
		found = true
		r, err = scanHandle(rows[0])
		return err
	})
	return r, found, err
}

// remove forgets handles: the given ones, and those of any server that expired before the given time.
func (s *handleStore) remove(ctx context.Context, before time.Time, ids ...string) error {
	return s.db.Update(ctx, func(tx metadata.Tx) error {
		for _, id := range ids {
			if _, err := tx.Exec(ctx, `DELETE FROM {M}vega_query_handles WHERE id = $1`, id); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `DELETE FROM {M}vega_query_handles WHERE expires_at < $1`, micros(before))
		return err
	})
}

func scanHandle(row []any) (handleRow, error) {
	var r handleRow
	var state string
	var submitted, ended, expires int64
	for i, to := range []any{&r.id, &r.principal, &r.kind, &r.job, &r.server, &r.boot, &r.commit.id, &r.commit.after, &r.schema, &state, &r.rows,
		&r.code, &r.message, &r.hint, &submitted, &ended, &expires} {
		ok := false
		switch to := to.(type) {
		case *string:
			*to, ok = row[i].(string)
		case *int64:
			*to, ok = row[i].(int64)
		}
		if !ok {
			return r, fmt.Errorf("column %d of a query handle's row is a %T", i, row[i])
		}
	}
	r.state = job.State(state)
	r.submitted, r.ended, r.expires = fromMicros(submitted), fromMicros(ended), fromMicros(expires)
	return r, nil
}

// row is the handle as it is kept.
func (h *handle) row(server, boot string) handleRow {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := handleRow{
		id: h.id, principal: h.principal, kind: h.kind, job: h.job, server: server, boot: boot, commit: h.commit,
		state: h.now.State, rows: h.now.Rows, submitted: h.submitted, ended: h.now.Ended, expires: h.expires,
	}
	if h.schema != nil {
		r.schema = base64.StdEncoding.EncodeToString(flight.SerializeSchema(h.schema, memory.DefaultAllocator))
	}
	if h.now.Err != nil {
		f := classify(h.now.Err)
		r.code, r.message, r.hint = f.Code.Name(), f.Message, f.Hint
		if f.Cause != nil {
			r.message += ": " + f.Cause.Error()
		}
	}
	return r
}

// restored is a handle made from its row, before it is known what became of its statement.
func restored(r handleRow, at time.Time) (*handle, error) {
	h := newHandle(r.id, r.principal, at)
	if r.schema != "" {
		raw, err := base64.StdEncoding.DecodeString(r.schema)
		if err == nil {
			h.schema, err = flight.DeserializeSchema(raw, memory.DefaultAllocator)
		}
		if err != nil {
			return nil, fmt.Errorf("the schema of query handle %s: %w", r.id, err)
		}
	}
	h.kind, h.job, h.commit, h.submitted, h.expires, h.kept = r.kind, r.job, r.commit, r.submitted, r.expires, r.expires
	return h, nil
}

// err is the error that the row records.
func (r handleRow) err() error {
	code := fault.Lookup(r.code)
	if code == nil {
		return nil
	}
	f := code.Newf("%s", r.message)
	if r.hint != "" {
		f = f.WithHint("%s", r.hint)
	}
	return f
}
