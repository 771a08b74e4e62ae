package ivm

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
)

// Object is what a statement names: a table by place and, when it is one of the
// lake's, by uuid; or a schema, with its name in Schema and Name empty.
type Object struct {
	Catalog, Schema, Name string
	UUID                  string
	IsSchema              bool
	Replace               bool // created with OR REPLACE
	IfNotExists           bool // created only when it is not there
	Cascade               bool // dropped with CASCADE
}

// Access is what a statement of DuckDB's own does to the lake.
type Access struct {
	Reads   []Object // with views expanded to their tables
	Writes  []Object // tables whose rows may change
	Creates []Object
	Drops   []Object
	Alters  []Object // ALTER and COMMENT
}

// rowCounter is a cheap way to ask whether any view's row changed.
type rowCounter interface {
	Rows(ctx context.Context) (int64, error)
}

// admission remembers what the last statements found, so that most statements ask nobody.
type admission struct {
	mu    sync.Mutex
	set   *catalog.Set
	since time.Time // this process's clock when set was known to be the newest
	lags  map[string]time.Time
}

// Admit says whether a statement may touch the views it names: their content
// is written by refreshes only, and read only if it is there and fresh enough. It is to be called at every execution.
func (e *Engine) Admit(ctx context.Context, c Caller, a Access) error {
	changesSchema := len(a.Creates)+len(a.Drops)+len(a.Alters) > 0
	known, err := e.known(ctx, changesSchema)
	if err != nil {
		return err
	}
	for _, o := range a.Writes {
		if v := e.named(known.set, o); v != nil {
			return written(v)
		}
	}
	if changesSchema {
		if err := e.admitSchemaChange(c, known.set, a); err != nil {
			return err
		}
	}
	for _, o := range a.Reads {
		v := e.named(known.set, o)
		if v == nil {
			continue
		}
		if err := e.admitRead(ctx, c, v, known); err != nil {
			return err
		}
	}
	return nil
}

// knowledge is a set of views with the moment, by this process's clock, when it was the newest.
type knowledge struct {
	set *catalog.Set
	at  time.Time
}

// known is the last set of views when the rows have not changed since, or the newest one.
func (e *Engine) known(ctx context.Context, newest bool) (knowledge, error) {
	if counter, ok := e.c.Views.(rowCounter); ok && !newest {
		rows, err := counter.Rows(ctx)
		if err != nil {
			return knowledge{}, err
		}
		e.admission.mu.Lock()
		k := knowledge{e.admission.set, e.admission.since}
		e.admission.mu.Unlock()
		if k.set != nil && k.set.Revision.Rows == rows {
			return k, nil
		}
	}
	return e.newest(ctx)
}

// newest asks the catalog.
func (e *Engine) newest(ctx context.Context) (knowledge, error) {
	at := time.Now() // before asking, so that nothing newer is missed
	set, err := e.views(ctx)
	if err != nil {
		return knowledge{}, err
	}
	e.admission.mu.Lock()
	defer e.admission.mu.Unlock()
	if e.admission.set != set {
		e.admission.set, e.admission.lags = set, map[string]time.Time{}
	}
	if e.admission.since.Before(at) {
		e.admission.since = at
	}
	return knowledge{set, at}, nil
}

// reload asks the catalog, also when nothing seems to have moved.
func (e *Engine) reload(ctx context.Context) (knowledge, error) {
	at := time.Now()
	facts, err := e.c.Views.Load(ctx)
	if err != nil {
		return knowledge{}, err
	}
	set := catalog.Resolve(facts)
	e.mu.Lock()
	e.cached = set
	e.mu.Unlock()
	e.admission.mu.Lock()
	defer e.admission.mu.Unlock()
	e.admission.set, e.admission.since, e.admission.lags = set, at, map[string]time.Time{}
	return knowledge{set, at}, nil
}

// named is the view that an object is, or nil.
func (e *Engine) named(set *catalog.Set, o Object) *catalog.View {
	if o.UUID != "" {
		return set.ByUUID(o.UUID)
	}
	if o.IsSchema || o.Catalog != "" && !strings.EqualFold(o.Catalog, e.c.LakeName) {
		return nil
	}
	return set.Find(catalog.Name{Schema: o.Schema, Name: o.Name})
}

// written says that nobody but the server writes the view's rows.
func written(v *catalog.View) error {
	if v.Kind == catalog.Streaming {
		return fault.ViewReadOnly.Newf("%s is a streaming materialized view: its rows follow its sources", v.Name()).WithHint("change the tables that it reads")
	}
	return readOnly(v, "its rows are written by its refreshes only", "REFRESH MATERIALIZED VIEW %s", v.Name())
}

func readOnly(v *catalog.View, why, hint string, args ...any) error {
	return fault.ViewReadOnly.Newf("%s is a materialized view: %s", v.Name(), why).WithHint("use "+hint, args...)
}

