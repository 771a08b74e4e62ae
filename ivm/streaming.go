package ivm

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// ofKind refuses a view that is of the other kind than the statement is about.
func ofKind(v *catalog.View, streaming bool) error {
	switch is := v.Kind == catalog.Streaming; {
	case is && !streaming:
		return fault.NotAView.Newf("%s is a streaming materialized view, not a traditional one", v.Name()).WithHint("say STREAMING MATERIALIZED VIEW")
	case !is && streaming:
		return fault.NotAView.Newf("%s is a traditional materialized view, not a streaming one", v.Name()).WithHint("say it without STREAMING")
	}
	return nil
}

// canStream refuses what a server without streaming views cannot do.
func (e *Engine) canStream(what string) error {
	if e.c.Control == nil {
		return fault.NotYetSupported.Newf("%s: this server runs no streaming views", what)
	}
	return nil
}

// streamsChanged tells who runs the streaming views that something about views has changed.
func (e *Engine) streamsChanged() {
	if e.c.Streams != nil {
		e.c.Streams.Changed()
	}
}

// admit refuses a definition that cannot be kept up to date.
func (e *Engine) admit(ctx context.Context, v *catalog.View) error {
	p, err := e.c.Binder.Plan(ctx, v)
	if err != nil {
		return err
	}
	if err := admitted(p); err != nil {
		return err
	}
	set, err := e.views(ctx)
	if err != nil {
		return err
	}
	return marked(set, p)
}

// admitted refuses a plan with everything that is against it.
func admitted(p *plan.Plan) error {
	if p.Admitted() {
		return nil
	}
	at := fault.NoPosition
	lines := make([]string, len(p.Reasons))
	for i, r := range p.Reasons {
		lines[i] = r.String()
		if at == fault.NoPosition && r.Position != plan.NoPosition {
			at = r.Position
		}
	}
	return fault.PlanRefused.Newf("the query cannot be kept up to date as a streaming view:\n%s", strings.Join(lines, "\n")).At(at).
		WithHint("EXPLAIN STREAMING shows where in the query; CREATE MATERIALIZED VIEW takes every query")
}

// standing is where a streaming view is in its life, as far as this server knows.
type standing struct {
	stream.Record
	frontier int64
	figures  *stream.Figures // nil: another server runs it, or none
}

// standings are those of all streaming views, by uuid.
func (e *Engine) standings(ctx context.Context) (map[string]standing, error) {
	if e.c.Control == nil {
		return nil, nil
	}
	records, err := e.c.Control.Records(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[string]standing, len(records))
	for uuid, r := range records {
		s := standing{Record: r}
		if e.c.Streams != nil {
			if now, here := e.c.Streams.Status(uuid); here && now.State != "" {
				s.State, s.Reason, s.Since, s.frontier, s.figures = now.State, now.Reason, now.Since, now.Frontier, now.Figures
			}
		}
		out[uuid] = s
	}
	return out, nil
}

// notReady says why a streaming view cannot be read yet.
func (e *Engine) notReady(ctx context.Context, c Caller, v *catalog.View) error {
	all, err := e.standings(ctx)
	if err != nil {
		return err
	}
	s := all[v.UUID]
	text := string(s.State)
	if s.Reason.Message != "" && mayChange(c, v) == nil {
		text += ": " + c.clean(s.Reason.Message)
	}
	hint := s.Reason.Hint
	if hint == "" {
		hint = "read it again when it runs; SHOW STREAMING MATERIALIZED VIEW " + v.Name().String() + " says where it stands"
	}
	return fault.NotReady.Newf("streaming materialized view %s has no complete first content yet; it is %s", v.Name(), text).WithHint("%s", c.clean(hint))
}

// lookAgain is how often a statement that waits for a view looks at it, beside every commit.
const lookAgain = 50 * time.Millisecond

// awaitReady returns when the view can be read, or will not be able to by itself. Who goes away leaves the view as it is.
func (e *Engine) awaitReady(ctx context.Context, c Caller, uuid string) error {
	err := e.whenReady(ctx, c, uuid)
	switch {
	case err == nil || ctx.Err() == nil:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fault.TimedOut.Wrap(ctx.Err(), "the view is made and not ready yet")
	}
	return fault.Cancelled.Wrap(ctx.Err(), "the view is made and not ready yet, and nobody waits for it any more")
}

