package store

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/job"
	"github.com/vegadb/vega-flight/ivm/refresh"
)

// Schedules implements refresh.Schedules.
type Schedules struct{ s *Store }

var _ refresh.Schedules = (*Schedules)(nil)

const scheduleColumns = `view_uuid, view_name, principal, interval_us, cron, time_zone, next_at, job_id, failures, last_error, last_end, server_id, version`

// Load returns all rows.
func (s *Schedules) Load(ctx context.Context) ([]refresh.Schedule, error) {
	var out []refresh.Schedule
	err := s.s.db.View(ctx, func(tx metadata.Tx) error {
		out = nil
		rows, err := tx.Query(ctx, `SELECT `+scheduleColumns+` FROM {M}vega_schedules ORDER BY view_uuid`)
		if err != nil {
			return err
		}
		for _, values := range rows {
			x, err := scanSchedule(values)
			if err != nil {
				return err
			}
			out = append(out, x)
		}
		return nil
	})
	return out, err
}

func scanSchedule(values []any) (refresh.Schedule, error) {
	var r metadata.Row
	r.Take(values)
	x := refresh.Schedule{ViewID: r.Text(), View: r.Text(), Principal: r.Text()}
	if us, ok := r.Next().(int64); ok {
		d := time.Duration(us) * time.Microsecond
		x.Interval = &d
	}
	x.Cron, x.TimeZone, x.NextAt, x.JobID, x.Failures = r.Text(), r.Text(), r.NullTime(), r.Text(), int(r.Int())
	x.LastError, x.LastEnd, x.ServerID, x.Version = r.Text(), r.NullTime(), r.Text(), uint64(r.Int())
	return x, r.Err()
}

// Save writes the row if it still has its version; version 0 inserts.
func (s *Schedules) Save(ctx context.Context, x refresh.Schedule) (bool, error) {
	var ok bool
	err := s.s.db.Update(ctx, func(tx metadata.Tx) (err error) {
		ok, err = s.s.SaveSchedule(ctx, tx, x)
		return err
	})
	return ok && err == nil, err
}

// SaveSchedule is Schedules.Save in a transaction.
func (s *Store) SaveSchedule(ctx context.Context, tx metadata.Tx, x refresh.Schedule) (bool, error) {
	var interval any
	if x.Interval != nil {
		interval = x.Interval.Microseconds()
	}
	args := []any{x.ViewID, x.View, x.Principal, interval, x.Cron, x.TimeZone, when(x.NextAt), x.JobID, int64(x.Failures), x.LastError,
		when(x.LastEnd), x.ServerID}
	if x.Version > 0 {
		n, err := tx.Exec(ctx, `UPDATE {M}vega_schedules SET view_name = $2, principal = $3, interval_us = $4, cron = $5, time_zone = $6,
			next_at = $7, job_id = $8, failures = $9, last_error = $10, last_end = $11, server_id = $12, version = version + 1
			WHERE view_uuid = $1 AND version = $13`, append(args, int64(x.Version))...)
		return n > 0, err
	}
	rows, err := tx.Query(ctx, `SELECT 1 FROM {M}vega_schedules WHERE view_uuid = $1`, x.ViewID)
	if err != nil || len(rows) > 0 {
		return false, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO {M}vega_schedules (`+scheduleColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 1)`, args...)
	return err == nil, err
}

// Fire is Save, and inserts the job in the same transaction.
func (s *Schedules) Fire(ctx context.Context, x refresh.Schedule, j job.Job) (bool, error) {
	var ok bool
	err := s.s.db.Update(ctx, func(tx metadata.Tx) (err error) {
		if ok, err = s.s.SaveSchedule(ctx, tx, x); err != nil || !ok {
			return err
		}
		return s.s.InsertJob(ctx, tx, j)
	})
	return ok && err == nil, err
}

// Remove deletes the view's row, if there is one.
func (s *Schedules) Remove(ctx context.Context, viewID string) error {
	return s.s.db.Update(ctx, func(tx metadata.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM {M}vega_schedules WHERE view_uuid = $1`, viewID)
		return err
	})
}
