package ivmtest

import (
	"context"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// recompute is the slowest engine there is: it keeps the tables and runs the query. The harness is tested with it.
type recompute struct{ o *oracle }

type recomputed struct {
	recompute
	def    Definition
	layout *row.Layout
	tables map[string]*zset.Batch
	events map[string]*eventTime
	rows   *zset.Batch
	failed string
}

func (r recompute) Open(_ context.Context, d Definition) (Maintained, error) {
	v := &recomputed{recompute: r, def: d, tables: map[string]*zset.Batch{}, events: map[string]*eventTime{}}
	for _, s := range d.Sources {
		if s.Watermark == "" {
			continue
		}
		types := make([]row.Type, len(s.Columns))
		for i, c := range s.Columns {
			types[i] = c.Type
		}
		var err error
		if v.events[s.Name], err = newEventTime(s, row.NewLayout(types...)); err != nil {
			return nil, err
		}
	}
	var types []row.Type
	for _, c := range d.Plan.Columns() {
		types = append(types, c.Type)
	}
	v.layout = row.NewLayout(types...)
	v.rows = zset.New(v.layout)
	return v, nil
}

func (v *recomputed) Layout() *row.Layout { return v.layout }

func (v *recomputed) Step(ctx context.Context, now int64, deltas map[string]*zset.Batch) (*zset.Batch, error) {
	for name, d := range deltas {
		if e := v.events[name]; e != nil {
			if err := e.takeAll(d); err != nil {
				return nil, err
			}
			v.tables[name] = e.seen
			continue
		}
		if v.tables[name] == nil {
			v.tables[name] = zset.New(d.Layout)
		}
		v.tables[name].AppendBatch(d)
		v.tables[name].Consolidate()
	}
	for _, s := range v.def.Sources { // also those that the plan does without
		var names, columns []string
		var types []row.Type
		for _, c := range s.Columns {
			names, types = append(names, c.Name), append(types, c.Type)
			text := fmt.Sprintf("%q %s", c.Name, c.Type)
			if c.Type.Collation != "" && !strings.Contains(text, "COLLATE") {
				text += " COLLATE " + c.Type.Collation
			}
			columns = append(columns, text)
		}
		all := zset.New(row.NewLayout(types...))
		if b := v.tables[s.Name]; b != nil {
			for i, w := range b.Weights {
				if w < 0 {
					return nil, fmt.Errorf("table %s has a row %d times", s.Name, w)
				}
				for range w {
					all.Append(b.Row(i), b.Heap, 1)
				}
			}
		}
		schema, err := all.Layout.Schema(names, "UTC")
		if err != nil {
			return nil, err
		}
		if err := v.o.keep(ctx, "ivm_table", schema, all); err != nil {
			return nil, err
		}
		if err := v.o.exec(ctx, fmt.Sprintf("DROP TABLE IF EXISTS %q; CREATE TABLE %q (%s); INSERT INTO %q FROM ivm_table ORDER BY ALL", s.Name, s.Name, strings.Join(columns, ", "), s.Name)); err != nil {
			return nil, err
		}
	}
	rows, err := v.o.read(ctx, at(v.def.SQL, now), v.def.TimeZone)
	if v.failed = ""; err != nil {
		v.failed = err.Error()
		return zset.New(v.layout), nil //nolint:nilerr // the view has the error
	}
	d := minus(rows, v.rows)
	v.rows = rows
	return d, nil
}

func (v *recomputed) Errors() []string {
	if v.failed == "" {
		return nil
	}
	return []string{v.failed}
}

func (v *recomputed) Close() error { return nil }

func (r recompute) OpenStored(ctx context.Context, d Definition) (Maintained, error) {
	return r.Open(ctx, d)
}

func (v *recomputed) Load(ctx context.Context, now int64, tables map[string]*zset.Batch) (*zset.Batch, error) {
	return v.Step(ctx, now, tables)
}
