package ivmtest

import (
	"context"
	"maps"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// A view over another view is given what that one emitted, as the change of a table of its name; the oracle's query has the other
// view's query in it.

// asSource is the view as another one's source.
func (v *View) asSource() *plan.Source {
	s := &plan.Source{Schema: "main", Name: v.Name}
	for i, c := range v.Plan.Columns() {
		s.Columns = append(s.Columns, plan.TableColumn{ID: int64(i + 1), Name: c.Name, Type: c.Type})
	}
	return s
}

// tell has the oracle keep what the views below are now.
func (v *View) tell(ctx context.Context) error {
	b := v.below
	if b == nil {
		return nil
	}
	if err := b.tell(ctx); err != nil {
		return err
	}
	_, err := v.world.ask(ctx, "CREATE OR REPLACE TEMP TABLE "+b.Name+" AS "+at(b.SQL, v.world.now), b.TimeZone)
	return err
}

// given is the changes of tables, and of the view below.
func (v *View) given(deltas map[string]*zset.Batch) map[string]*zset.Batch {
	if v.below == nil || v.below.last == nil || v.below.last.Len() == 0 {
		return deltas
	}
	all := maps.Clone(deltas)
	all[v.below.Name] = v.below.last
	return all
}

// whole is all tables, and the view below, as changes of nothing.
func (v *View) whole() map[string]*zset.Batch {
	all := v.world.whole()
	if v.below != nil && v.below.main.rows.Len() > 0 {
		all[v.below.Name] = v.below.main.rows
	}
	return all
}

// undefined says that a view below has errors: what is above it cannot be told.
func (v *View) undefined() bool {
	return v.below != nil && (len(v.below.main.Errors()) > 0 || v.below.undefined())
}
