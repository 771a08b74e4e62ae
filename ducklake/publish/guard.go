package publish

import (
	"context"
	"fmt"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// maxWindow bounds how many snapshots are looked through; a publication that is older checks the table itself.
const maxWindow = 5000

// window is what others did between the snapshot that publications were made from and the newest one.
type window struct {
	from, to int64
	changes  []metadata.SnapshotChanges
}

// readWindow reads the changes since the oldest snapshot that any of the publications knows.
func readWindow(ctx context.Context, tx metadata.Tx, batch []*work, newest int64) (window, error) {
	from := newest
	for _, w := range batch {
		if w.pub.Seen > 0 {
			from = min(from, w.pub.Seen)
		}
	}
	from = max(from, newest-maxWindow)
	if from >= newest {
		return window{from: from, to: newest}, nil
	}
	changes, err := metadata.Changes(ctx, tx, from, newest)
	return window{from: from, to: newest, changes: changes}, err
}

// class is the strongest thing done to the table since seen. known is false when snapshots between are gone, or seen
// is older than the window.
func (w window) class(table, seen int64) (class metadata.Class, known bool) {
	if seen <= 0 || seen < w.from {
		return metadata.Untouched, false
	}
	next := seen + 1
	for _, s := range w.changes {
		if s.ID <= seen {
			continue
		}
		if s.ID != next {
			return class, false
		}
		next++
		class = max(class, s.Class(table))
	}
	return class, next == w.to+1
}

// guard looks at everything that decides whether a publication may be committed now. It only reads. done means that
// a commit has it already, whose answer was lost.
func (p *Publisher) guard(ctx context.Context, tx metadata.Tx, w *work, newest metadata.Snapshot, win window) (done bool, err error) {
	pub := w.pub
	if !w.recalled.published(pub.Swap) { // or the swap finds out
		if done, err := w.checkPublished(ctx, tx); done || err != nil {
			return done, err
		}
	}
	if err := checkFence(ctx, tx, pub.Owner); err != nil {
		return false, err
	}

	class, known := win.class(pub.Table.ID, pub.Seen)
	if p.broken(RuleGuard) {
		class, known = metadata.Untouched, true
	}
	if !known || class >= metadata.Altered || pub.Replace != nil && !sameColumns(pub.Replace.columns, pub.Table.Columns) {
		if err := p.reload(ctx, tx, w, newest.ID); err != nil {
			return false, err
		}
	}
	w.class, w.known = class, known
	switch {
	case pub.Delta != nil:
		return false, w.checkDelta()
	case pub.Replace != nil:
		return false, p.checkReplace(ctx, tx, w)
	}
	return false, nil
}

// checkPublished compares the published state with what the swap starts from.
func (w *work) checkPublished(ctx context.Context, tx metadata.Tx) (done bool, err error) {
	pub := w.pub
	now, found, err := ReadPublished(ctx, tx, pub.Swap.UUID)
	if err != nil {
		return false, err
	}
	if found && now.Epoch > 0 && now.CommitID == pub.CommitID {
		w.result = now.result()
		return true, nil
	}
	if !found {
		return false, fault.RefreshConflict.Newf("%s has no published state any more", pub.name())
	}
	if now.Epoch != pub.Swap.Epoch || now.Generation != pub.Swap.Generation {
		// A later publication may stand over ours.
		snapshot, ours, err := metadata.LookupCommit(ctx, tx, pub.CommitID, pub.Seen)
		if err != nil {
			return false, err
		}
		if ours {
			w.result = Result{Snapshot: snapshot, Epoch: pub.Swap.Epoch + 1, Generation: max(pub.Swap.NextGeneration, pub.Swap.Generation)}
			return true, nil
		}
		return false, pub.conflict(now)
	}
	return false, nil
}

// reload reads the table as it is now and compares.
func (p *Publisher) reload(ctx context.Context, tx metadata.Tx, w *work, at int64) error {
	pub := w.pub
	table, found, err := metadata.TableByID(ctx, tx, pub.Table.ID, at)
	if err != nil {
		return err
	}
	if !found {
		return fault.ObjectNotFound.Newf("table %s was dropped", pub.name())
	}
	want := pub.Table.Columns
	if pub.Replace != nil {
		want = pub.Replace.columns
	}
	if !sameColumns(want, table.Columns) {
		return fault.SourceChanged.Newf("the columns of table %s were changed by somebody else", pub.name()).
			WithHint("drop the table and create it again")
	}
	return checkLayout(ctx, tx, table)
}

// checkLayout refuses tables that are partitioned or sorted: files would have to be, too.
func checkLayout(ctx context.Context, tx metadata.Tx, t metadata.TableInfo) error {
	rows, err := tx.Query(ctx, `SELECT (SELECT count(*) FROM {M}ducklake_partition_info WHERE table_id = $1 AND end_snapshot IS NULL)
		+ (SELECT count(*) FROM {M}ducklake_sort_info WHERE table_id = $1 AND end_snapshot IS NULL)`, t.ID)
	if err != nil {
		return err
	}
	if n, _ := rows[0][0].(int64); n != 0 {
		return fault.LakeUnsupported.Newf("table %s.%s is partitioned or sorted", t.Schema, t.Name)
	}
	return nil
}

// checkDelta says whether the rows lie where the delta thinks and are the ones it knows.
func (w *work) checkDelta() error {
	d, t := w.pub.Delta, w.pub.Table
	switch {
	case !w.known && (len(d.Delete) > 0 || w.pub.Seen > 0):
		return moved(t, metadata.Untouched, w.pub.Seen, "may have moved: the snapshots are gone")
	case w.class == metadata.Written || w.class == metadata.Rewritten:
		return moved(t, w.class, w.pub.Seen, "were changed by somebody else")
	case w.class == metadata.Relocated && (len(d.Delete) > 0 || d.Relocate != nil): // who follows moves must not miss one
		return moved(t, w.class, w.pub.Seen, "were moved by a flush or merge")
	}
	return nil
}

// errFlush asks for a flush of the table's inlined deletes before the commit is tried again.
type errFlush struct{ table metadata.TableInfo }

func (e errFlush) Error() string {
	return fmt.Sprintf("publish: %s.%s has inlined deletes to flush", e.table.Schema, e.table.Name)
}

// checkReplace notes what the replacement takes away from others, and asks for a flush of inlined deletes: the feed
// would report them again with the files they are in.
func (p *Publisher) checkReplace(ctx context.Context, tx metadata.Tx, w *work) error {
	w.result.Healed = w.class == metadata.Written || w.class == metadata.Rewritten
	rows, err := tx.Query(ctx, `SELECT count(*) FROM {M}`+metadata.QuoteIdent(InlinedDeletes(w.pub.Table.ID))+` d
		JOIN {M}ducklake_data_file f ON f.data_file_id = d.file_id WHERE f.end_snapshot IS NULL`)
	if err != nil {
		return err
	}
	if n, _ := rows[0][0].(int64); n > 0 && !p.broken(RuleFlush) {
		return errFlush{w.pub.Table}
	}
	return nil
}

// InlinedDeletes is the name of the table of a table's inlined deletes.
func InlinedDeletes(tableID int64) string { return fmt.Sprintf("ducklake_inlined_delete_%d", tableID) }