func (e *Engine) whenReady(ctx context.Context, c Caller, uuid string) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var commits <-chan int64
	if e.c.Commits != nil {
		commits = e.c.Commits(watching)
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		set, err := e.views(ctx)
		if err != nil {
			return err
		}
		v := set.ByUUID(uuid)
		if v == nil {
			return fault.ViewNotFound.Newf("the view was dropped before it was ready")
		}
		if v.State() != catalog.NotReady {
			// Its content is committed, and its group is about to say so.
			e.awaitState(ctx, uuid, func(s stream.State) bool { return s != stream.Starting && s != stream.Backfilling })
			return v.Problem
		}
		all, err := e.standings(ctx)
		if err != nil {
			return err
		}
		if stopped(all[uuid].State) {
			return e.notReady(ctx, c, v)
		}
		for again := false; !again; {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case _, open := <-commits:
				if again = open; !open {
					commits = nil
				}
			case <-tick.C:
				again = commits == nil || !e.busy(uuid)
			}
		}
	}
}

// stopped says that a view does not become ready by itself.
func stopped(s stream.State) bool {
	switch s {
	case stream.Paused, stream.SchemaBlocked, stream.PermissionBlocked, stream.ResourceBlocked, stream.Failed:
		return true
	}
	return false
}

// busy says that this server computes a view's first content: a commit will tell when it is there, so the catalog need not be asked.
func (e *Engine) busy(uuid string) bool {
	if e.c.Streams == nil {
		return false
	}
	now, here := e.c.Streams.Status(uuid)
	return here && now.State == stream.Backfilling
}

// awaitState waits for a moment until a view that this server runs has come to a state, so that who asked for it finds it done.
func (e *Engine) awaitState(ctx context.Context, uuid string, there func(stream.State) bool) {
	if e.c.Streams == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	if err := e.c.Streams.Await(ctx, uuid, func(now stream.Status, here bool) bool { return !here || there(now.State) }); err != nil {
		e.log.Debug("a streaming view takes its time", "uuid", uuid, "error", err) // SHOW says where it stands
	}
}

// run is ALTER … PAUSE, RESUME and RESTART.
func (e *Engine) run(ctx context.Context, c Caller, s *ddl.AlterRun) error {
	v, err := e.controlled(ctx, c, target{s.Name, s.NameOffset, true}, s.Verb())
	if err != nil {
		return err
	}
	switch s.Action {
	case ddl.Pause, ddl.Resume:
		err = e.c.Control.Pause(ctx, v.UUID, s.Action == ddl.Pause)
	case ddl.Restart:
		err = e.c.Control.Restart(ctx, v.UUID)
	}
	if err != nil {
		return err
	}
	e.streamsChanged()
	if s.Action != ddl.Restart {
		e.awaitState(ctx, v.UUID, func(now stream.State) bool { return (now == stream.Paused) == (s.Action == ddl.Pause) })
	}
	e.log.Info("streaming view", "view", v.Name().String(), "action", string(s.Action), "by", c.Principal)
	return nil
}

// controlled is a streaming view whose life the caller may change.
func (e *Engine) controlled(ctx context.Context, c Caller, t target, verb string) (*catalog.View, error) {
	v, _, err := e.findKind(ctx, c, t)
	if err != nil {
		return nil, err
	}
	if err := mayChange(c, v); err != nil {
		return nil, err
	}
	if v.Problem != nil {
		return nil, v.Problem
	}
	return v, e.canStream(verb)
}

// rebuild is ALTER … REBUILD.
func (e *Engine) rebuild(ctx context.Context, c Caller, s *ddl.Rebuild) error {
	v, err := e.controlled(ctx, c, target{s.Name, s.NameOffset, true}, s.Verb())
	if err != nil {
		return err
	}
	mode := ""
	if o, ok := s.Options.Get("initial_mode"); ok {
		mode = o.Text
	}
	set, err := e.views(ctx)
	if err != nil {
		return err
	}
	if err := mayBegin(set, mode, v.Sources); err != nil {
		return err
	}
	if err := e.c.Control.Rebuild(ctx, v.UUID, mode); err != nil {
		return err
	}
	e.streamsChanged()
	e.log.Info("streaming view is to be rebuilt", "view", v.Name().String(), "initial_mode", mode, "by", c.Principal)
	return nil
}

// mayBegin refuses a beginning that the sources do not allow. A row of a streaming view's result is a value and how often it is there: when one
// goes, nothing says whether it is one from before.
func mayBegin(set *catalog.Set, mode string, sources []catalog.Source) error {
	if mode != stream.Future {
		return nil
	}
	for i := range sources {
		if up := set.ByUUID(sources[i].UUID); up != nil && up.Kind == catalog.Streaming {
			return fault.InvalidOption.Newf("initial_mode = 'future' over %s, which is a streaming view: of equal rows of its result nothing says which came later", up.Name()).
				WithHint("initial_mode = 'backfill' begins with its content")
		}
	}
	return nil
}
