package bind

import (
	"context"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/refresh"
	"github.com/vegadb/vega-flight/ivm/row"
)

// Plan plans a stored streaming view: its canonical query over its sources as they were bound, with columns of exactly the types of the
// view's table.
func (b *Binder) Plan(ctx context.Context, v *catalog.View) (*plan.Plan, error) {
	planner, err := b.planning(ctx)
	if err != nil {
		return nil, err
	}
	q := Query{SQL: v.Def.Query, TimeZone: v.Def.TimeZone}
	for _, src := range v.Sources {
		s, err := streamSource(src)
		if err != nil {
			return nil, fault.UnstableType.Wrap(err, "view %s", v.Name())
		}
		q.Sources = append(q.Sources, s)
	}
	if err := watch(q.Sources, v.Def.Options.Stream); err != nil {
		return nil, err
	}
	p, err := planner.Plan(ctx, q)
	if err != nil || !p.Admitted() {
		return p, err
	}
	casts, differ, err := kept(p.Columns(), v.Table.Columns)
	if err != nil || !differ {
		return p, err
	}
	q.SQL = "SELECT " + casts + " FROM (" + q.SQL + "\n) AS q"
	return planner.Plan(ctx, q)
}

// Text is a stored streaming view's query over its sources as they were at a snapshot.
func (b *Binder) Text(ctx context.Context, v *catalog.View, tables map[string]catalog.Table, at int64) (string, error) {
	then := make([]catalog.Table, 0, len(tables))
	for _, t := range tables {
		then = append(then, t)
	}
	reads, changed, err := refresh.Follow(v.Name(), v.Sources, then)
	if err != nil {
		return "", err
	}
	if changed {
		return "", fault.SourceChanged.Newf("a table that view %s reads was made again", v.Name())
	}
	t := Text{Lake: b.Lake.Name(), Parse: b.Parse}
	return t.Read(ctx, v.Def.Query, reads, at)
}

// kept is a select list that gives a query's columns the types of the table, and says whether any is another one.
func kept(columns []plan.Column, table []catalog.Column) (list string, differ bool, err error) {
	if len(columns) != len(table) {
		return "", false, fault.ViewAltered.Newf("the view's table has %d columns and its query gives %d", len(table), len(columns))
	}
	items := make([]string, len(columns))
	for i, c := range columns {
		t, err := row.ParseType(table[i].Type)
		if err != nil {
			return "", false, fmt.Errorf("bind: column %s: %w", table[i].Name, err)
		}
		name := metadata.QuoteIdent(c.Name)
		items[i] = fmt.Sprintf("#%d", i+1)
		if !t.Equal(c.Type) {
			differ = true
			items[i] = fmt.Sprintf("CAST(#%d AS %s)", i+1, t)
		}
		items[i] += " AS " + name
	}
	return strings.Join(items, ", "), differ, nil
}

// watch gives the sources the watermarks that the options ask for.
func watch(sources []*plan.Source, o ddl.Options) error {
	marks, err := o.Watermarks()
	if err != nil {
		return err
	}
	for _, w := range marks {
		found := false
		for _, s := range sources {
			if w.Table != "" && !strings.EqualFold(s.Name, w.Table) {
				continue
			}
			for _, c := range s.Columns {
				if strings.EqualFold(c.Name, w.Column) {
					if _, ok := plan.Ticks(c.Type, 0); !ok {
						return fault.InvalidOption.Newf("option watermark_column names %q, which is a %s in %s", w.Column, c.Type, s).
							WithHint("a watermark follows a DATE, a TIMESTAMP or a TIMESTAMPTZ; where several sources have a column of the name, write table.column")
					}
					s.Watermark, s.Delay, s.DelayMicros, found = c.Name, ddl.FormatDuration(w.Delay), w.Delay.Microseconds(), true
				}
			}
		}
		if !found {
			return fault.InvalidOption.Newf("option watermark_column names %q, which is no column that the query reads", w.Column).
				WithHint("write the name of a source's column, or table.column")
		}
	}
	return nil
}
