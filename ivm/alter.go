package ivm

import (
	"context"
	"slices"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
)

// alterOptions is SET and RESET.
func (e *Engine) alterOptions(ctx context.Context, c Caller, t target, change func(catalog.Options) (catalog.Options, error), names ...string) error {
	if t.streaming && slices.Contains(names, "initial_mode") {
		return fault.InvalidOption.Newf("option initial_mode says how a generation of the view begins; this one has begun").
			WithHint("ALTER STREAMING MATERIALIZED VIEW %s REBUILD WITH (initial_mode = …) makes another one", t.name)
	}
	return e.alter(ctx, c, t, func(v *catalog.View) (catalog.Row, error) {
		if v.Problem != nil {
			return catalog.Row{}, v.Problem
		}
		options, err := change(v.Def.Options)
		if err != nil {
			return catalog.Row{}, err
		}
		if _, err := specOf(options); err != nil {
			return catalog.Row{}, err
		}
		def := v.Def
		def.Options = options
		if v.Kind == catalog.Streaming {
			changed := *v
			changed.Def = def
			if err := e.admit(ctx, &changed); err != nil {
				return catalog.Row{}, err
			}
		}
		return v.Row.WithDefinition(def), nil
	})
}

// alter changes a view's row, and what follows from it.
func (e *Engine) alter(ctx context.Context, c Caller, t target, change func(*catalog.View) (catalog.Row, error)) error {
	release, err := e.exclusive(ctx)
	if err != nil {
		return err
	}
	defer release()
	for {
		v, _, err := e.findKind(ctx, c, t)
		if err != nil {
			return err
		}
		if err := mayChange(c, v); err != nil {
			return err
		}
		row, err := change(v)
		if err != nil {
			return err
		}
		ok, err := e.c.Views.Update(ctx, row)
		if err != nil {
			return err
		}
		if !ok {
			continue // another server changed it first
		}
		if row.Definition != v.Row.Definition {
			// The row counts; a comment that is missed here is written by upkeep.
			altered := *v
			altered.Row = row
			if err := e.c.Upkeep.Comment(ctx, &altered); err != nil {
				e.log.Warn("the comment of a view could not be written yet", "view", v.Name().String(), "error", err)
			}
		}
		e.syncSchedules(ctx)
		e.streamsChanged()
		return nil
	}
}

func (e *Engine) rename(ctx context.Context, c Caller, s *ddl.AlterRename) error {
	release, err := e.exclusive(ctx)
	if err != nil {
		return err
	}
	defer release()
	v, set, err := e.findKind(ctx, c, target{s.Name, s.NameOffset, s.Streaming})
	if err != nil {
		return err
	}
	if err := mayChange(c, v); err != nil {
		return err
	}
	if err := set.Free(catalog.Name{Schema: v.Name().Schema, Name: s.NewName}); err != nil {
		return place(err, s.NewOffset)
	}
	if err := e.c.Tables.Rename(ctx, v, s.NewName); err != nil {
		return err
	}
	e.syncSchedules(ctx)
	e.streamsChanged()
	return nil
}

// alterOwner gives a view to somebody else. On a table with a definition that nobody vouches for, an administrator adopts it with this.
func (e *Engine) alterOwner(ctx context.Context, c Caller, s *ddl.AlterOwner) error {
	at, err := e.c.Binder.Place(c.Session, s.Name)
	if err != nil {
		return place(err, s.NameOffset)
	}
	set, err := e.views(ctx)
	if err != nil {
		return err
	}
	if u := set.FindUnadopted(at); u != nil {
		if err := ofKind(u, s.Streaming); err != nil {
			return place(err, s.NameOffset)
		}
		return e.adopt(ctx, c, set, u, s.Owner)
	}
	return e.alter(ctx, c, target{s.Name, s.NameOffset, s.Streaming}, func(v *catalog.View) (catalog.Row, error) {
		row := v.Row
		row.Owner = s.Owner
		return row, e.mayOwn(s.Owner)
	})
}

// mayOwn refuses to give a view to somebody who is not there: nobody but an administrator could do anything with it.
func (e *Engine) mayOwn(user string) error {
	if e.c.Barred == nil || e.c.Barred(user) == "" {
		return nil
	}
	return fault.InvalidParameter.Newf("%s cannot own a view: nobody of that name may use this server", user).WithHint("name a user of the users file")
}

func (e *Engine) adopt(ctx context.Context, c Caller, set *catalog.Set, u *catalog.View, owner string) error {
	if !c.Admin {
		return fault.PermissionDenied.Newf("only an administrator adopts table %s", u.Name())
	}
	if err := e.mayOwn(owner); err != nil {
		return err
	}
	if u.Problem != nil {
		return u.Problem
	}
	// The comment is anybody's text: it has to pass like a new view's query.
	bound, err := e.c.Binder.Bind(ctx, c.Session, u.Def.Query)
	if err != nil {
		return err
	}
	if err := set.CheckCycle(u.UUID, u.Name(), bound.Sources); err != nil {
		return err
	}
	if _, err := specOf(u.Def.Options); err != nil {
		return err
	}
	if !sameColumns(u.Table.Columns, named(bound.Columns, u.Table.Columns)) {
		return fault.DefinitionInvalid.Newf("the columns of table %s are not those of the query in its comment", u.Name())
	}
	now, err := e.c.Clock.Now(ctx)
	if err != nil {
		return err
	}
	// What the refreshes run is what the gate has made of the text: names qualified, macros and plain views in place.
	def := u.Def
	if def.Query != bound.Query {
		def.Query, def.Pinned = bound.Query, bound.Pinned
	}
	def.Consistent = bound.Consistent
	row := u.Row.WithDefinition(def)
	row.Owner, row.Sources, row.CreatedAt, row.Columns = owner, bound.Sources, now, u.Table.Columns
	if u.Kind == catalog.Streaming {
		if err := e.canStream("adopting a streaming view"); err != nil {
			return err
		}
		if err := e.admit(ctx, &catalog.View{Row: row, Table: u.Table, Def: def}); err != nil {
			return err
		}
	}
	if err := e.c.Views.Insert(ctx, row); err != nil {
		return err
	}
	if err := e.c.Upkeep.Prepare(ctx, u); err != nil {
		return err
	}
	e.log.Info("view adopted", "view", u.Name().String(), "uuid", u.UUID, "owner", owner)
	e.syncSchedules(ctx)
	e.streamsChanged()
	return nil
}

// named gives columns the names of others, by position: a view may have named its columns itself.
func named(columns, names []catalog.Column) []catalog.Column {
	out := make([]catalog.Column, len(columns))
	for i := range columns {
		out[i] = columns[i]
		if i < len(names) {
			out[i].Name = names[i].Name
		}
	}
	return out
}
