package stream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// making is what a member is made from.
type making struct {
	view       *catalog.View
	set        *catalog.Set
	generation int64
	mode       string
	boundary   int64
	clean      bool // the state that there may be is not to be trusted
}

// open makes a member with its state as the newest checkpoint has it. p and there say what that is.
func open(ctx context.Context, c *Config, k making) (*member, point, bool, error) {
	m := &member{c: c, view: k.view, options: optionsOf(k.view), generation: k.generation, dir: c.generationDir(k.view.UUID, k.generation)}
	p, there, err := m.open(ctx, k)
	if err != nil {
		return nil, p, false, errors.Join(err, m.close())
	}
	return m, p, there, nil
}

func (m *member) open(ctx context.Context, k making) (p point, there bool, err error) {
	if m.plan, err = m.c.Planner.Plan(ctx, k.view); err != nil {
		return p, false, err
	}
	if !m.plan.Admitted() {
		return p, false, fault.NotYetSupported.Newf("view %s: %s", m.name(), m.plan.Reasons[0]).
			WithHint("EXPLAIN STREAMING says all reasons; the view was made by another version of the server")
	}
	if k.clean {
		if err := m.clear(); err != nil {
			return p, false, err
		}
	}
	err = m.openState(ctx)
	if code := fault.CodeOf(err); code == fault.StateStampDiffers || code == fault.StateUnreadable && !full(err) && !barred(err) {
		m.c.Log.Warn("the state of a streaming view is of no use and is made again", "view", m.name(), "error", err)
		if err = errors.Join(m.close(), m.clear()); err == nil {
			err = m.openState(ctx)
		}
	}
	if err != nil {
		return p, false, err
	}
	if err := m.bind(k.set, k.mode); err != nil {
		return p, false, err
	}
	now := k.view.Published
	m.served = point{Generation: now.Generation, Epoch: now.Epoch, Published: now.Snapshot, Frontier: now.Frontier.SourceVersion, Clock: now.Frontier.Clock}
	return decodePoint(m.store.Frontier())
}

// generationDir is where a generation's state lies.
func (c *Config) generationDir(uuid string, generation int64) string {
	return filepath.Join(c.Dir, uuid, strconv.FormatInt(generation, 10))
}

// clear removes the state, or what is in its place.
func (m *member) clear() error {
	err := os.RemoveAll(m.dir)
	if of := filepath.Dir(m.dir); errors.Is(err, syscall.ENOTDIR) {
		err = os.Remove(of) // where the view's generations belong is a file
	}
	if err != nil {
		return fault.StateUnreadable.Wrap(err, "removing the checkpoint in %s", m.dir)
	}
	return nil
}

// openState opens the store and makes the graph over it.
func (m *member) openState(ctx context.Context) error {
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return fault.StateUnreadable.Wrap(err, "the checkpoint in %s", m.dir)
	}
	var err error
	m.store, err = state.OpenStore(state.StoreOptions{Dir: m.dir, FS: m.c.FS, Written: &m.c.s.written, Ready: func() { m.c.wake(m.view.UUID) }, Stamp: strings.Join([]string{m.c.Stamp, m.plan.Fingerprint(), strconv.FormatInt(m.generation, 10)}, " ")})
	if err != nil {
		return err
	}
	m.locked()
	graph, inputs, err := dataflow.Build(ctx, m.plan, dataflow.BuildOptions{
		Tables: dataflow.Stored{Store: m.store, Budget: int(m.budget())}, Evaluator: m.c.Evaluator, Groups: m.c.Groups,
		TimeZone: m.view.Def.TimeZone, Parallelism: m.options.Parallelism, Late: m.late, KeepDropped: true,
	})
	if err != nil {
		return err
	}
	m.graph, m.inputs = graph, nil
	for _, in := range inputs {
		r := readingOf(in)
		m.inputs = append(m.inputs, &input{reading: r, delta: zset.New(r.Layout), mark: in.Time()})
	}
	return nil
}

