package plan

import "github.com/vegadb/vega-flight/ivm/row"

// What is known of aggregate and window functions by their names.

// orderedAggregates give an order of rows, or the row that comes first in it.
var orderedAggregates = map[string]bool{"list": true, "array_agg": true, "string_agg": true, "group_concat": true, "listagg": true,
	"first": true, "last": true, "arbitrary": true}

// tiedAggregates give one of several values that are as good.
var tiedAggregates = map[string]bool{"any_value": true, "arg_max": true, "arg_min": true, "max_by": true, "min_by": true, "argmax": true,
	"argmin": true, "arg_max_null": true, "arg_min_null": true, "arg_max_nulls_last": true, "arg_min_nulls_last": true, "mode": true}

// approximateAggregates depend on the order in which DuckDB meets the rows, or on chance.
var approximateAggregates = map[string]bool{"approx_quantile": true, "approx_top_k": true, "reservoir_quantile": true}

// floatAggregates compute in floating point whatever their arguments are, in the order in which rows come.
var floatAggregates = map[string]bool{"var_samp": true, "var_pop": true, "variance": true, "stddev": true, "stddev_samp": true,
	"stddev_pop": true, "sem": true, "corr": true, "covar_pop": true, "covar_samp": true, "regr_avgx": true, "regr_avgy": true, "regr_intercept": true,
	"regr_r2": true, "regr_slope": true, "regr_sxx": true, "regr_sxy": true, "regr_syy": true, "skewness": true, "kurtosis": true, "kurtosis_pop": true,
	"entropy": true, "product": true, "geometric_mean": true, "geomean": true}

// sums are in floating point when their argument is.
var sums = map[string]bool{"sum": true, "avg": true, "mean": true, "fsum": true, "favg": true, "kahan_sum": true, "sumkahan": true, "sum_no_overflow": true}

// linearAggregates are kept as numbers that a retraction undoes.
var linearAggregates = map[string]bool{"count": true, "count_star": true, "sum": true, "avg": true, "mean": true, "sum_no_overflow": true,
	"fsum": true, "favg": true, "kahan_sum": true, "sumkahan": true, "count_if": true, "countif": true, "bool_and": true, "bool_or": true, "bit_xor": true,
	"var_samp": true, "var_pop": true, "variance": true, "stddev": true, "stddev_samp": true, "stddev_pop": true}

// orderedStateAggregates are kept as the group's values in order, each with its count.
var orderedStateAggregates = map[string]bool{"min": true, "max": true, "bit_and": true, "bit_or": true, "any_value": true, "first": true, "arg_max": true,
	"arg_min": true, "max_by": true, "min_by": true}

func floats(t row.Type) bool { return t.Kind == row.Float || t.Kind == row.Double }

func (a *Agg) inputs() []Expr {
	return appendOrder(append(append([]Expr{}, a.Args...), a.Filter), a.Order)
}

func (a *Agg) inexact() bool {
	if floatAggregates[a.Name] {
		return true
	}
	return sums[a.Name] && len(a.Args) > 0 && floats(a.Args[0].Result())
}

// choice says that the order of equal rows decides the value.
func (a *Agg) choice() bool {
	return !a.Internal && (orderedAggregates[a.Name] || tiedAggregates[a.Name]) || a.Internal
}

// Native says how the aggregate is kept: by numbers, as an ordered multiset, or by its arguments, from which DuckDB
// evaluates it again.
func (a *Agg) Native() StateKind {
	switch {
	case a.Distinct && linearAggregates[a.Name], len(a.Order) == 0 && orderedStateAggregates[a.Name]:
		return OrderedGroups
	case linearAggregates[a.Name]:
		return LinearGroups
	}
	return ReevaluatedGroups
}

func (f *WindowFunc) inputs() []Expr {
	return appendOrder(append(append([]Expr{}, f.Args...), f.Filter, f.Offset, f.Default, f.Frame.Start.Expr, f.Frame.End.Expr), f.ArgOrder)
}

func (f *WindowFunc) inexact() bool {
	return floatAggregates[f.Name] || f.Aggregate && sums[f.Name] && len(f.Args) > 0 && floats(f.Args[0].Result()) ||
		f.Name == "percent_rank" || f.Name == "cume_dist" || f.Name == "fill"
}

// placeFunctions depend on where a row stands among its peers too.
var placeFunctions = map[string]bool{"row_number": true, "lag": true, "lead": true, "ntile": true, "first_value": true, "last_value": true,
	"nth_value": true, "first": true, "last": true, "fill": true}

// needsOrder says that the value depends on the order of rows beyond what ORDER BY decides for peers.
func (f *WindowFunc) needsOrder() bool {
	if len(f.ArgOrder) > 0 && f.Name != "row_number" {
		return false
	}
	if placeFunctions[f.Name] || orderedAggregates[f.Name] {
		return true
	}
	if ignoresFrame[f.Name] {
		return false
	}
	whole := f.Frame.Start.Kind == UnboundedPreceding && f.Frame.End.Kind == UnboundedFollowing && (f.Frame.Exclude == "" || f.Frame.Exclude != "CURRENT ROW")
	return f.Frame.Unit == Rows && !whole && (f.Frame.Start.Kind != UnboundedPreceding || f.Frame.End.Kind != UnboundedFollowing)
}