// admitSchemaChange looks at what DDL does to views.
func (e *Engine) admitSchemaChange(c Caller, set *catalog.Set, a Access) error {
	for _, o := range a.Alters {
		if v := e.named(set, o); v != nil {
			return readOnly(v, "its table and comment are changed by its own statements only", "ALTER %s %s", v.Words(), v.Name())
		}
	}
	for _, o := range a.Creates {
		v := e.named(set, o)
		switch {
		case v == nil || o.IfNotExists:
		case o.Replace && v.Kind == catalog.Streaming:
			return readOnly(v, "it is not replaced", "DROP STREAMING MATERIALIZED VIEW %s", v.Name())
		case o.Replace:
			return readOnly(v, "it is replaced by its own statement only", "CREATE OR REPLACE MATERIALIZED VIEW %s", v.Name())
		default:
			return fault.ViewExists.Newf("there is a materialized view %s already", v.Name())
		}
	}
	for _, o := range a.Drops {
		if v := e.named(set, o); v != nil {
			return readOnly(v, "it is dropped by its own statement only", "DROP %s %s", v.Words(), v.Name())
		}
		if o.IsSchema && (o.Catalog == "" || strings.EqualFold(o.Catalog, e.c.LakeName)) {
			if err := admitDropSchema(c, set, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// admitDropSchema lets a schema with views go only with CASCADE, by who may drop
// each of them, and when no view elsewhere reads one of them: the statement drops the schema's own tables only.
func admitDropSchema(c Caller, set *catalog.Set, o Object) error {
	var inside []*catalog.View
	for _, v := range set.Views {
		if strings.EqualFold(v.Name().Schema, o.Schema) {
			inside = append(inside, v)
		}
	}
	if len(inside) == 0 {
		return nil
	}
	schema := ddl.QuoteIdent(o.Schema)
	if !o.Cascade {
		return fault.DependentViews.Newf("schema %s has materialized views: %s", schema, catalog.Names(inside)).
			WithHint("drop them first, or say DROP SCHEMA %s CASCADE", schema)
	}
	var outside []*catalog.View
	for _, v := range set.DropOrder(inside...) {
		if !strings.EqualFold(v.Name().Schema, o.Schema) {
			outside = append(outside, v)
		}
	}
	if len(outside) > 0 {
		return fault.DependentViews.Newf("views of other schemas read views of schema %s: %s", schema, catalog.Names(outside)).
			WithHint("drop those first")
	}
	for _, v := range inside {
		if err := mayChange(c, v); err != nil {
			return err
		}
	}
	return nil
}

// admitRead looks at a view's content. What is known may be old: a view that
// had content then has content now, and the oldest commit it could lack since is no older than that knowledge.
func (e *Engine) admitRead(ctx context.Context, c Caller, v *catalog.View, k knowledge) error {
	if v.Problem == nil && v.State() == catalog.Ready && e.surelyFresh(v, k) {
		return nil
	}
	uuid := v.UUID
	k, err := e.newest(ctx)
	if err != nil {
		return err
	}
	if v = k.set.ByUUID(uuid); v == nil {
		return nil // dropped; DuckDB will say so
	}
	if v.Problem != nil {
		return v.Problem
	}
	if v.State() == catalog.NotPopulated {
		return fault.NotPopulated.Newf("materialized view %s has no content before its first successful refresh", v.Name()).
			WithHint("REFRESH MATERIALIZED VIEW %s", v.Name())
	}
	if v.State() == catalog.NotReady {
		return e.notReady(ctx, c, v)
	}
	limit := v.Def.Options.MaxStaleness
	if limit == nil {
		return nil
	}
	lag, err := e.lag(ctx, v, k)
	if err == nil && lag > *limit && k.set.FollowsStreams(v) {
		// Frontiers that move without a change of content are recorded without a commit, so what was read with the last one may be old.
		if k, err = e.reload(ctx); err == nil {
			if v = k.set.ByUUID(uuid); v == nil {
				return nil
			}
			lag, err = e.lag(ctx, v, k)
		}
	}
	if err != nil {
		return err
	}
	if lag <= *limit || c.MayAcceptStale && c.AcceptStale {
		return nil
	}
	err = fault.ViewStale.Newf("materialized view %s is %s behind its sources; its max_staleness is %s", v.Name(),
		ddl.FormatDuration(lag.Truncate(time.Millisecond)), ddl.FormatDuration(*limit)).WithHint("%s", staleHint(c, v))
	return err
}

func staleHint(c Caller, v *catalog.View) string {
	hint := "REFRESH MATERIALIZED VIEW " + v.Name().String()
	if v.Kind == catalog.Streaming {
		hint = "SHOW STREAMING MATERIALIZED VIEW " + v.Name().String() + " says where it stands and why"
	}
	if c.MayAcceptStale {
		hint += ", or SET vega.accept_stale = true to read it as it is"
	}
	return hint
}

// surelyFresh says that a view cannot be staler than its limit, by what is known already.
func (e *Engine) surelyFresh(v *catalog.View, k knowledge) bool {
	limit := v.Def.Options.MaxStaleness
	if limit == nil {
		return true
	}
	e.admission.mu.Lock()
	defer e.admission.mu.Unlock()
	first, ok := e.admission.lags[v.UUID]
	if !ok || e.admission.set != k.set {
		return false
	}
	if first.IsZero() {
		first = k.at
	}
	return time.Since(first) <= *limit
}

// lag is how far a view is behind now, and is remembered: as the time, by this process's clock, of the first commit that it lacks.
func (e *Engine) lag(ctx context.Context, v *catalog.View, k knowledge) (time.Duration, error) {
	now, err := e.c.Clock.Now(ctx)
	if err != nil {
		return 0, err
	}
	here := time.Now()
	l, err := k.set.Staleness(ctx, e.c.History, v, now)
	if err != nil {
		return 0, err
	}
	first := time.Time{}
	if !l.Since.IsZero() {
		first = here.Add(-l.By)
	}
	e.admission.mu.Lock()
	if e.admission.set == k.set {
		e.admission.lags[v.UUID] = first
	}
	e.admission.mu.Unlock()
	return l.By, nil
}

// ViewKinds says which of the lake's tables are views, by uuid.
func (e *Engine) ViewKinds(ctx context.Context) (map[string]catalog.Kind, error) {
	k, err := e.known(ctx, false)
	if err != nil {
		return nil, err
	}
	out := make(map[string]catalog.Kind, len(k.set.Views))
	for _, v := range k.set.Views {
		out[v.UUID] = v.Kind
	}
	return out, nil
}
