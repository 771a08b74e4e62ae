package refresh

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/job"
)

// Refresher is the job.Work that gives views their content.
type Refresher struct {
	Lake     Lake
	Views    Views
	Text     Text
	LakeName string // the key of source_versions
	Now      func() time.Time
	Log      *slog.Logger
}

// Run refreshes one view.
func (r *Refresher) Run(ctx context.Context, j job.Job, report *job.Reporter) (job.Outcome, error) {
	order, err := DecodeOrder(j.Spec)
	if err != nil {
		return job.Outcome{}, err
	}
	run := &run{r: r, job: j, order: order, report: report, began: r.Now()}
	res, err := run.do(ctx)
	if err != nil {
		return job.Outcome{}, err
	}
	return job.Outcome{Result: res.Encode(), Rows: res.RowsWritten}, nil
}

// Discard removes what a run of the job left.
func (r *Refresher) Discard(ctx context.Context, j job.Job) error { return r.Lake.Discard(ctx, j.ID) }

// run is one run of one job.
type run struct {
	r      *Refresher
	job    job.Job
	order  Order
	report *job.Reporter
	began  time.Time
}

// repins bounds how often a pin is given up because an upstream view published while it was taken.
const repins = 20

func (u *run) do(ctx context.Context) (Result, error) {
	u.report.Progress("pinning", job.Unknown, 0)
	for attempt := 0; ; attempt++ {
		facts, err := u.r.Views.Load(ctx)
		if err != nil {
			return Result{}, err
		}
		view, err := u.view(facts)
		if err != nil {
			return Result{}, err
		}
		pinned, err := u.r.Lake.Pin(ctx, u.pin(view))
		if err != nil {
			return Result{}, err
		}
		res, again, err := u.at(ctx, view, facts, pinned, attempt < repins)
		if cerr := pinned.Close(); err == nil && cerr != nil {
			u.r.Log.Warn("letting go of a pinned snapshot", "job", u.job.ID, "error", cerr)
		}
		if !again {
			return res, err
		}
	}
}

// view finds the job's view; with OR REPLACE it is the view with its definition to be.
func (u *run) view(facts catalog.Facts) (*catalog.View, error) {
	views := catalog.Resolve(facts)
	v := views.ByUUID(u.job.Subject)
	if v == nil {
		return nil, fault.ViewNotFound.Newf("view %s does not exist any more", u.job.View)
	}
	if u.order.Redefine == nil {
		if v.Problem != nil {
			return nil, v.Problem
		}
		return v, v.Altered()
	}
	next := *v
	def, err := catalog.Decode(u.order.Redefine.Definition)
	if err != nil {
		return nil, err
	}
	next.Def, next.Sources = def, u.order.Redefine.Sources
	return &next, nil
}

func (u *run) pin(v *catalog.View) PinSpec {
	p := PinSpec{TimeZone: v.Def.TimeZone, JobID: u.job.ID}
	if u.order.SourceVersion != nil {
		p.Version = *u.order.SourceVersion
	}
	return p
}

// at refreshes at a pinned version. again asks for another pin.
func (u *run) at(ctx context.Context, v *catalog.View, facts catalog.Facts, pinned Pinned, mayRepin bool) (_ Result, again bool, err error) {
	tables, err := pinned.Tables(ctx)
	if err != nil {
		return Result{}, false, err
	}
	reads, moved, err := Follow(v.Name(), v.Sources, tables)
	if err != nil {
		var f *fault.Error
		if u.order.SourceVersion != nil && errors.As(err, &f) {
			err = fault.SourceChanged.Newf("at snapshot %d: %s", pinned.Version(), f.Message)
		}
		return Result{}, false, err
	}
	sources := make([]catalog.Source, len(reads))
	for i := range reads {
		sources[i] = reads[i].Source
	}
	if moved {
		if err := cyclic(v, reads, facts); err != nil {
			return Result{}, false, err
		}
	}
	if err := readable(v.Name(), sources, facts); err != nil {
		return Result{}, false, err
	}
	behind := false
	views := catalog.Resolve(facts)
	frontier := catalog.At(pinned.Version(), sources, func(uuid string) (catalog.Upstream, bool) {
		p, ok := facts.Published[uuid]
		if ok && p.Snapshot > pinned.Version() {
			behind = true
		}
		up := catalog.Upstream{Published: p}
		if read := views.ByUUID(uuid); read != nil {
			up.Meaning = read.Def.Meaning()
			up.Frontier = views.Reflected(read)
		}
		return up, ok
	})
	if behind && u.order.SourceVersion == nil && mayRepin {
		return Result{}, true, nil
	}
	step := step{v: v, reads: reads, sources: sources, moved: moved, frontier: frontier, tables: tables, pinned: pinned}
	if !moved && !u.order.Full && u.order.Redefine == nil {
		res, done, err := u.further(ctx, step)
		if done || err != nil {
			return res, false, err
		}
	}
	res, err := u.rebuild(ctx, step)
	return res, false, err
}

// step is a view's way to its content at a pinned version.
type step struct {
	v        *catalog.View
	reads    []Reading
	sources  []catalog.Source
	moved    bool
	frontier catalog.Frontier
	tables   []catalog.Table
	pinned   Pinned
}

