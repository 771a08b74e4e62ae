package lake

import (
	"context"
	"errors"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/job"
	"github.com/vegadb/vega-flight/ivm/refresh"
	"github.com/vegadb/vega-flight/ivm/store"
)

// pinned is a read transaction on a connection of its own, with a hold on its snapshot.
type pinned struct {
	s       *Sink
	conn    *duck.Conn
	release func()
	holder  string // of the hold in the catalog, "" for none
	unpin   func() // lets go of the pin in this process, nil for none
	version int64
}

// pins bounds how often a snapshot may expire between being pinned and being held.
const pins = 10

// Pin starts a read of the lake.
func (s *Sink) Pin(ctx context.Context, spec refresh.PinSpec) (refresh.Pinned, error) {
	for range pins {
		p, err := s.pin(ctx, spec)
		if err == nil || spec.Version != 0 || !errors.Is(err, fault.HistoryExpired.Sentinel()) {
			return p, err
		}
	}
	return nil, fault.CommitConflict.Newf("every snapshot expired before it could be held")
}

func (s *Sink) pin(ctx context.Context, spec refresh.PinSpec) (_ refresh.Pinned, err error) {
	conn, release, err := s.Lake.Acquire(ctx, ducklake.Aside(spec.TimeZone))
	if err != nil {
		return nil, err
	}
	p := &pinned{s: s, conn: conn, release: release}
	if s.Pins != nil && !s.Lake.Shared() {
		p.unpin = s.Pins.Pin(spec.Version) // before the transaction, so that nothing it sees can expire
	}
	defer func() {
		if err != nil {
			err = errors.Join(reading(err), p.Close())
		}
	}()
	if _, err = conn.Exec(ctx, `BEGIN TRANSACTION`); err != nil {
		return nil, err
	}
	rows, err := conn.Rows(ctx, `SELECT id FROM `+metadata.QuoteIdent(s.Lake.Name())+`.current_snapshot()`)
	if err != nil {
		return nil, err
	}
	newest, ok := rows[0][0].(int64)
	if !ok {
		return nil, fault.LakeUnreadable.Newf("the newest snapshot is %v", rows[0][0])
	}
	p.version = newest
	if spec.Version != 0 {
		if spec.Version > newest {
			return nil, fault.InvalidOption.Newf("source_version %d does not exist yet; the newest snapshot is %d", spec.Version, newest)
		}
		p.version = spec.Version
	}
	if err = p.hold(ctx, spec); err != nil {
		return nil, err
	}
	return p, fail(s.Faults.Pinned)
}

// hold keeps the version readable, and makes sure that it still is.
func (p *pinned) hold(ctx context.Context, spec refresh.PinSpec) error {
	if p.unpin != nil {
		if spec.Version == 0 {
			begun := p.unpin
			p.unpin = p.s.Pins.Pin(p.version)
			begun()
			return nil
		}
		return p.s.db.View(ctx, func(tx metadata.Tx) error {
			_, err := metadata.SnapshotAt(ctx, tx, p.version)
			return err
		})
	}
	p.holder = spec.JobID
	return p.s.db.Update(ctx, func(tx metadata.Tx) error {
		return maintain.SetHold(ctx, tx, maintain.Hold{Holder: p.holder, Snapshot: p.version, Exact: true})
	})
}

// Version is the snapshot that is read.
func (p *pinned) Version() int64 { return p.version }

// Tables are the lake's tables at the version.
func (p *pinned) Tables(ctx context.Context) ([]catalog.Table, error) {
	var out []catalog.Table
	err := p.s.db.View(ctx, func(tx metadata.Tx) error {
		infos, err := metadata.Tables(ctx, tx, metadata.Filter{At: p.version})
		out = make([]catalog.Table, len(infos))
		for i := range infos {
			out[i] = store.Table(infos[i])
		}
		return err
	})
	return out, err
}

