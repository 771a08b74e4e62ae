package lake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// step is one view's part of a commitment.
type step struct {
	r      *result
	pub    publish.Publication
	aside  bool        // it is committed beside what is done with the result
	delta  *zset.Batch // nil: only the frontier moves, unless whole is there
	whole  *content    // all of the content; who has it discards it
	new    []rowName   // of the rows that come, in order; nil when they come as files
	old    []goneRow
	at     []place // of those
	comes  int64
	goes   int64
	staged *publish.Staged
	rows   arrow.RecordBatch
}

// goneRow is a row that goes, and how often.
type goneRow struct {
	name  rowName
	n     int64
	row   int // of the delta
	from  int // its places in step.at
	until int
}

// bundle is a commitment that is ready to be committed.
type bundle struct {
	o       Results
	c       stream.Commitment
	steps   []*step
	results []publish.Result
	err     error
}

// errAside says that rows that go were moved meanwhile: where they are now is to be found by who has the results.
var errAside = errors.New("lake: rows that go have moved")

// Publish commits the changes as one lake snapshot, all or none. Changes of other bundles that are ready at the same time share it.
func (o Results) Publish(ctx context.Context, c stream.Commitment) ([]stream.Published, error) {
	b, err := o.prepare(ctx, c, false)
	if err != nil || b == nil {
		if err == nil {
			return o.unchanged(ctx, c)
		}
		return nil, err
	}
	out, err := b.Commit(ctx)
	if err != nil {
		return nil, err
	}
	b.note(ctx)
	return out, nil
}

// Prepare makes the changes ready to be committed beside what is done with the results.
func (o Results) Prepare(ctx context.Context, c stream.Commitment) (stream.Bundle, error) {
	b, err := o.prepare(ctx, c, true)
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, fault.InternalError.Newf("a commitment without changes was to be prepared")
	}
	return b, nil
}

// steps begins the parts of a commitment.
func (o Results) steps(c stream.Commitment) (*bundle, error) {
	b := &bundle{o: o, c: c, steps: make([]*step, len(c.Members))}
	for i, m := range c.Members {
		r, ok := m.Result.(*result)
		if !ok {
			return nil, fmt.Errorf("lake: the result of view %s is somebody else's: %T", m.View, m.Result)
		}
		st := &step{r: r, pub: publish.Publication{
			CommitID: c.ID, Message: fmt.Sprintf("changes of view %s", m.View), Bundle: c.ID, Owner: o.s.Fence(),
			Swap: publish.Swap{UUID: m.UUID, Generation: m.Generation, Epoch: m.Epoch, NextGeneration: m.NextGeneration, Frontier: m.Frontier.Encode()},
		}}
		if i > 0 {
			st.pub.CommitID = fmt.Sprintf("%s.%d", c.ID, i)
		}
		if m.Delta != nil && m.Delta.Len() > 0 {
			st.delta = m.Delta
		}
		if m.Staged != nil {
			if err := st.all(m.Staged); err != nil {
				return nil, err
			}
		}
		if m.Anew || m.Dropped != nil {
			st.pub.Also = append(st.pub.Also, func(ctx context.Context, tx metadata.Tx, _ metadata.Snapshot) error {
				return o.s.Store.AddDropped(ctx, tx, m)
			})
		}
		b.steps[i] = st
	}
	if len(b.steps) > 0 {
		first := &b.steps[0].pub
		first.Also = append(first.Also, func(ctx context.Context, tx metadata.Tx, _ metadata.Snapshot) error {
			return o.owned(ctx, tx, c.Members)
		})
	}
	return b, nil
}

// prepare makes a commitment ready; without any change there is no bundle.
func (o Results) prepare(ctx context.Context, c stream.Commitment, aside bool) (*bundle, error) {
	b, err := o.steps(c)
	if err != nil {
		return nil, err
	}
	anything := false
	for i, m := range c.Members {
		b.steps[i].aside = aside
		anything = anything || b.steps[i].delta != nil || b.steps[i].whole != nil || m.Epoch == 0 || m.NextGeneration != 0 && m.NextGeneration != m.Generation
	}
	if !anything {
		return nil, nil
	}
	for _, st := range b.steps {
		if err := st.prepare(ctx); err != nil {
			b.release()
			return nil, errors.Join(err, b.discard(ctx))
		}
	}
	return b, nil
}

func (b *bundle) release() {
	for _, st := range b.steps {
		st.release()
	}
}

// Commit makes the commit. It uses nothing that the results have.
func (b *bundle) Commit(ctx context.Context) ([]stream.Published, error) {
	defer b.release()
	pubs := make([]publish.Publication, len(b.steps))
	for i, st := range b.steps {
		pubs[i] = st.pub
	}
	b.results, b.err = b.o.s.group.bundle(ctx, pubs, b.o.s.Faults.Joined)
	for _, r := range b.results {
		if b.err == nil {
			b.err = r.Err
		}
	}
	if b.err != nil {
		b.err = errors.Join(b.err, b.discard(ctx))
		return nil, b.err
	}
	out := make([]stream.Published, len(b.steps))
	for i, st := range b.steps {
		r := b.results[i]
		out[i] = stream.Published{Snapshot: r.Snapshot, Epoch: r.Epoch, Generation: r.Generation, At: r.At}
		out[i].Exact = st.delta != nil && !r.Healed && st.r.names.exact(st.delta)
	}
	return out, nil
}

