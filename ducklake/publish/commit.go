package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// work is a publication on its way.
type work struct {
	pub       *Publication
	index     int    // in the caller's order
	into      target // for the delta's rows; without a name they become files
	enc       *encoded
	locations []Location
	class     metadata.Class
	known     bool
	recalled  *remembered
	leaves    *remembered // of this attempt
	done      bool        // committed, by this attempt or by one whose answer was lost
	result    Result
}

const (
	// rounds bounds how often a group is tried again after a flush, a relocation, a restaging or a lost answer. Conflicts
	// with other commits are tried again within a round, by the store.
	rounds = 12
	// lookupTime is how long the catalog is asked for a commit whose answer was lost.
	lookupTime = 15 * time.Second
)

// Publish commits the publications as one lake snapshot. Those that may not be committed (the swap was lost, the owner is
// fenced, the table has changed) are left out, with their error in their result; results are in the order of pubs.
// The error is for what keeps the whole group from being committed; if it is fault.CommitUnknown, the results of
// those publications have it too.
func (p *Publisher) Publish(ctx context.Context, pubs ...Publication) ([]Result, error) {
	batch := make([]*work, len(pubs))
	seen := map[string]bool{}
	for i := range pubs {
		if err := pubs[i].check(); err != nil {
			return nil, err
		}
		if seen[pubs[i].Swap.UUID] {
			return nil, fmt.Errorf("publish: %s is twice in one group", pubs[i].name())
		}
		seen[pubs[i].Swap.UUID] = true
		batch[i] = &work{pub: &pubs[i], index: i}
	}
	// A fixed order, so that groups of different servers take row locks in the same one.
	slices.SortFunc(batch, func(a, b *work) int { return strings.Compare(a.pub.Swap.UUID, b.pub.Swap.UUID) })
	results := make([]Result, len(pubs))
	defer p.dropStaged(ctx, batch)

	err := p.publish(ctx, batch, results)
	for i, w := range sortedByIndex(batch) {
		if w.done {
			results[i] = w.result
		} else if results[i].Err == nil {
			results[i].Err = err
		}
	}
	return results, err
}

func sortedByIndex(batch []*work) []*work {
	out := slices.Clone(batch)
	slices.SortFunc(out, func(a, b *work) int { return cmp.Compare(a.index, b.index) })
	return out
}

func (p *Publisher) publish(ctx context.Context, batch []*work, results []Result) error {
	for _, w := range batch {
		if err := p.ready(ctx, w); err != nil {
			if fault.CodeOf(err) == nil {
				return err
			}
			results[w.index].Err = err
		}
	}
	rest := keep(batch, results)
	for range rounds + 2*len(batch) { // each publication may be dropped, and its rows may have moved
		if len(rest) == 0 {
			return nil
		}
		err := p.round(ctx, rest)
		var (
			flush errFlush
			drop  *dropped
			gone  *MovedError
		)
		switch {
		case err == nil:
			return nil
		case errors.As(err, &flush):
			if err := p.relocate(ctx, flush.table); err != nil {
				return err
			}
		case errors.As(err, &drop) && errors.As(drop.err, &gone) && drop.w.pub.Delta.Relocate != nil:
			w := drop.w
			locations, seen, err := w.pub.Delta.Relocate(ctx, gone)
			if err != nil {
				results[w.index].Err = err
				break
			}
			pub := *w.pub
			pub.Seen = seen
			w.pub, w.locations = &pub, locations
		case errors.As(err, &drop) && errors.Is(drop.err, errRestage):
			drop.w.into = target{}
			err = p.encode(ctx, drop.w)
			if err != nil {
				results[drop.w.index].Err = err
			}
		case errors.As(err, &drop) && errors.Is(drop.err, errForgotten):
			p.forget(drop.w.pub.Table.ID)
		case errors.As(err, &drop):
			results[drop.w.index].Err = drop.err
		case fault.CodeOf(err) == fault.CommitUnknown:
			if err := p.lookup(ctx, rest, err); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		default:
			return err
		}
		rest = keep(rest, results)
	}
	return fault.CommitConflict.Newf("the table was changed by others %d times while a commit was tried", rounds)
}

// relocate flushes a table whose inlined deletes are in the way.
func (p *Publisher) relocate(ctx context.Context, table metadata.TableInfo) error {
	if p.Faults.Flush != nil {
		if err := p.Faults.Flush(); err != nil {
			return err
		}
	}
	return p.Relocate(ctx, table, Flush)
}

// keep are the publications that are neither done nor failed. What failed takes its bundle with it.
func keep(batch []*work, results []Result) []*work {
	failed := map[string]*work{}
	for _, w := range batch {
		if b := w.pub.Bundle; b != "" && results[w.index].Err != nil && failed[b] == nil {
			failed[b] = w
		}
	}
	for _, w := range batch {
		if by := failed[w.pub.Bundle]; by != nil && !w.done && results[w.index].Err == nil {
			results[w.index].Err = fmt.Errorf("publish: %s is committed with %s or not at all: %w", w.pub.name(), by.pub.name(), results[by.index].Err)
		}
	}
	var out []*work
	for _, w := range batch {
		if !w.done && results[w.index].Err == nil {
			out = append(out, w)
		}
	}
	return out
}

