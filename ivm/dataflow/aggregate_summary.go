package dataflow

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

var errNoSummary = errors.New("dataflow: there are no summaries here")

// sumSQL is what an accumulator is over many rows: queries whose results are its words' parts, and their types.
type summable interface {
	accumulator
	// queries are over the SQL of the argument; filter is "" or a FILTER clause.
	queries(arg, filter string) (sql []string, types []row.Type)
	// single are what queries give of one row by itself; filter is "" or a condition.
	single(arg, filter string) []string
	// put adds the results, which are fields of r from i on, to the state.
	put(p []uint64, l *row.Layout, r []uint64, i int)
	// argument is where the prepared row has it; false: it has none.
	argument() (cell, bool)
}

var countType = row.Type{Kind: row.Int64}

func (*countRows) argument() (cell, bool) { return cell{}, false }

func (*countRows) queries(_, filter string) ([]string, []row.Type) {
	return []string{"count(*)" + filter}, []row.Type{countType}
}

func (*countRows) single(_, filter string) []string { return []string{one(filter)} }

// one is SQL for 1 if all conditions hold, else 0.
func one(conditions ...string) string {
	conditions = slices.DeleteFunc(conditions, func(c string) bool { return c == "" })
	if len(conditions) == 0 {
		return "CAST(1 AS BIGINT)"
	}
	return "CASE WHEN " + strings.Join(conditions, " AND ") + " THEN CAST(1 AS BIGINT) ELSE CAST(0 AS BIGINT) END"
}

func (a *countRows) put(p []uint64, l *row.Layout, r []uint64, i int) { p[a.off] += r[l.Off[i]] }

func (a *countValues) argument() (cell, bool) { return a.cell, true }

func (*countValues) queries(arg, filter string) ([]string, []row.Type) {
	return []string{"count(" + arg + ")" + filter}, []row.Type{countType}
}

func (*countValues) single(arg, filter string) []string {
	return []string{one(filter, "("+arg+") IS NOT NULL")}
}

func (a *countValues) put(p []uint64, l *row.Layout, r []uint64, i int) { p[a.off] += r[l.Off[i]] }

func (a *sumWords) argument() (cell, bool) { return a.cell, true }

func (a *sumWords) queries(arg, filter string) ([]string, []row.Type) {
	total, ok := a.total()
	if !ok {
		return nil, nil
	}
	return []string{"count(" + arg + ")" + filter, "CAST(sum(" + arg + ")" + filter + " AS " + total.String() + ")"}, []row.Type{countType, total}
}

func (a *sumWords) single(arg, filter string) []string {
	total, _ := a.total()
	value := "CAST(" + arg + " AS " + total.String() + ")"
	if filter != "" {
		value = "CASE WHEN " + filter + " THEN " + value + " END"
	}
	return []string{one(filter, "("+arg+") IS NOT NULL"), value}
}

// total is the type of the sum; ok is false when DuckDB's would not be exact.
func (a *sumWords) total() (t row.Type, ok bool) {
	if a.kind.Kind == row.Decimal {
		return row.Type{Kind: row.Decimal, Width: 38, Scale: a.kind.Scale}, true
	}
	return row.Type{Kind: row.Int128}, wordInteger(a.kind)
}

func (a *sumWords) put(p []uint64, l *row.Layout, r []uint64, i int) {
	p[a.off] += r[l.Off[i]]
	total := r[l.Off[i+1]:] // 0 where it is NULL
	var carry uint64
	p[a.off+1], carry = bits.Add64(p[a.off+1], total[0], 0)
	p[a.off+2], _ = bits.Add64(p[a.off+2], total[1], carry)
}

// fromSource is how the fields of prepared rows come from one source.
type fromSource struct {
	fields []string // SQL of each; "" where there is none
	where  string   // "" is all rows
	sure   bool     // none can fail
}

// exactKey says that DuckDB groups values of the type by what is equal here.
func exactKey(t row.Type) bool {
	switch t.Kind {
	case row.Bool, row.Int8, row.Int16, row.Int32, row.Int64, row.Uint8, row.Uint16, row.Uint32, row.Uint64, row.Int128, row.Uint128,
		row.Decimal, row.Date, row.Time, row.Timestamp, row.TimestampS, row.TimestampMS, row.TimestampNS, row.UUID, row.Blob:
		return true
	case row.Varchar:
		return t.Collation == ""
	}
	return false
}

