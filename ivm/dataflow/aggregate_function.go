package dataflow

import (
	"fmt"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
)

// aggregateBuilder finds what the functions of an aggregation need, and lets those that need the same share it.
type aggregateBuilder struct {
	g      *grouping
	input  *row.Layout
	shared map[string]accumulator
}

// aliases are the other names of functions.
var aliases = map[string]string{
	"mean": "avg", "favg": "avg", "fsum": "sum_float", "kahan_sum": "sum_float", "sumkahan": "sum_float",
	"variance": "var_samp", "stddev": "stddev_samp", "argmin": "arg_min", "min_by": "arg_min", "argmax": "arg_max", "max_by": "arg_max",
	"arbitrary": "first", "group_concat": "string_agg", "listagg": "string_agg", "array_agg": "list",
	"percentile_cont": "quantile_cont", "percentile_disc": "quantile_disc", "quantile": "quantile_disc", "countif": "count_if",
	"count_star": "count", "every": "bool_and",
}

// NativeFunction says that an aggregation computes the function itself; the others are its evaluator's.
func NativeFunction(f Function, input *row.Layout) bool {
	name := canonical(f.Name)
	if name == "grouping" {
		return true
	}
	if name == "count" && len(f.Args) == 0 {
		return true
	}
	if len(f.Args) == 0 {
		return false
	}
	t := input.Types[f.Args[0]]
	if f.Distinct {
		if _, ok := equalityOf(t); !ok && len(f.Identity) == 0 {
			return false
		}
		switch name {
		case "list", "string_agg", "median", "quantile_cont", "quantile_disc", "mode":
			if len(f.Identity) > 0 {
				return false
			}
		}
	}
	_, ordered := orderOf(t)
	ordered = ordered || len(f.Sort) > 0
	switch name {
	case "count", "first", "last", "any_value":
		return len(f.Args) == 1
	case "list":
		return len(f.Args) == 1 && f.Result.Kind == row.List
	case "string_agg":
		return len(f.Args) == 1 && t.Kind == row.Varchar
	case "sum":
		return len(f.Args) == 1 && (integral(t) || isFloat(t) || t.Kind == row.Bool)
	case "sum_float":
		return isFloat(t)
	case "avg":
		return len(f.Args) == 1 && (integral(t) || isFloat(t) || t.Kind == row.Timestamp || t.Kind == row.TimestampTZ || t.Kind == row.Time)
	case "min", "max":
		return len(f.Args) == 1 && ordered
	case "mode":
		_, same := equalityOf(t)
		return len(f.Args) == 1 && same
	case "bool_and", "bool_or", "count_if":
		return t.Kind == row.Bool
	case "bit_and", "bit_or", "bit_xor":
		return integral(t) && t.Kind != row.Decimal || t.Kind == row.Uint128
	case "var_pop", "var_samp", "stddev_pop", "stddev_samp":
		return isFloat(t)
	case "arg_min", "arg_max", "arg_min_null", "arg_max_null":
		if len(f.Args) != 2 {
			return false
		}
		_, ok := orderOf(input.Types[f.Args[1]])
		return ok || len(f.Sort) > 0
	case "quantile_disc":
		return ordered && f.Result.Equal(t)
	case "median", "quantile_cont":
		return (t.Kind == row.Double || wordInteger(t)) && f.Result.Kind == row.Double && len(f.Sort) == 0
	}
	return false
}

func canonical(name string) string {
	if a, ok := aliases[name]; ok {
		return a
	}
	return name
}

func isFloat(t row.Type) bool { return t.Kind == row.Double || t.Kind == row.Float }

func wordInteger(t row.Type) bool { return t.Kind >= row.Int8 && t.Kind <= row.Uint64 }

func integral(t row.Type) bool {
	return wordInteger(t) || t.Kind == row.Int128 || t.Kind == row.Decimal
}

