package ivmtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// eventTime is the watermark of a table as the oracle keeps it: the newest time of the rows that were in time, less the delay,
// commit by commit. A view's query is asked of the rows that were in time.
type eventTime struct {
	column int
	delay  int64
	never  int64 // infinity
	newest int64
	known  bool
	late   int64       // changes dropped
	seen   *zset.Batch // the rows that were in time
}

// watermark gives a table that is still empty a watermark.
func (w *World) watermark(ctx context.Context, t *table, column string, delay time.Duration) error {
	s := t.source
	s.Watermark, s.DelayMicros, s.Delay = column, delay.Microseconds(), delay.String()
	var err error
	if t.event, err = newEventTime(s, t.rows.Layout); err != nil {
		return err
	}
	return w.lab.oracle.exec(ctx, fmt.Sprintf(`CREATE SCHEMA IF NOT EXISTS %[1]s_seen; CREATE TABLE %[1]s_seen."%[2]s" AS FROM %[1]s."%[2]s" LIMIT 0`, w.schema, s.Name))
}

func newEventTime(s *plan.Source, l *row.Layout) (*eventTime, error) {
	for i, c := range s.Columns {
		if !strings.EqualFold(c.Name, s.Watermark) {
			continue
		}
		ticks, ok := plan.Ticks(c.Type, s.DelayMicros)
		if !ok {
			return nil, fmt.Errorf("%s is no time", c.Type)
		}
		e := &eventTime{column: i, delay: ticks, never: math.MaxInt64, seen: zset.New(l)}
		if c.Type.Kind == row.Date {
			e.never = math.MaxInt32
		}
		return e, nil
	}
	return nil, fmt.Errorf("there is no column %s", s.Watermark)
}

// takeAll takes the changes of several commits, as sources with a watermark give them.
func (e *eventTime) takeAll(d *zset.Batch) error {
	last := len(d.Layout.Types) - 1
	for from := 0; from < d.Len(); {
		at := d.Row(from)[d.Layout.Off[last]]
		part := zset.New(e.seen.Layout)
		for ; from < d.Len() && d.Row(from)[d.Layout.Off[last]] == at; from++ {
			r := part.AppendRow(d.Weights[from])
			for f := range last {
				part.Layout.CopyField(r, f, part.Heap, d.Layout, d.Row(from), f, d.Heap)
			}
		}
		if err := e.take(part); err != nil {
			return err
		}
	}
	return nil
}

// take gives the changes of one commit that are in time.
func (e *eventTime) take(d *zset.Batch) error {
	newest, known := e.newest, e.known
	l := d.Layout
	for i, n := range d.Weights {
		r := d.Row(i)
		if !l.IsNull(r, e.column) {
			at := int64(r[l.Off[e.column]])
			if e.known && at < e.newest-e.delay {
				e.late += max(n, -n)
				continue
			}
			if n > 0 && (!known || at > newest) && at != e.never && at != -e.never {
				newest, known = at, true
			}
		}
		e.seen.Append(r, d.Heap, n)
	}
	e.newest, e.known = newest, known
	e.seen.Consolidate()
	for i, n := range e.seen.Weights {
		if n < 0 {
			return fmt.Errorf("the table has %s %d times", l.Format(e.seen.Row(i), e.seen.Heap), n)
		}
	}
	return nil
}

// show makes the rows that were in time the oracle's.
func (w *World) show(ctx context.Context, t *table) error {
	name := fmt.Sprintf(`%s_seen."%s"`, w.schema, t.source.Name)
	all := zset.New(t.rows.Layout)
	for i, n := range t.event.seen.Weights {
		for range n {
			all.Append(t.event.seen.Row(i), t.event.seen.Heap, 1)
		}
	}
	names := make([]string, len(t.source.Columns))
	for i, c := range t.source.Columns {
		names[i] = c.Name
	}
	schema, err := all.Layout.Schema(names, "UTC")
	if err != nil {
		return err
	}
	return errors.Join(w.lab.oracle.keep(ctx, "ivm_seen", schema, all), w.lab.oracle.exec(ctx, "DELETE FROM "+name+"; INSERT INTO "+name+" FROM temp.ivm_seen"))
}

// ask runs a view's query, of the rows that were in time where tables have watermarks.
func (w *World) ask(ctx context.Context, sql, zone string) (rows *zset.Batch, err error) {
	for _, t := range w.tables {
		if t.event != nil {
			if err := w.lab.oracle.exec(ctx, fmt.Sprintf("SET search_path = '%[1]s_seen,%[1]s'", w.schema)); err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, w.lab.oracle.exec(ctx, "USE "+w.schema)) }()
			break
		}
	}
	return w.lab.oracle.read(ctx, sql, zone)
}

// positioned is changes with the position that they are of, as sources with a watermark give them.
func positioned(d *zset.Batch, at uint64, to *zset.Batch) *zset.Batch {
	n := len(d.Layout.Types)
	if to == nil {
		to = zset.New(row.NewLayout(append(d.Layout.Types[:n:n], row.Type{Kind: row.Uint64})...))
	}
	for i, w := range d.Weights {
		r := to.AppendRow(w)
		for f := range n {
			to.Layout.CopyField(r, f, to.Heap, d.Layout, d.Row(i), f, d.Heap)
		}
		to.Layout.Set(r, n, at)
	}
	return to
}

// eventful says that a view reads a table with a watermark.
func (v *View) eventful() bool {
	for _, s := range v.Plan.Sources() {
		if s.Watermark != "" {
			return true
		}
	}
	return v.below != nil && v.below.eventful()
}

func (v *View) reads(t *table) bool {
	for _, s := range v.Plan.Sources() {
		if s == t.source {
			return true
		}
	}
	return false
}

// compareLate compares how many changes the view has dropped.
func (v *View) compareLate() error {
	l, ok := v.main.Maintained.(interface{ Late() map[string]int64 })
	if !ok {
		return nil
	}
	for name, n := range l.Late() {
		if e := v.world.table(name).event; e.late != n {
			return v.wrong("it has dropped %d late changes of %s, not %d", n, name, e.late)
		}
	}
	return nil
}

// cutCommits spreads the changes of a table with a watermark over steps, commit by commit.
func cutCommits(random *rand.Rand, d *zset.Batch, out []map[string]*zset.Batch, name string) {
	last := len(d.Layout.Types) - 1
	at, from := 0, uint64(0)
	for i, w := range d.Weights {
		if p := d.Row(i)[d.Layout.Off[last]]; p != from {
			from = p
			at += random.IntN(len(out) - at)
		}
		if out[at][name] == nil {
			out[at][name] = zset.New(d.Layout)
		}
		out[at][name].Append(d.Row(i), d.Heap, w)
	}
}