// Changed says whether rows of the tables differ between two snapshots, as far as commits tell.
func (p *pinned) Changed(ctx context.Context, since int64, tables []int64) (bool, error) {
	from, to := min(since, p.version), max(since, p.version)
	var changed bool
	err := p.s.db.View(ctx, func(tx metadata.Tx) error {
		w, err := readWindow(ctx, tx, from, to)
		changed = err == nil && w.changed(from, tables)
		return err
	})
	return changed, err
}

// window is the commits of a range of snapshots.
type window struct {
	to      int64
	commits []metadata.SnapshotChanges
}

func readWindow(ctx context.Context, tx metadata.Tx, from, to int64) (window, error) {
	w := window{to: to}
	if from >= to {
		return w, nil
	}
	var err error
	w.commits, err = metadata.Changes(ctx, tx, from, to)
	return w, err
}

// changed says whether a commit after from changed rows of the tables; true when commits are missing.
func (w window) changed(from int64, tables []int64) bool {
	next := from + 1
	for _, c := range w.commits {
		if c.ID <= from {
			continue
		}
		if c.ID != next {
			return true
		}
		next++
		for _, id := range tables {
			if store.ChangesRows(c, id) {
				return true
			}
		}
	}
	return next <= w.to
}

// staged is a result that nobody sees: files with all of it, or what changes.
type staged struct {
	files *publish.Staged
	delta *publish.Delta
	rows  int64  // that come with the delta
	total *int64 // rows of the table after the delta
	table metadata.TableInfo
	seen  int64
}

// Rows is how many rows are written.
func (s *staged) Rows() int64 {
	if s.delta != nil {
		return s.rows
	}
	return s.files.Rows
}

// release frees what is kept until the publication.
func (s *staged) release() {
	if s.delta != nil {
		for _, b := range s.delta.Insert {
			b.Release()
		}
	}
}

// target is the view's table as it is now.
func (p *pinned) target(ctx context.Context, t catalog.Table) (*staged, error) {
	out := &staged{}
	err := p.s.db.View(ctx, func(tx metadata.Tx) error {
		newest, err := metadata.Latest(ctx, tx)
		if err != nil {
			return err
		}
		out.seen = newest.ID
		var found bool
		out.table, found, err = metadata.TableByID(ctx, tx, t.ID, newest.ID)
		if err == nil && !found {
			err = fault.ViewNotFound.Newf("the table of view %s was dropped", t.Name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if now := store.Table(out.table); !catalog.SameColumns(now.Columns, t.Columns) {
		return nil, fault.ViewAltered.Newf("another program changed the columns of view %s while it was refreshed", t.Name)
	}
	return out, nil
}

// Stage evaluates the query in the read transaction.
func (p *pinned) Stage(ctx context.Context, spec refresh.StageSpec, progress func(float64, int64)) (refresh.Staged, error) {
	out, err := p.target(ctx, spec.Target)
	if err != nil {
		return nil, err
	}
	ctx, why, leave := p.s.Lake.Bounded(ctx)
	defer leave()
	out.files, err = p.s.Publisher.Stage(ctx, p.conn, publish.StageSpec{Table: out.table, Query: spec.SQL, JobID: spec.JobID, Owner: p.s.Fence()},
		func(at publish.StageProgress) {
			fraction := job.Unknown
			if at.Percent >= 0 {
				fraction = at.Percent / 100
			}
			progress(fraction, 0)
		})
	if err != nil {
		return nil, evaluation(why(err))
	}
	return out, fail(p.s.Faults.Staged)
}

// Close ends the transaction and the hold.
func (p *pinned) Close() error {
	ctx := context.Background()
	_, err := p.conn.Exec(ctx, `ROLLBACK`)
	p.release()
	if p.unpin != nil {
		p.unpin()
	}
	if p.holder == "" {
		return nil // without a version the transaction may not have begun, and ROLLBACK says so
	}
	return errors.Join(err, p.s.db.Update(ctx, func(tx metadata.Tx) error { return maintain.ReleaseHolds(ctx, tx, p.holder) }))
}