// bind finds the tables that are read as they are now. A streaming view may have taken the place of one whose changes must come one by one.
func (m *member) bind(set *catalog.Set, mode string) error {
	now := map[string]catalog.Table{}
	for _, t := range set.Tables {
		now[t.UUID] = t
	}
	for _, in := range m.inputs {
		t, ok := now[in.reading.UUID]
		if !ok {
			return droppedTable(set.TableAt(in.reading.Name), in.reading, m.name())
		}
		if err := sameColumns(t, in.reading.Columns, m.name()); err != nil {
			return err
		}
		in.reading.TableID, in.reading.Name = t.ID, t.Name
		up := set.ByUUID(t.UUID)
		if in.stream = up != nil && up.Kind == catalog.Streaming; !in.stream {
			continue
		}
		if in.reading.Position >= 0 || mode == Future {
			return fault.SourceChanged.Newf("%s, which view %s reads, is a streaming view now: it publishes the changes of several commits as one, and neither a watermark nor initial_mode = 'future' goes over that", t.Name, m.name()).
				WithHint("make the table again, or drop the view")
		}
		in.pick = in.pick[:0]
		for _, c := range in.reading.Columns {
			for i := range t.Columns {
				if t.Columns[i].ID == c.ID {
					in.pick = append(in.pick, i)
				}
			}
		}
	}
	m.unread = m.unread[:0]
	for _, src := range m.view.Sources {
		up, t := set.ByUUID(src.UUID), now[src.UUID]
		read := slices.ContainsFunc(m.inputs, func(in *input) bool { return in.reading.UUID == src.UUID })
		if !read && t.ID != 0 && (up == nil || up.Kind != catalog.Streaming) {
			m.unread = append(m.unread, t.ID)
		}
	}
	return nil
}

// droppedTable says that a table that is read is gone, and why the one that is in its place, nil when none is, cannot be read instead.
func droppedTable(instead *catalog.Table, r Reading, view string) error {
	if instead == nil {
		return fault.SourceChanged.Newf("table %s, which view %s reads, was dropped", r.Name, view).
			WithHint("create it again with the same columns, or drop the view")
	}
	for _, c := range r.Columns {
		at := slices.IndexFunc(instead.Columns, func(is catalog.Column) bool { return strings.EqualFold(is.Name, c.Name) })
		switch {
		case at < 0:
			return fault.SourceChanged.Newf("table %s was made again without column %s, which view %s reads as %s", r.Name, c.Name, view, c.Type).
				WithHint("create the table again with the column, or drop the view and create it again")
		case !sameType(instead.Columns[at].Type, c.Type):
			return fault.SourceChanged.Newf("table %s was made again, and its column %s, which view %s reads as %s, is now %s", r.Name, c.Name, view, c.Type, instead.Columns[at].Type).
				WithHint("create the table again with that type, or drop the view and create it again")
		}
	}
	return fault.SourceChanged.Newf("table %s, which view %s reads, was dropped and made again", r.Name, view).
		WithHint("the view follows it by itself")
}

// sameColumns says which of the columns is gone from the table or has another type.
func sameColumns(t catalog.Table, used []catalog.Column, view string) error {
	for _, c := range used {
		found := false
		for _, is := range t.Columns {
			if is.ID != c.ID {
				continue
			}
			if !sameType(is.Type, c.Type) {
				return fault.SourceChanged.Newf("column %s of table %s, which view %s reads as %s, is now %s", is.Name, t.Name, view, c.Type, is.Type).
					WithHint("give it back its type, or drop the view and create it again")
			}
			found = true
		}
		if !found {
			return fault.SourceChanged.Newf("column %s of table %s, which view %s reads, was dropped", c.Name, t.Name, view).
				WithHint("create the view again without it")
		}
	}
	return nil
}

// sameType compares two types as they are written: one by the lake, the other by the plan, which quotes the names of fields in other ways.
func sameType(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	x, err1 := row.ParseType(a)
	y, err2 := row.ParseType(b)
	return err1 == nil && err2 == nil && x.Equal(y)
}

// remove removes what is kept of a view's generations, all or those before one.
func (c *Config) remove(uuid string, before int64) error {
	dir := filepath.Join(c.Dir, uuid)
	if before == 0 {
		return os.RemoveAll(dir)
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if n, e2 := strconv.ParseInt(e.Name(), 10, 64); e2 == nil && n < before {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("stream: old state of a view: %w", err)
	}
	return nil
}

// sweep removes the state of views that are not there any more: they were dropped while this server was not running.
func (c *Config) sweep(there func(uuid string) bool) {
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return // there is none yet
	}
	for _, e := range entries {
		if _, err := uuid.Parse(e.Name()); err != nil || there(e.Name()) {
			continue
		}
		if err := c.remove(e.Name(), 0); err != nil {
			c.Log.Warn("what is left of a streaming view that was dropped", "uuid", e.Name(), "error", err)
		}
	}
}

// spec is the table that the member writes.
func (m *member) spec() ResultSpec {
	return ResultSpec{UUID: m.view.UUID, Table: m.view.Table, Layout: m.graph.Layout()}
}

// remembered are the tables in which the sink remembers where rows lie: they are checkpointed with the operators'.
func (m *member) remembered() dataflow.Tables {
	return dataflow.Stored{Store: m.store, Budget: int(m.budget())}
}