func (b *aggregateBuilder) function(f *Function) (value, error) {
	name := canonical(f.Name)
	if !NativeFunction(*f, b.input) {
		if b.g.foreign == nil {
			b.g.foreign = newForeign(b.g)
			b.g.foreign.kept = b.multiset(project(b.input, b.g.spec.Kept...), nil, nil)
		}
		return b.g.foreign.value(), nil
	}
	if name == "grouping" {
		return newGroupingValue(b.g, f), nil
	}
	if len(f.Args) == 0 {
		if len(f.Filters) == 0 {
			return &countValue{at: &b.g.rows.place}, nil
		}
		a := b.accumulate("rows", f, &countRows{})
		return &countValue{at: &a.(*countRows).place}, nil
	}
	col := cellOf(b.input, f.Args[0])
	t := col.kind
	switch name {
	case "count":
		if f.Distinct {
			return &sizeValue{m: b.distinct(f)}, nil
		}
		a := b.accumulate("count", f, &countValues{cell: col})
		return &countValue{at: &a.(*countValues).place}, nil
	case "sum", "avg", "sum_float":
		return b.sum(name, f, col)
	case "bool_and", "bool_or", "count_if":
		if f.Distinct && name == "count_if" {
			a := b.accumulate("true", f, &countTrue{cell: col})
			return &boolValue{at: &a.(*countTrue).place, name: name}, nil
		}
		plain := *f
		plain.Distinct = false
		a := b.accumulate("true", &plain, &countTrue{cell: col})
		return &boolValue{at: &a.(*countTrue).place, name: name}, nil
	case "bit_and", "bit_or", "bit_xor":
		acc := &countBits{cell: col, width: bitWidth(t)}
		a := b.accumulate("bits", f, acc).(*countBits)
		return &bitValue{of: a, name: name}, nil
	case "var_pop", "var_samp", "stddev_pop", "stddev_samp":
		a := b.accumulate("squares", f, &sumFloats{cell: col, squares: true}).(*sumFloats)
		return &varianceValue{of: a, name: name}, nil
	case "min", "max", "median", "mode", "quantile_cont", "quantile_disc":
		m := b.sorted(f, f.Args[0], name == "mode", f.Args[0])
		at := len(m.entry.moves) - 1
		switch name {
		case "min", "max":
			return &endValue{m: m, at: at, last: name == "max"}, nil
		case "mode":
			return &modeValue{m: m, at: at, distinct: f.Distinct}, nil
		}
		v := &quantileValue{m: m, at: at, q: f.Quantile, continuous: name != "quantile_disc", distinct: f.Distinct, from: t}
		if name == "median" {
			v.q = Quantile{Value: 0.5}
		}
		return v, nil
	case "arg_min", "arg_max", "arg_min_null", "arg_max_null":
		skip := []int{f.Args[1]}
		if name == "arg_min" || name == "arg_max" {
			skip = append(skip, f.Args[0])
		}
		fields, ops := sortFields(b.input, f, f.Args[1], false)
		m := b.multiset(projectOrdered(b.input, append(fields, f.Args[0]), append(ops, asIs)), f.Filters, skip)
		at := len(m.entry.moves) - 1
		return &endValue{m: m, at: at, last: name == "arg_max" || name == "arg_max_null"}, nil
	}
	// first, last, any_value, list, string_agg: the order row, then the argument
	var skip []int
	if name == "any_value" || name == "string_agg" {
		skip = f.Args
	}
	m := b.multiset(project(b.input, append(append([]int(nil), f.Order...), f.Args...)...), f.Filters, skip)
	at := len(f.Order)
	switch name {
	case "first", "any_value", "last":
		return &endValue{m: m, at: at, last: name == "last"}, nil
	case "list":
		return &listValue{m: m, at: at, distinct: f.Distinct}, nil
	case "string_agg":
		return &textValue{m: m, at: at, distinct: f.Distinct, separator: f.Separator, null: f.SeparatorNull}, nil
	}
	return nil, fault.InternalError.Newf("the aggregate function %s is not known", f.Name)
}

func (b *aggregateBuilder) sum(name string, f *Function, col cell) (value, error) {
	t := col.kind
	v := &sumValue{average: name == "avg", type_: t, result: f.Result, scale: 1}
	if f.Of.Kind != 0 {
		v.type_ = f.Of
	}
	switch {
	case isFloat(t):
		a := b.accumulate("floats", f, &sumFloats{cell: col}).(*sumFloats)
		return &floatValue{of: a, average: v.average}, nil
	case t.Words() == 2:
		v.wide = true
		v.at = &b.accumulate("wide", f, &sumWide{cell: col}).(*sumWide).place
	default:
		v.at = &b.accumulate("words", f, &sumWords{cell: col, unsigned: t.Kind == row.Uint64}).(*sumWords).place
	}
	if t.Kind == row.Decimal {
		for range t.Scale {
			v.scale *= 10
		}
	}
	return v, nil
}

func bitWidth(t row.Type) int {
	switch t.Kind {
	case row.Int8, row.Uint8:
		return 8
	case row.Int16, row.Uint16:
		return 16
	case row.Int32, row.Uint32:
		return 32
	case row.Int128, row.Uint128:
		return 128
	}
	return 64
}

