package ivm

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/refresh"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// createStreaming is CREATE STREAMING MATERIALIZED VIEW.
func (e *Engine) createStreaming(ctx context.Context, c Caller, s *ddl.CreateView) (Result, error) {
	if err := e.canStream(s.Verb()); err != nil {
		return Result{}, err
	}
	uuid, err := e.makeStreaming(ctx, c, s)
	if err == nil && uuid != "" && s.Options.Bool("wait_for_ready", false) {
		err = e.awaitReady(ctx, c, uuid)
	}
	if err != nil {
		return Result{}, err
	}
	return status(s.Verb()), nil
}

// makeStreaming makes the view, or finds the one that is there.
func (e *Engine) makeStreaming(ctx context.Context, c Caller, s *ddl.CreateView) (uuid string, err error) {
	release, err := e.exclusive(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	for attempt := 0; ; attempt++ {
		uuid, err = e.tryStreaming(ctx, c, s)
		// The name was free and is taken: another server was quicker, and what that means depends on what it made.
		if attempt == 2 || !errors.Is(err, fault.ObjectExists.Sentinel()) {
			return uuid, err
		}
	}
}

func (e *Engine) tryStreaming(ctx context.Context, c Caller, s *ddl.CreateView) (string, error) {
	name, err := e.c.Binder.Place(c.Session, s.Name)
	if err != nil {
		return "", place(err, s.NameOffset)
	}
	set, err := e.views(ctx)
	if err != nil {
		return "", err
	}
	if old := set.Find(name); old != nil && s.IfNotExists {
		if old.Kind != catalog.Streaming {
			return "", nil
		}
		return old.UUID, nil
	}
	if err := set.Free(name); err != nil {
		return "", place(err, s.NameOffset)
	}
	v, mode, err := e.defineStreaming(ctx, c, s, set, name)
	if err != nil {
		return "", err
	}
	table, err := e.c.Tables.Create(ctx, refresh.Making{
		Name: name, Columns: v.Table.Columns, Row: v.Row, Begin: mode, Own: e.c.Streams != nil && alone(set, v.Sources),
	})
	if err != nil {
		return "", err
	}
	e.log.Info("streaming view created", "view", name.String(), "uuid", table.UUID, "owner", c.Principal, "initial_mode", mode)
	e.streamsChanged()
	return table.UUID, nil
}

// defineStreaming binds and plans the query and completes the definition. The view has no table yet, only its columns.
func (e *Engine) defineStreaming(ctx context.Context, c Caller, s *ddl.CreateView, set *catalog.Set, name catalog.Name) (*catalog.View, string, error) {
	options, err := catalog.Options{}.Set(s.Options)
	if err != nil {
		return nil, "", err
	}
	p, bound, err := e.stream(ctx, c, s.Query, s.QueryOffset, s.Options)
	if err == nil {
		err = admitted(p)
	}
	if err == nil {
		err = marked(set, p)
	}
	if err != nil {
		return nil, "", atOption(err, s.Options)
	}
	columns, err := nameColumns(bound.Columns, s.Columns)
	if err != nil {
		return nil, "", err
	}
	if err := set.CheckCycle("", name, bound.Sources); err != nil {
		return nil, "", err
	}
	mode := stream.Backfill
	if o, ok := s.Options.Get("initial_mode"); ok {
		mode = o.Text
	}
	if err := mayBegin(set, mode, bound.Sources); err != nil {
		return nil, "", atOption(err, s.Options)
	}
	if err := readable(set, bound.Sources); err != nil {
		return nil, "", err
	}
	def := catalog.Definition{
		Kind: catalog.Streaming, Query: bound.Query, TimeZone: bound.TimeZone, Options: options, Pinned: bound.Pinned, Consistent: bound.Consistent,
	}
	row := catalog.Row{Kind: catalog.Streaming, Owner: c.Principal, Name: name, CreatedAt: time.Now().UTC(), Sources: bound.Sources}
	v := &catalog.View{Row: row.WithDefinition(def), Table: catalog.Table{Name: name, Columns: columns}, Def: def}
	return v, mode, e.admit(ctx, v)
}

// alone says that none of the sources is a streaming view: else who runs that one runs the new one too.
func alone(set *catalog.Set, sources []catalog.Source) bool {
	return !slices.ContainsFunc(sources, func(s catalog.Source) bool {
		up := set.ByUUID(s.UUID)
		return up != nil && up.Kind == catalog.Streaming
	})
}

// readable refuses to follow a view that nobody may read: its table is there and is not its answer.
func readable(set *catalog.Set, sources []catalog.Source) error {
	for i := range sources {
		up := set.ByUUID(sources[i].UUID)
		switch {
		case up == nil:
		case up.Problem != nil:
			return up.Problem
		case up.State() == catalog.NotPopulated:
			return fault.NotPopulated.Newf("materialized view %s has no content before its first successful refresh", up.Name()).
				WithHint("REFRESH MATERIALIZED VIEW %s first", up.Name())
		}
	}
	return nil
}

// atOption gives an error about an option of the statement the option's place.
func atOption(err error, o ddl.Options) error {
	var f *fault.Error
	if errors.As(err, &f) && (f.Code == fault.InvalidOption || f.Code == fault.NotYetSupported) {
		for _, name := range []string{"watermark_column", "initial_mode"} {
			for _, opt := range o {
				if opt.Name == name {
					return place(err, opt.Offset)
				}
			}
		}
	}
	return err
}

// marked refuses watermarks over streaming views. What is late is decided for each snapshot of a source, in order; a view's changes come for
// several snapshots at once, as many as one epoch took, so the same history could give one content or another.
func marked(set *catalog.Set, p *plan.Plan) error {
	for _, s := range p.Sources() {
		if v := set.ByUUID(s.UUID); v != nil && v.Kind == catalog.Streaming && s.Watermark != "" {
			return fault.InvalidOption.Newf("option watermark_column: %s is a streaming view, which publishes the changes of several commits as one: what came late among them is not known", v.Name()).
				WithHint("give the watermark to the view that reads the table")
		}
	}
	return nil
}
