package lake

import (
	"context"
	"fmt"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/job"
	"github.com/vegadb/vega-flight/ivm/refresh"
	"github.com/vegadb/vega-flight/ivm/store"
)

// Publish makes what was staged the view's content, and ends the job with it.
func (s *Sink) Publish(ctx context.Context, p refresh.Publication) (refresh.Published, error) {
	st, ok := p.Staged.(*staged)
	if !ok {
		return refresh.Published{}, fmt.Errorf("lake: staged by somebody else: %T", p.Staged)
	}
	defer st.release()
	if p.Built != nil {
		return s.publishBuilt(ctx, p, st)
	}
	var done refresh.Published
	pub := publication(p, st, s.Fence())
	pub.Also = append(pub.Also, func(ctx context.Context, tx metadata.Tx, at metadata.Snapshot) error {
		done = refresh.Published{Snapshot: at.ID, At: at.Time, Rows: st.Rows()}
		if err := s.redefine(ctx, tx, store.Table(st.table), p.Redefine); err != nil {
			return err
		}
		return s.endJob(ctx, tx, p, done)
	})
	res, err := s.group.publish(ctx, pub, s.Faults.Joined)
	if err != nil {
		return refresh.Published{}, err
	}
	if res.Healed {
		s.Log.Warn("somebody else had written into a view; the refresh replaced it", "view", p.Job.View, "job", p.Job.ID)
	}
	if p.Redefine != nil && p.Redefine.Definition != p.View.Definition {
		// The row counts; a comment that is missed here is written by upkeep.
		v := *p.View
		v.Row.Definition = p.Redefine.Definition
		if err := s.Comment(context.WithoutCancel(ctx), &v); err != nil {
			s.Log.Warn("the comment of a view could not be written yet", "view", p.Job.View, "error", err)
		}
	}
	// A commit whose answer was lost and looked up has not run Also in this process.
	done.Snapshot, done.Rows = res.Snapshot, st.Rows()
	return done, nil
}

// publication is the lake's part of a view's new generation.
func publication(p refresh.Publication, st *staged, fence publish.Fence) publish.Publication {
	at := p.View.Published
	if p.Built != nil {
		at = catalog.Published{}
	}
	return publish.Publication{
		CommitID: fmt.Sprintf("%s.%d", p.Job.ID, p.Job.Attempt),
		Message:  fmt.Sprintf("job %s: content of view %s", p.Job.ID, p.Job.View),
		Table:    st.table, Seen: st.seen, Replace: st.files, Delta: st.delta, Total: st.total,
		Swap: publish.Swap{
			UUID: st.table.UUID, Generation: at.Generation, Epoch: at.Epoch, NextGeneration: at.Generation + 1, Frontier: p.Frontier.Encode(),
		},
		Owner: fence,
	}
}

// redefine writes the view's new row; without one it makes sure that the view is still there.
func (s *Sink) redefine(ctx context.Context, tx metadata.Tx, table catalog.Table, next *catalog.Row) error {
	row, found, err := s.Store.RowByUUID(ctx, tx, table.UUID)
	if err != nil {
		return err
	}
	if !found {
		return fault.ViewNotFound.Newf("the view was dropped")
	}
	// The content is for these columns.
	if row.Columns == nil || next != nil && !catalog.SameColumns(row.Columns, table.Columns) {
		if err := s.Store.SetColumns(ctx, tx, table.UUID, table.Columns); err != nil {
			return err
		}
	}
	if next == nil {
		// The content may be older than the one before it.
		return s.Store.Touch(ctx, tx)
	}
	// Owner and options may have been altered since the job was submitted; what the query is comes from the job.
	row.Sources = next.Sources
	row.Definition, row.Hash = next.Definition, next.Hash
	ok, err := s.Store.UpdateRow(ctx, tx, row)
	if err == nil && !ok {
		err = fault.CommitConflict.Newf("the view's row changed in its own transaction")
	}
	return err
}