// summarise makes the query that gives the groups' states, if there is one.
func (g *grouping) summarise(from *fromSource) *Summary {
	if from == nil || len(g.multisets) > 0 || len(g.floats) > 0 || g.foreign != nil || g.windows != nil {
		return nil
	}
	sqlOf := func(c cell) string {
		for i, off := range g.spec.Input.Off {
			if off == c.src {
				return from.fields[i]
			}
		}
		return ""
	}
	var columns, keys, values []string
	var types []row.Type
	for _, i := range g.set {
		at := g.spec.Groups[i]
		t, sql := g.spec.Input.Types[at.Key], from.fields[at.Key]
		if at.Key != at.Shown || !exactKey(t) || sql == "" {
			return nil
		}
		columns, types = append(columns, sql), append(types, t)
		keys = append(keys, fmt.Sprint(len(columns)))
	}
	all := append([]adder{{accumulator: &g.rows}}, g.adders...)
	for _, a := range all {
		s, ok := a.accumulator.(summable)
		if !ok {
			return nil
		}
		arg, filter, condition := "", "", ""
		if c, has := s.argument(); has {
			if arg = sqlOf(c); arg == "" {
				return nil
			}
		}
		if a.of != nil {
			if a.of.distinct != nil {
				return nil
			}
			var conditions []string
			for _, f := range a.of.filters {
				sql := sqlOf(f)
				if sql == "" {
					return nil
				}
				conditions = append(conditions, "("+sql+")")
			}
			condition = strings.Join(conditions, " AND ")
			filter = " FILTER (WHERE " + condition + ")"
		}
		sql, its := s.queries(arg, filter)
		if sql == nil {
			return nil
		}
		columns, types = append(columns, sql...), append(types, its...)
		values = append(values, s.single(arg, condition)...)
	}
	out := &Summary{SQL: "SELECT " + strings.Join(columns, ", ") + " FROM " + From, Layout: row.NewLayout(types...)}
	if from.where != "" {
		out.SQL += " WHERE " + from.where
	}
	if len(keys) > 0 {
		out.SQL += " GROUP BY " + strings.Join(keys, ", ")
		if from.sure {
			out.ungrouped(columns[:len(keys)], values, from.where)
		}
	}
	return out
}

// sum adds rows of the summary to the groups.
func (g *grouping) sum(b *zset.Batch) error {
	keyed, n := g.summed, len(g.set)
	if g.global {
		g.refs = g.refs[:0]
		ref, _ := g.table.Upsert([]uint64{0, 0}, nil)
		for range b.Len() {
			g.refs = append(g.refs, ref)
		}
	} else {
		keyed.all(&g.keys, b)
		g.refs = g.table.UpsertAll(&g.keys, g.refs)
	}
	for i, ref := range g.refs {
		r, p, at := b.Row(i), g.table.Payload(ref), n
		g.rows.put(p, b.Layout, r, at)
		at++
		for _, a := range g.adders {
			a.accumulator.(summable).put(p, b.Layout, r, at)
			if _, two := a.accumulator.(*sumWords); two {
				at++
			}
			at++
		}
	}
	return g.err()
}

func (a *aggregate) summary(int) *Summary {
	if a.summed == nil && len(a.sets) == 1 && a.spec.Sets == nil {
		g := a.sets[0]
		if s := g.summarise(a.spec.from); s != nil {
			a.summed = s
			g.summed = project(s.Layout, upTo(len(g.set))...)
		}
	}
	return a.summed
}

func (a *aggregate) summaryKey(int) *projection { return a.sets[0].summed }

func (a *aggregate) sum(_ context.Context, _ *Epoch, _ int, rows *zset.Batch) error {
	return a.sets[0].sum(rows)
}

// summary is that of every shard.
func (s *sharded) summary(input int) *Summary {
	for _, p := range s.parts {
		if x, ok := p.(summarised); !ok || x.summary(input) == nil {
			return nil
		}
	}
	return s.parts[0].(summarised).summary(input)
}

func (s *sharded) summaryKey(input int) *projection {
	return s.parts[0].(summarised).summaryKey(input)
}

// sum gives each shard the rows of its groups, many at once: the keys are the first fields, as they are.
func (s *sharded) sum(ctx context.Context, e *Epoch, input int, rows *zset.Batch) error {
	if s.gathered == nil {
		s.gathered = newGathered(len(s.routers))
	}
	s.gathered.sums[input] = true
	keys := zset.New(row.NewLayout())
	s.summaryKey(input).all(keys, rows)
	r := s.routers[input]
	r.hashes = keys.Layout.HashAll(r.hashes[:0], keys.Words, keys.Len(), keys.Heap)
	s.spread(input, rows, r.hashes, nil)
	if s.gathered.words < gatheredWords {
		return nil
	}
	return s.settle(ctx, e)
}
