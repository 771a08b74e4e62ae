package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/job"
)

// Jobs implements job.Store.
type Jobs struct{ s *Store }

var _ job.Store = (*Jobs)(nil)

const jobColumns = `id, kind, subject, view_name, principal, origin, state, phase, progress, rows_written, submitted_at, started_at,
	finished_at, error_code, error_message, error_hint, spec, result, server_id, fence, attempt, version`

// endedStates is a list for SQL's IN.
const endedStates = `('SUCCEEDED', 'FAILED', 'CANCELLED', 'INTERRUPTED')`

// Insert adds a row as it is.
func (s *Jobs) Insert(ctx context.Context, j job.Job) error {
	return s.s.db.Update(ctx, func(tx metadata.Tx) error { return s.s.InsertJob(ctx, tx, j) })
}

// InsertJob is Jobs.Insert in a transaction.
func (s *Store) InsertJob(ctx context.Context, tx metadata.Tx, j job.Job) error {
	_, err := tx.Exec(ctx, `INSERT INTO {M}vega_jobs (`+jobColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`,
		j.ID, string(j.Kind), j.Subject, j.View, j.Principal, j.Trigger, string(j.State), j.Phase, j.Progress, j.RowsWritten,
		when(j.SubmittedAt), when(j.StartedAt), when(j.FinishedAt), j.ErrorCode, j.ErrorMessage, j.ErrorHint,
		string(j.Spec), string(j.Result), j.ServerID, j.Fence, int64(j.Attempt), int64(j.Version))
	return err
}

// Update writes the row if it still has its version.
func (s *Jobs) Update(ctx context.Context, j job.Job) (bool, error) {
	var ok bool
	err := s.s.db.Update(ctx, func(tx metadata.Tx) (err error) {
		ok, err = s.s.UpdateJob(ctx, tx, j)
		return err
	})
	return ok && err == nil, err
}

// UpdateJob is Jobs.Update in a transaction.
func (s *Store) UpdateJob(ctx context.Context, tx metadata.Tx, j job.Job) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE {M}vega_jobs SET view_name = $2, state = $3, phase = $4, progress = $5, rows_written = $6, started_at = $7,
		finished_at = $8, error_code = $9, error_message = $10, error_hint = $11, result = $12, server_id = $13, fence = $14, attempt = $15,
		version = version + 1 WHERE id = $1 AND version = $16`,
		j.ID, j.View, string(j.State), j.Phase, j.Progress, j.RowsWritten, when(j.StartedAt), when(j.FinishedAt),
		j.ErrorCode, j.ErrorMessage, j.ErrorHint, string(j.Result), j.ServerID, j.Fence, int64(j.Attempt), int64(j.Version))
	return n > 0, err
}

// ByID returns one job.
func (s *Jobs) ByID(ctx context.Context, id string) (job.Job, error) {
	var j job.Job
	err := s.s.db.View(ctx, func(tx metadata.Tx) (err error) {
		j, err = s.s.JobByID(ctx, tx, id)
		return err
	})
	return j, err
}

// JobByID is Jobs.ByID in a transaction.
func (s *Store) JobByID(ctx context.Context, tx metadata.Tx, id string) (job.Job, error) {
	rows, err := tx.Query(ctx, `SELECT `+jobColumns+` FROM {M}vega_jobs WHERE id = $1`, id)
	if err != nil {
		return job.Job{}, err
	}
	if len(rows) == 0 {
		return job.Job{}, fault.JobNotFound.Newf("there is no job %q", id)
	}
	return scanJob(rows[0])
}

// List returns jobs, the newest submitted first.
func (s *Jobs) List(ctx context.Context, q job.Query) ([]job.Job, error) {
	sql, args := `SELECT `+jobColumns+` FROM {M}vega_jobs WHERE true`, []any{}
	equals := func(column, value string) {
		if value != "" {
			args = append(args, value)
			sql += fmt.Sprintf(` AND %s = $%d`, column, len(args))
		}
	}
	equals("subject", q.Subject)
	equals("principal", q.Principal)
	equals("server_id", q.ServerID)
	if q.Unfinished {
		sql += ` AND state NOT IN ` + endedStates
	}
	sql += ` ORDER BY submitted_at DESC, id DESC`
	if q.Limit > 0 {
		args = append(args, int64(q.Limit))
		sql += fmt.Sprintf(` LIMIT $%d`, len(args))
	}
	var out []job.Job
	err := s.s.db.View(ctx, func(tx metadata.Tx) error {
		out = nil
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		for _, values := range rows {
			j, err := scanJob(values)
			if err != nil {
				return err
			}
			out = append(out, j)
		}
		return nil
	})
	return out, err
}

// Prune forgets ended jobs: those that ended before the given time, and all but the newest keep.
func (s *Jobs) Prune(ctx context.Context, keep int, before time.Time) (int64, error) {
	var n int64
	err := s.s.db.Update(ctx, func(tx metadata.Tx) (err error) {
		n, err = tx.Exec(ctx, `DELETE FROM {M}vega_jobs WHERE state IN `+endedStates+` AND (finished_at < $1 OR id NOT IN (
			SELECT id FROM {M}vega_jobs WHERE state IN `+endedStates+` ORDER BY submitted_at DESC, id DESC LIMIT $2))`, when(before), int64(keep))
		return err
	})
	return n, err
}

func scanJob(values []any) (job.Job, error) {
	var r metadata.Row
	r.Take(values)
	j := job.Job{ID: r.Text(), Kind: job.Kind(r.Text()), Subject: r.Text(), View: r.Text(), Principal: r.Text(), Trigger: r.Text(),
		State: job.State(r.Text()), Phase: r.Text(), Progress: r.Float(), RowsWritten: r.Int(),
		SubmittedAt: r.NullTime(), StartedAt: r.NullTime(), FinishedAt: r.NullTime(),
		ErrorCode: r.Text(), ErrorMessage: r.Text(), ErrorHint: r.Text(), Spec: raw(r.Text()), Result: raw(r.Text()),
		ServerID: r.Text(), Fence: r.Int(), Attempt: int(r.Int()), Version: uint64(r.Int())}
	return j, r.Err()
}

// raw is a JSON text; the empty text is no JSON at all.
func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// MoveJobs makes the jobs of one subject those of another, which took its place.
func (s *Store) MoveJobs(ctx context.Context, tx metadata.Tx, from, to string) error {
	_, err := tx.Exec(ctx, `UPDATE {M}vega_jobs SET subject = $2 WHERE subject = $1`, from, to)
	return err
}
