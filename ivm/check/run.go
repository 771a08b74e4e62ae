package check

import (
	"context"
	"errors"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/job"
	"github.com/vegadb/vega-flight/ivm/refresh"
	"github.com/vegadb/vega-flight/ivm/store"
)

// Config says what to check.
type Config struct {
	Lake    *ducklake.Lake
	Store   *store.Store
	Text    refresh.Text
	Servers *maintain.Servers
	// Alone says that no server serves the lake, whatever the registrations say.
	Alone bool
	// Plans says of streaming views where several answers are right; nil: all differences are failures.
	Plans    Planner
	Progress func(view string) // called before each view; may be nil
	// Hold keeps a snapshot, and what later ones need, until release, and with it whatever makes others respect that; nil: there are no
	// others, or the caller does it.
	Hold func(ctx context.Context, snapshot int64) (release func(), err error)
}

// Run checks a lake. The error is for what kept it from being checked.
func Run(ctx context.Context, c Config) (Report, error) {
	var r Report
	facts, err := c.Store.Views().Load(ctx)
	if err != nil {
		return r, err
	}
	set := catalog.Resolve(facts)
	r.Snapshot = facts.Revision.Snapshot
	r.Views = len(set.Views)
	definitions(&r, set)
	if c.Hold != nil {
		release, err := c.Hold(ctx, oldest(set, r.Snapshot))
		if err != nil {
			return r, err
		}
		defer release()
	}
	for _, v := range set.Views {
		if v.Problem != nil || v.Published.Generation == 0 {
			continue
		}
		if c.Progress != nil {
			c.Progress(v.Name().String())
		}
		if err := c.view(ctx, &r, set, v); err != nil {
			return r, err
		}
	}
	return r, c.leftovers(ctx, &r)
}

// oldest is the oldest snapshot that is read.
func oldest(set *catalog.Set, at int64) int64 {
	for _, v := range set.Views {
		if v.Problem == nil && v.Published.Generation != 0 {
			at = min(at, v.Published.Frontier.SourceVersion)
		}
	}
	return at
}

// definitions checks rows against tables and comments.
func definitions(r *Report, set *catalog.Set) {
	for _, v := range set.Views {
		if v.Problem != nil {
			r.add(true, Definition, v.Name().String(), "%v", v.Problem)
		}
	}
	for _, v := range set.Repairs.Restore {
		r.add(false, Comment, v.Name().String(), "the table's comment is not the definition; the next server restores it")
	}
	for _, v := range set.Unadopted {
		r.add(false, Unadopted, v.Name().String(), "an administrator may adopt it with ALTER MATERIALIZED VIEW … OWNER TO")
	}
	for _, uuid := range set.Repairs.Forget {
		r.add(false, Orphan, uuid, "the table was replaced by another program; the next server forgets the view")
	}
	for _, v := range set.Gone {
		r.add(true, Orphan, v.Name().String(), "the table was dropped by another program; create the view again, or drop it")
	}
	for _, v := range set.Views {
		if err := v.Altered(); err != nil {
			r.add(true, Altered, v.Name().String(), "%v", err)
		}
	}
}

// view compares one view with its query.
func (c Config) view(ctx context.Context, r *Report, set *catalog.Set, v *catalog.View) error {
	name := v.Name().String()
	version := v.Published.Frontier.SourceVersion
	at := versions(set, v, r.Snapshot)
	tables, err := c.tables(ctx, v, version, at)
	if errors.Is(err, fault.HistoryExpired.Sentinel()) {
		r.add(false, Expired, name, "the content was computed at snapshot %d, which has expired", version)
		return nil
	}
	if err != nil {
		return err
	}
	reads, _, err := refresh.Follow(v.Name(), v.Sources, tables)
	if err != nil {
		r.add(true, SourceChanged, name, "at snapshot %d: %v", version, err)
		return nil
	}
	for i := range reads {
		reads[i].At = at[reads[i].Source.UUID]
	}
	sql, err := c.Text.Read(ctx, v.Def.Query, reads, version)
	if err != nil {
		r.add(true, Definition, name, "%v", err)
		return nil
	}
	cmp := comparison{lake: c.Lake, view: v, sql: sql, at: r.Snapshot}
	if v.Kind == catalog.Streaming {
		cmp.sql = atClock(sql, v.Published.Frontier.Clock)
		cmp.doubt, err = c.doubt(ctx, v)
	} else if !v.Def.Consistent {
		cmp.doubt = "the query has volatile functions"
	}
	if err == nil {
		err = cmp.run(ctx, r)
	}
	if err != nil {
		return err
	}
	r.Compared++
	return nil
}

// tables are the lake's tables at a version; those that are read at other ones are as they are there.
func (c Config) tables(ctx context.Context, v *catalog.View, version int64, at map[string]int64) ([]catalog.Table, error) {
	var out []catalog.Table
	err := c.Lake.Store().View(ctx, func(tx metadata.Tx) error {
		out = nil
		known := map[int64][]metadata.TableInfo{}
		read := func(version int64) ([]metadata.TableInfo, error) {
			if infos, ok := known[version]; ok {
				return infos, nil
			}
			if _, err := metadata.SnapshotAt(ctx, tx, version); err != nil {
				return nil, err
			}
			infos, err := metadata.Tables(ctx, tx, metadata.Filter{At: version})
			known[version] = infos
			return infos, err
		}
		infos, err := read(version)
		if err != nil {
			return err
		}
		for i := range infos {
			if at[infos[i].UUID] == 0 {
				out = append(out, store.Table(infos[i]))
			}
		}
		for i := range v.Sources {
			uuid := v.Sources[i].UUID
			if at[uuid] == 0 {
				continue
			}
			if infos, err = read(at[uuid]); err != nil {
				return err
			}
			for k := range infos {
				if infos[k].UUID == uuid {
					out = append(out, store.Table(infos[k]))
				}
			}
		}
		return nil
	})
	return out, err
}

// leftovers looks for what nobody is working on.
func (c Config) leftovers(ctx context.Context, r *Report) error {
	servers, err := c.Servers.List(ctx)
	if err != nil {
		return err
	}
	live := map[string]bool{}
	for _, s := range servers {
		live[s.ID] = !s.Expired && !c.Alone
	}
	unfinished := map[string]job.Job{}
	jobs, err := c.Store.Jobs().List(ctx, job.Query{Unfinished: true})
	if err != nil {
		return err
	}
	for _, j := range jobs {
		unfinished[j.ID] = j
		if !live[j.ServerID] {
			r.add(false, Job, j.View, "job %s is %s on server %s, which is gone; the next server resumes it", j.ID, j.State, j.ServerID)
		}
	}
	return c.Lake.Store().View(ctx, func(tx metadata.Tx) error {
		l := left{c: c, r: r, live: live, unfinished: unfinished}
		return l.look(ctx, tx)
	})
}