// endJob moves the job to SUCCEEDED, if it is still this run's to end.
func (s *Sink) endJob(ctx context.Context, tx metadata.Tx, p refresh.Publication, done refresh.Published) error {
	row, err := s.Store.JobByID(ctx, tx, p.Job.ID)
	if err != nil {
		return err
	}
	switch {
	case row.ServerID != p.Job.ServerID || row.Fence != p.Job.Fence || row.Attempt != p.Job.Attempt:
		return fault.Fenced.Newf("job %s was taken over by server %s", row.ID, row.ServerID)
	case row.State == job.Cancelling:
		return fault.Cancelled.Newf("job %s was cancelled", row.ID)
	}
	now, err := tx.Query(ctx, `SELECT now()`)
	if err != nil {
		return err
	}
	facts := job.Facts{Result: p.Result(done), Rows: done.Rows}
	if facts.Now, err = asTime(now[0][0]); err != nil {
		return err
	}
	next, ok := job.Decide(row, job.Returned, facts)
	if !ok || next.State != job.Succeeded {
		return fault.Fenced.Newf("job %s is %s already", row.ID, row.State)
	}
	if ok, err = s.Store.UpdateJob(ctx, tx, next); err != nil {
		return err
	}
	if !ok {
		return fault.CommitConflict.Newf("job %s changed in its own transaction", row.ID)
	}
	if err := maintain.ReleaseHolds(ctx, tx, row.ID); err != nil {
		return err
	}
	return fail(s.Faults.Ended)
}

// publishBuilt fills the table that was built for a view with other columns, and puts it into the view's place in one commit.
func (s *Sink) publishBuilt(ctx context.Context, p refresh.Publication, st *staged) (refresh.Published, error) {
	s.mu.Lock()
	h := s.hidden[p.Job.ID]
	s.mu.Unlock()
	if h == nil || p.Redefine == nil {
		return refresh.Published{}, fmt.Errorf("lake: job %s has built no table", p.Job.ID)
	}
	pub := publication(p, st, s.Fence())
	res, err := s.group.publish(ctx, pub, s.Faults.Joined)
	if err != nil {
		return refresh.Published{}, err
	}
	var done refresh.Published
	for attempt := 0; ; attempt++ {
		done, err = s.swapBuilt(ctx, p, h, pub.CommitID+".swap")
		// The view may have been renamed since its name was read.
		if fault.CodeOf(err) != fault.CommitConflict || attempt == 3 {
			break
		}
	}
	if err != nil {
		return refresh.Published{}, err
	}
	s.forgetHidden(p.Job.ID)
	done.Rows = res.Rows
	return done, nil
}

// swapBuilt puts the built table into the place of the view's, under the name that this has now.
func (s *Sink) swapBuilt(ctx context.Context, p refresh.Publication, h *ducklake.HiddenTable, commit string) (done refresh.Published, err error) {
	uuid := h.Info().UUID
	name, err := s.nameOf(ctx, p.View.Table)
	if err != nil {
		return done, err
	}
	at, err := h.Reveal(ctx, name.Name, p.Redefine.Definition, p.View.Table.ID, commit, func(ctx context.Context, tx metadata.Tx, at metadata.Snapshot) error {
		old, found, err := s.Store.RowByUUID(ctx, tx, p.View.UUID)
		if err != nil {
			return err
		}
		if !found {
			return fault.ViewNotFound.Newf("the view was dropped")
		}
		if readers, err := s.Store.HasReaders(ctx, tx, old.UUID); err != nil {
			return err
		} else if readers {
			return fault.DependentViews.Newf("the columns of view %s would change, and a view reads it since the replacement was submitted", name).
				WithHint("drop that view first, or keep the columns")
		}
		row := *p.Redefine
		row.UUID, row.Owner, row.CreatedAt, row.Name, row.Columns = uuid, old.Owner, old.CreatedAt, name, store.Table(h.Info()).Columns
		if err := s.Store.ReplaceRow(ctx, tx, old.UUID, row); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE {M}vega_published SET snapshot_id = $2 WHERE uuid = $1`, uuid, at.ID); err != nil {
			return err
		}
		done = refresh.Published{Snapshot: at.ID, At: at.Time, Rows: p.Staged.Rows()}
		if err := s.endJob(ctx, tx, p, done); err != nil {
			return err
		}
		return s.Store.MoveJobs(ctx, tx, old.UUID, uuid)
	})
	done.Snapshot = at.ID
	return done, err
}

// Reflect records that the content is the answer for a later state of the sources too.
func (s *Sink) Reflect(ctx context.Context, v *catalog.View, f catalog.Frontier) error {
	return s.db.Update(ctx, func(tx metadata.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE {M}vega_published SET frontier = $4 WHERE uuid = $1 AND generation = $2 AND epoch = $3`,
			v.UUID, v.Published.Generation, v.Published.Epoch, f.Encode())
		if err != nil || n == 0 {
			return err
		}
		return s.Store.Touch(ctx, tx)
	})
}