// Finish notes what was committed, where the results are. If rows had moved, it makes the commit now.
func (b *bundle) Finish(ctx context.Context, done []stream.Published) ([]stream.Published, error) {
	switch {
	case errors.Is(b.err, errAside):
		return b.o.Publish(ctx, b.c)
	case b.err != nil:
		return nil, b.err
	}
	b.note(ctx)
	return done, nil
}

// lastingWait bounds how long what is done after a commit goes on when its context has ended.
const lastingWait = time.Minute

func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(lastingWait)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-out.Done():
		}
	})
	return out, func() { stop(); cancel() }
}

func (b *bundle) note(ctx context.Context) {
	ctx, stop := lasting(ctx)
	defer stop()
	for i, st := range b.steps {
		st.finish(ctx, b.results[i])
	}
}

// unchanged records the frontiers of a commitment that changes no content, and gives what is published.
func (o Results) unchanged(ctx context.Context, c stream.Commitment) ([]stream.Published, error) {
	if err := o.Reflect(ctx, c.Members); err != nil {
		return nil, err
	}
	out := make([]stream.Published, len(c.Members))
	for i, m := range c.Members {
		p, err := o.s.current(ctx, m.UUID)
		if err != nil {
			return nil, err
		}
		if p.Epoch != m.Epoch || p.Generation != m.Generation { // since then, or the view is gone
			return nil, fault.RefreshConflict.Newf("view %s is at generation %d, epoch %d, not %d, %d", m.View, p.Generation, p.Epoch, m.Generation, m.Epoch)
		}
		out[i] = stream.Published{Snapshot: p.Snapshot, Epoch: p.Epoch, Generation: p.Generation, At: p.At}
	}
	return out, nil
}

// discard removes what was staged for a commitment that was not made. If its outcome is not known the files may be a commit's.
func (b *bundle) discard(ctx context.Context) error {
	ctx, stop := lasting(ctx)
	defer stop()
	var errs []error
	for _, st := range b.steps {
		if st.staged != nil {
			errs = append(errs, b.o.s.Publisher.Discard(ctx, st.pub.CommitID))
		}
	}
	return errors.Join(errs...)
}

func (st *step) release() {
	if st.rows != nil {
		st.rows.Release()
		st.rows = nil
	}
}

// prepare does all that needs no commit: which rows go and where they lie, and the rows that come as Arrow or as files.
func (st *step) prepare(ctx context.Context) error {
	r := st.r
	if r.theirs != nil {
		return r.theirs
	}
	if r.behind {
		if err := r.catchUp(ctx, following); err != nil {
			return err
		}
		if r.theirs != nil {
			return r.theirs
		}
	}
	st.pub.Table, st.pub.Seen = r.table, r.seen
	total := r.count
	st.pub.Total = &total
	if st.whole != nil {
		total, st.comes, st.goes = st.whole.Rows(), st.whole.Rows(), r.count
		st.pub.Replace = st.whole.files
		return nil
	}
	if st.delta == nil {
		return nil
	}
	limit := int64(r.s.Publisher.InlineRows)
	byName := map[rowName]int{}
	for i, w := range st.delta.Weights {
		if w > 0 {
			st.comes += w
			continue
		}
		st.goes -= w
		name := r.names.name(st.delta.Row(i), st.delta.Heap)
		if r.names.shared() {
			if j, ok := byName[name]; ok {
				st.old[j].n -= w
				continue
			}
			byName[name] = len(st.old)
		}
		st.old = append(st.old, goneRow{name: name, n: -w, row: i})
	}
	total += st.comes - st.goes
	if err := st.takeIn(ctx, limit); err != nil {
		return err
	}
	if st.goes == r.count && st.goes > limit {
		// All rows go: so do the files, and it does not matter where in them a row lies.
		return st.replace(ctx)
	}
	places, err := st.places()
	if err != nil {
		return err
	}
	d := &publish.Delta{Files: st.staged, Delete: places, Relocate: st.relocate}
	if st.rows != nil {
		d.Insert = []arrow.RecordBatch{st.rows}
	}
	st.pub.Delta = d
	return nil
}

// stageBatch is how many rows are made Arrow at once for files.
const stageBatch = 1 << 15

// takeIn makes the rows that come ready.
func (st *step) takeIn(ctx context.Context, limit int64) error {
	r := st.r
	if st.comes == 0 {
		return nil
	}
	if st.comes > limit {
		rows := copiesOf(st.delta, r.schema, stageBatch)
		defer rows.Release()
		return st.stage(ctx, rows)
	}
	for i, w := range st.delta.Weights {
		if w <= 0 {
			continue
		}
		for name := r.names.name(st.delta.Row(i), st.delta.Heap); w > 0; w-- {
			st.new = append(st.new, name)
		}
	}
	rows := copiesOf(st.delta, r.schema, int(st.comes))
	defer rows.Release()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return &stream.ViewError{UUID: r.uuid, Err: err}
		}
		return fault.InternalError.Newf("no rows came of %d", st.comes)
	}
	st.rows = rows.RecordBatch()
	st.rows.Retain()
	return nil
}