// accumulate adds an accumulator, unless there is one of its kind over the same argument and rows.
func (b *aggregateBuilder) accumulate(kind string, f *Function, a accumulator) accumulator {
	key := fmt.Sprint(kind, f.Args, f.Filters)
	if f.Distinct {
		key += fmt.Sprint(" distinct", f.Identity)
	}
	if old, ok := b.shared[key]; ok {
		return old
	}
	b.shared[key] = a
	if x, ok := a.(*sumFloats); ok {
		b.g.floats = append(b.g.floats, x)
	}
	b.g.adders = append(b.g.adders, adder{a, b.selection(f)})
	return a
}

func (b *aggregateBuilder) selection(f *Function) *selection {
	if f.Distinct {
		m := b.distinct(f)
		m.watch = true
		for _, s := range b.g.selections {
			if s.distinct == m {
				return s
			}
		}
		s := &selection{distinct: m}
		b.g.selections = append(b.g.selections, s)
		return s
	}
	if len(f.Filters) == 0 {
		return nil
	}
	for _, s := range b.g.selections {
		if s.distinct == nil && len(s.filters) == len(f.Filters) {
			same := true
			for i, c := range s.filters {
				same = same && c.src == b.input.Off[f.Filters[i]]
			}
			if same {
				return s
			}
		}
	}
	s := &selection{}
	for _, i := range f.Filters {
		s.filters = append(s.filters, cellOf(b.input, i))
	}
	b.g.selections = append(b.g.selections, s)
	return s
}

// distinct is the multiset of a function's arguments by their identity.
func (b *aggregateBuilder) distinct(f *Function) *multiset {
	if len(f.Identity) > 0 {
		return b.multiset(project(b.input, f.Identity...), f.Filters, f.Args)
	}
	ops := make([]transform, len(f.Args))
	for i, a := range f.Args {
		ops[i], _ = equalityOf(b.input.Types[a])
	}
	return b.multiset(projectOrdered(b.input, f.Args, ops), f.Filters, f.Args)
}

// sortFields are what orders an argument, the argument itself last if it cannot be read off them.
func sortFields(input *row.Layout, f *Function, arg int, same bool) (fields []int, ops []transform) {
	if len(f.Sort) > 0 {
		fields = append(fields, f.Sort...)
		return fields, make([]transform, len(fields))
	}
	op, _ := orderOf(input.Types[arg])
	if same {
		op, _ = equalityOf(input.Types[arg])
	}
	return []int{arg}, []transform{op}
}

func (b *aggregateBuilder) sorted(f *Function, arg int, same bool, skip ...int) *multiset {
	fields, ops := sortFields(b.input, f, arg, same)
	if len(f.Sort) > 0 {
		fields, ops = append(fields, arg), append(ops, asIs)
	}
	return b.multiset(projectOrdered(b.input, fields, ops), f.Filters, skip)
}

func (b *aggregateBuilder) multiset(p *projection, filters, skip []int) *multiset {
	m := newMultiset(p, b.input, filters, skip)
	m.says = b.g.spec.own()
	for _, old := range b.g.multisets {
		if old.spec() == m.spec() {
			return old
		}
	}
	b.g.multisets = append(b.g.multisets, m)
	return m
}

// tables lays the accumulators out and makes the tables. The first multiset lies beside the accumulators.
func (b *aggregateBuilder) tables(name string, tables Tables) error {
	g := b.g
	g.size = g.rows.words()
	for _, a := range g.adders {
		a.at(g.size)
		g.size += a.words()
	}
	spec := state.Spec{Key: g.key.layout, Payload: g.size}
	if len(g.multisets) == 0 {
		g.most = 16 * blockGroups
	} else {
		spec.Entry, spec.Order = g.multisets[0].entry.layout, len(g.multisets[0].entry.moves)
	}
	var err error
	if g.table, err = tables.Table(name, spec); err != nil {
		return err
	}
	for i, m := range g.multisets {
		if i == 0 {
			m.table, m.own = g.table, true
			continue
		}
		s := state.Spec{Key: g.key.layout, Entry: m.entry.layout, Order: len(m.entry.moves)}
		if m.table, err = tables.Table(fmt.Sprintf("%s/entries%d", name, i), s); err != nil {
			return err
		}
	}
	for i, f := range g.floats {
		s := state.Spec{Key: g.key.layout, Payload: wideWords}
		if f.wide, err = tables.Table(fmt.Sprintf("%s/wide%d", name, i), s); err != nil {
			return err
		}
	}
	return nil
}