// further goes on from the content that there is. done is false when that cannot be.
func (u *run) further(ctx context.Context, s step) (_ Result, done bool, err error) {
	ours, err := u.ours(ctx, s)
	if err != nil || !ours {
		return Result{}, false, err
	}
	ids := make([]int64, 0, len(s.reads))
	for _, r := range s.reads {
		for i := range s.tables {
			if s.tables[i].UUID == r.Source.UUID {
				ids = append(ids, s.tables[i].ID)
			}
		}
	}
	changed, err := s.pinned.Changed(ctx, s.v.Published.Frontier.SourceVersion, ids)
	if err != nil {
		return Result{}, false, err
	}
	if !changed {
		if err := u.r.Lake.Reflect(ctx, s.v, s.frontier); err != nil {
			return Result{}, false, err
		}
		return u.result(NoOp, s.pinned.Version(), Published{Snapshot: s.v.Published.Snapshot}), true, nil
	}
	if s.pinned.Version() < s.v.Published.Frontier.SourceVersion || len(s.reads) != 1 {
		return Result{}, false, nil
	}
	u.report.Progress("reading changes", job.Unknown, 0)
	staged, ok, err := s.pinned.Increment(ctx, IncrementSpec{View: s.v, Tables: s.tables, Job: u.job})
	if err != nil {
		return Result{}, false, u.discard(ctx, err)
	}
	if !ok {
		return Result{}, false, nil
	}
	res, err := u.publish(ctx, s, Incremental, staged, nil)
	return res, true, err
}

// ours says that the view's content is what was published, and that the query gives the same rows for the same sources.
func (u *run) ours(ctx context.Context, s step) (bool, error) {
	if s.v.Published.Generation == 0 || !s.v.Def.Consistent {
		return false, nil
	}
	if s.pinned.Version() < s.v.Published.Snapshot {
		return true, nil
	}
	changed, err := s.pinned.Changed(ctx, s.v.Published.Snapshot, []int64{s.v.Table.ID}) // by another program
	return !changed, err
}

// cyclic refuses sources that were made again as something that reads the view, or is it.
func cyclic(v *catalog.View, reads []Reading, facts catalog.Facts) error {
	now := make([]catalog.Source, len(reads))
	for i := range reads {
		now[i] = catalog.Source{UUID: reads[i].Source.UUID, Name: reads[i].Now}
	}
	return catalog.Resolve(facts).CheckCycle(v.UUID, v.Name(), now)
}

// readable refuses to read a view that nobody may read: one that has no content yet, whose table is there and empty, which is not its
// answer, and one whose definition this server does not understand.
func readable(view catalog.Name, sources []catalog.Source, facts catalog.Facts) error {
	for _, row := range facts.Rows {
		for _, s := range sources {
			if s.UUID != row.UUID {
				continue
			}
			if v := catalog.Resolve(facts).ByUUID(s.UUID); v != nil && v.Problem != nil {
				return v.Problem
			}
			if facts.Published[row.UUID].Generation == 0 && row.Kind == catalog.Streaming {
				return fault.NotReady.Newf("view %s reads streaming view %s, which has no complete first content yet", view, s.Name).
					WithHint("SHOW STREAMING MATERIALIZED VIEW %s says where it stands", s.Name)
			}
			if facts.Published[row.UUID].Generation == 0 {
				return fault.NotPopulated.Newf("view %s reads view %s, which has no content yet", view, s.Name).
					WithHint("REFRESH MATERIALIZED VIEW %s first", s.Name)
			}
		}
	}
	return nil
}

// rebuild evaluates the query.
func (u *run) rebuild(ctx context.Context, s step) (Result, error) {
	version := int64(0)
	if u.order.SourceVersion != nil {
		version = s.pinned.Version()
	}
	sql, err := u.r.Text.Read(ctx, s.v.Def.Query, s.reads, version)
	if err != nil {
		return Result{}, err
	}
	target := s.v.Table
	var built *catalog.Table
	if u.order.Columns != nil {
		if target, err = u.r.Lake.Build(ctx, s.v, u.order.Columns, u.job.ID); err != nil {
			return Result{}, u.discard(ctx, err)
		}
		built = &target
	}
	u.report.Progress("evaluating", job.Unknown, 0)
	staged, err := s.pinned.Stage(ctx, StageSpec{Target: target, SQL: sql, JobID: u.job.ID}, func(fraction float64, rows int64) {
		u.report.Progress("evaluating", fraction, rows)
	})
	if err != nil {
		return Result{}, u.discard(ctx, err)
	}
	return u.publish(ctx, s, Rebuild, staged, built)
}

// publish makes what was staged the view's content.
func (u *run) publish(ctx context.Context, s step, mode Mode, staged Staged, built *catalog.Table) (Result, error) {
	u.report.Progress("publishing", 1, staged.Rows())
	p := Publication{Job: u.job, View: s.v, Staged: staged, Frontier: s.frontier, Redefine: u.order.Redefine, Built: built}
	if s.moved && p.Redefine == nil {
		row := s.v.Row
		p.Redefine = &row
	}
	if p.Redefine != nil {
		row := *p.Redefine
		row.Sources = s.sources
		p.Redefine = &row
	}
	p.Result = func(at Published) []byte { return u.result(mode, s.frontier.SourceVersion, at).Encode() }
	done, err := u.r.Lake.Publish(ctx, p)
	if err != nil {
		return Result{}, u.discard(ctx, err)
	}
	return u.result(mode, s.frontier.SourceVersion, done), nil
}

// discard removes what was staged; it must also happen when the job was cancelled.
func (u *run) discard(ctx context.Context, cause error) error {
	if err := u.r.Lake.Discard(context.WithoutCancel(ctx), u.job.ID); err != nil {
		u.r.Log.Error("staged files are left; the next start removes them", "job", u.job.ID, "error", err)
	}
	return cause
}

func (u *run) result(mode Mode, source int64, p Published) Result {
	return Result{
		JobID: u.job.ID, View: u.job.View, Mode: mode, RowsWritten: p.Rows, SourceVersion: source,
		SourceVersions: map[string]int64{u.r.LakeName: source}, Version: p.Snapshot, DurationMS: u.r.Now().Sub(u.began).Milliseconds(),
	}
}
