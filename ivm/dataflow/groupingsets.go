package dataflow

// GROUPING SETS, ROLLUP and CUBE. With γ_S the aggregation by the keys of set S, the others being NULL:
//
//	γ_{S1, S2, …}(A) = γ_S1(A) + γ_S2(A) + …      d(γ_{S1, S2, …} A) = d(γ_S1 A) + d(γ_S2 A) + …
//
// so each set is an aggregation of its own, with its own state (newGrouping). A set named twice gives its rows twice; the
// empty set is global: it always has its row, also over no rows. grouping(…) is a constant of a set, which tells the NULL of a
// key that the set lacks from a NULL of the data.

// groupingValue is grouping(…): a bit for each argument, set if the set lacks it.
type groupingValue struct{ bits uint64 }

func newGroupingValue(g *grouping, f *Function) value {
	v := &groupingValue{}
	for _, a := range f.Args {
		v.bits <<= 1
		if g.places[a] < 0 {
			v.bits |= 1
		}
	}
	return v
}

func (v *groupingValue) show(c *group, i int) error { return c.set(i, v.bits) }