// ready does for one publication what needs no lock: the rows that must be there before, and a delta's encoding.
func (p *Publisher) ready(ctx context.Context, w *work) error {
	if err := p.ensureInlinedDeletes(ctx, w.pub.Table.ID); err != nil {
		return err
	}
	if w.pub.Swap.Epoch == 0 {
		if err := p.register(ctx, w.pub); err != nil {
			return err
		}
	}
	if w.pub.Delta == nil {
		return nil
	}
	w.locations = w.pub.Delta.Delete
	if len(w.pub.Delta.Insert) > 0 {
		var err error
		if w.into, err = p.target(ctx, w.pub.Table.ID); err != nil {
			return err
		}
	}
	return p.encode(ctx, w)
}

// dropped is the error of one publication of a group, which the others go on without.
type dropped struct {
	w   *work
	err error
}

func (d *dropped) Error() string { return d.err.Error() }

// round is one try to commit the group: guards first, then the writes, then the swaps.
func (p *Publisher) round(ctx context.Context, batch []*work) error {
	came := time.Now()
	unlock, err := p.Lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	locked := time.Now()
	var snapshot int64
	err = p.Store.Update(ctx, func(tx metadata.Tx) error {
		snapshot = 0
		var err error
		snapshot, err = p.commit(ctx, tx, batch)
		return err
	})
	if err == nil && snapshot != 0 && p.Faults.AfterCommit != nil {
		if lost := p.Faults.AfterCommit(); lost != nil {
			err = fault.CommitUnknown.Wrap(lost, "the catalog did not answer COMMIT")
		}
	}
	if fault.CodeOf(err) == fault.CommitUnknown && p.Notify != nil {
		p.Notify(0) // it may have been made
	}
	if err != nil {
		for _, w := range batch {
			w.done = false
		}
		return err
	}
	p.remember(batch)
	if snapshot != 0 && p.Committed != nil {
		p.Committed(locked.Sub(came), time.Since(locked))
	}
	if snapshot != 0 && p.Notify != nil {
		p.Notify(snapshot)
	}
	return nil
}

// commit runs within the transaction. It may run again from the start.
func (p *Publisher) commit(ctx context.Context, tx metadata.Tx, batch []*work) (int64, error) {
	if err := metadata.CheckVersion(ctx, tx); err != nil {
		return 0, err
	}
	newest, err := metadata.Latest(ctx, tx)
	if err != nil {
		return 0, err
	}
	win, err := readWindow(ctx, tx, batch, newest.ID)
	if err != nil {
		return 0, err
	}
	var open []*work
	for _, w := range batch {
		w.result, w.done, w.leaves = Result{}, false, nil
		w.recalled = p.recall(w, batch, newest.SchemaVersion, win)
		done, err := p.guard(ctx, tx, w, newest, win)
		switch {
		case err == nil && done:
			w.done = true
		case err == nil:
			open = append(open, w)
		default:
			return 0, one(w, err)
		}
	}
	if len(open) == 0 {
		return 0, nil
	}

	snap := newest
	snap.ID++
	var made []string
	writers := make([]*writer, len(open))
	for i, w := range open {
		x := &writer{p: p, tx: tx, w: w, snap: &snap, table: w.pub.Table.ID, recalled: w.recalled}
		writers[i] = x
		if err := x.write(ctx); err != nil {
			return 0, one(w, err)
		}
		made = append(made, x.changesMade()...)
	}
	if len(made) == 0 {
		// The extension puts the changes of several snapshots into one text, and fails with it when one of them is empty: every
		// transaction that such a snapshot has overtaken would be lost. So a commit without rows says that it inserted some.
		made = []string{fmt.Sprintf("%s:%d", metadata.InsertedInto, open[0].pub.Table.ID)}
	}
	if err := p.insertSnapshot(ctx, tx, &snap, made, open); err != nil {
		return 0, err
	}
	for i, w := range open {
		rows := w.result.Rows
		if w.pub.Total != nil {
			rows = *w.pub.Total
		}
		generation, err := w.pub.swap(ctx, tx, snap.ID, rows, p.ServerID)
		if err != nil && w.recalled.published(w.pub.Swap) && fault.CodeOf(err) == fault.RefreshConflict {
			err = errForgotten
		}
		if err != nil {
			return 0, one(w, err)
		}
		for _, also := range w.pub.Also {
			if err := also(ctx, tx, snap); err != nil {
				return 0, one(w, err)
			}
		}
		w.result.Snapshot, w.result.At = snap.ID, snap.Time
		w.result.Untouched = w.known && w.class == metadata.Untouched
		w.result.Epoch, w.result.Generation = w.pub.Swap.Epoch+1, generation
		w.done, w.leaves = true, writers[i].left(generation)
	}
	if p.Faults.BeforeCommit != nil {
		if err := p.Faults.BeforeCommit(); err != nil {
			return 0, err
		}
	}
	return snap.ID, nil
}