const stagedView = "vega_result_rows"

// stage writes rows as files.
func (st *step) stage(ctx context.Context, rows *copies) (err error) {
	if st.staged, err = st.r.s.stageRows(ctx, rows, st.r.table, st.pub.CommitID, st.pub.Owner); rows.Err() != nil {
		err = &stream.ViewError{UUID: st.r.uuid, Err: err}
	}
	return err
}

// stageRows writes rows as files of a table that nobody sees.
func (s *Sink) stageRows(ctx context.Context, rows *copies, table metadata.TableInfo, jobID string, owner publish.Fence) (out *publish.Staged, err error) {
	err = s.reading(ctx, func(c *duck.Conn) (err error) {
		release, err := c.RegisterArrow(stagedView, rows)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		out, err = s.Publisher.Stage(ctx, c, publish.StageSpec{Table: table, Query: `SELECT * FROM temp.main.` + stagedView, JobID: jobID, Owner: owner}, nil)
		if rows.Err() != nil {
			err = rows.Err() // DuckDB repeats it as its own
		}
		return err
	})
	return out, err
}

// replace makes the publication one of the whole content.
func (st *step) replace(ctx context.Context) error {
	if st.staged == nil {
		rows := copiesOf(st.delta, st.r.schema, stageBatch)
		defer rows.Release()
		if err := st.stage(ctx, rows); err != nil {
			return err
		}
		st.release()
		st.new = nil
	}
	st.pub.Replace = st.staged
	return nil
}

// places finds the rows that go.
func (st *step) places() ([]publish.Location, error) {
	r := st.r
	at := st.at[:0]
	for i := range st.old {
		g := &st.old[i]
		g.from = len(at)
		at = r.places.pick(at, g.name, g.n)
		g.until = len(at)
		if int64(g.until-g.from) < g.n {
			return nil, fault.ResultChanged.Newf("the table of view %s.%s has a row %d times that goes %d times: %s", r.table.Schema, r.table.Name,
				g.until-g.from, g.n, r.layout.Format(st.delta.Row(g.row), st.delta.Heap))
		}
	}
	st.at = at
	out := make([]publish.Location, len(at))
	for i, p := range at {
		out[i] = p.location()
	}
	return out, r.places.err()
}

// relocate finds the rows that go after others have moved them.
func (st *step) relocate(ctx context.Context, why *publish.MovedError) ([]publish.Location, int64, error) {
	if st.aside {
		return nil, 0, errAside
	}
	how := moved
	if why.Class != metadata.Relocated && why.Class != metadata.Untouched {
		how = astray
	}
	if err := st.r.catchUp(ctx, how); err != nil {
		return nil, 0, err
	}
	if st.r.theirs != nil {
		return nil, 0, st.r.theirs
	}
	places, err := st.places()
	if err != nil {
		return nil, 0, err
	}
	return places, st.r.seen, nil
}

// finish notes what was committed. What cannot be noted now is found before the next commit.
func (st *step) finish(ctx context.Context, done publish.Result) {
	r := st.r
	if st.delta == nil && st.whole == nil {
		if done.Untouched && r.theirs == nil && !r.behind { // what is known is as good as new
			r.seen, r.mark.Snapshot = done.Snapshot, done.Snapshot
		}
		return
	}
	r.sum = nil
	was := *r
	inlined := done.NextRowID > 0
	for _, s := range done.Inserted {
		inlined = inlined && s.File == publish.Inlined
	}
	var err error
	switch {
	case st.pub.Replace != nil:
		// What others wrote before it is gone with all else, and is nothing to be taken back.
		r.places.reset()
		r.stands(done, st.comes)
		was = *r
		err = r.catchUp(ctx, arrived)
	case done.NextRowID == 0: // its answer was lost
		err = r.catchUp(ctx, following)
	default:
		for _, g := range st.old {
			for _, at := range st.at[g.from:g.until] {
				r.places.remove(g.name, at)
			}
		}
		r.stands(done, r.count+st.comes-st.goes)
		if !inlined {
			err = r.catchUp(ctx, arrived)
			break
		}
		if len(done.Inserted) == 1 {
			for i, name := range st.new {
				r.places.add(name, inlinedBit|place(done.Inserted[0].First+int64(i)))
			}
		}
	}
	if err != nil {
		r.s.Log.Warn("where the rows of a commit lie is not known yet", "table", r.table.Name, "commit", st.pub.CommitID, "error", err)
		r.seen, r.next, r.mark, r.behind = was.seen, was.next, was.mark, true
	}
}

// stands notes a publication.
func (r *result) stands(done publish.Result, rows int64) {
	r.setCount(rows)
	r.seen, r.next = done.Snapshot, done.NextRowID
	r.mark = stream.Mark{Snapshot: done.Snapshot, NextRowID: done.NextRowID}
}