// one makes err the error of one publication, unless it is of the transaction as a whole.
func one(w *work, err error) error {
	var flush errFlush
	if errors.As(err, &flush) || metadata.IsConflict(err) || metadata.IsDuplicate(err) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if code := fault.CodeOf(err); code == fault.CatalogGone || code == fault.CommitUnknown || code == fault.LakeUnreadable {
		return err
	}
	return &dropped{w: w, err: err}
}

func (p *Publisher) insertSnapshot(ctx context.Context, tx metadata.Tx, snap *metadata.Snapshot, made []string, open []*work) error {
	info := metadata.CommitInfo{ID: open[0].pub.CommitID, Kind: metadata.CommitPublish, Server: p.ServerID}
	for _, w := range open[1:] {
		info.Members = append(info.Members, w.pub.CommitID)
	}
	message := open[0].pub.Message
	if len(open) > 1 {
		message = fmt.Sprintf("%d publications", len(open))
	}
	const insert = `INSERT INTO {M}ducklake_snapshot (snapshot_id, schema_version, next_catalog_id, next_file_id, snapshot_time) VALUES ($1, $2, $3, $4, `
	var err error
	if tx.Dialect() == metadata.DuckDB { // its clock is this process's, and now() would have the statement planned each time
		snap.Time = time.Now().UTC().Truncate(time.Microsecond)
		_, err = tx.Exec(ctx, insert+`$5)`, snap.ID, snap.SchemaVersion, snap.NextCatalogID, snap.NextFileID, snap.Time)
	} else {
		var rows [][]any
		rows, err = tx.Query(ctx, insert+`now()) RETURNING snapshot_time`, snap.ID, snap.SchemaVersion, snap.NextCatalogID, snap.NextFileID)
		if len(rows) == 1 {
			snap.Time, _ = rows[0][0].(time.Time)
		}
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO {M}ducklake_snapshot_changes (snapshot_id, changes_made, author, commit_message, commit_extra_info)
		VALUES ($1, $2, $3, $4, $5)`, snap.ID, strings.Join(made, ","), metadata.Author, message, info.ExtraInfo())
	return err
}

// lookup finds out what became of a COMMIT whose answer was lost. It first touches the rows that the commit has
// written: if the catalog is still busy with that transaction, the touch waits for its end.
func (p *Publisher) lookup(ctx context.Context, batch []*work, lost error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := p.Store.Update(ctx, func(tx metadata.Tx) error {
			for _, w := range batch {
				if _, err := tx.Exec(ctx, `UPDATE {M}vega_published SET commit_id = commit_id WHERE uuid = $1`, w.pub.Swap.UUID); err != nil {
					return err
				}
			}
			return p.found(ctx, tx, batch)
		})
		if err == nil {
			p.log.Info("the outcome of a commit whose answer was lost is known", "commit", batch[0].pub.CommitID, "committed", batch[0].done)
			return nil
		}
		select {
		case <-ctx.Done():
			return fault.CommitUnknown.Wrap(lost, "publication %s of %s, and the catalog cannot be asked", batch[0].pub.CommitID, batch[0].pub.name()).
				WithHint("look for the commit id in ducklake_snapshot_changes.commit_extra_info when the catalog is back")
		case <-time.After(wait):
		}
	}
}

// found fills in the results of publications that are committed.
func (p *Publisher) found(ctx context.Context, tx metadata.Tx, batch []*work) error {
	for _, w := range batch {
		w.done = false
		now, ok, err := ReadPublished(ctx, tx, w.pub.Swap.UUID)
		if err != nil {
			return err
		}
		if ok && now.CommitID == w.pub.CommitID {
			w.done = true
			w.result = now.result()
			continue
		}
		snapshot, ok, err := metadata.LookupCommit(ctx, tx, w.pub.CommitID, w.pub.Seen)
		if err != nil {
			return err
		}
		if ok {
			w.done = true
			w.result = Result{Snapshot: snapshot, Epoch: w.pub.Swap.Epoch + 1, Generation: max(w.pub.Swap.NextGeneration, w.pub.Swap.Generation)}
		}
	}
	return nil
}

// dropStaged removes what was staged for deltas that were not committed. A replacement's files are the caller's.
func (p *Publisher) dropStaged(ctx context.Context, batch []*work) {
	for _, w := range batch {
		if w.done || w.enc == nil || w.enc.staged == nil || w.enc.staged == w.pub.Delta.Files {
			continue
		}
		if err := p.discard(context.WithoutCancel(ctx), []string{w.enc.staged.Folder}); err != nil {
			p.log.Warn("staged files of a delta could not be removed", "folder", w.enc.staged.Folder, "error", err)
		}
	}
}
