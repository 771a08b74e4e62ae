package dataflow

import (
	"context"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// relation is the rows of a node without state as a query over the only source that they come from.
type relation struct {
	columns []string // SQL of each
	where   string   // "" is all rows
	sure    bool     // no row can fail in that
	certain bool     // nor in a column
}

// selection is the text of a query that gives the rows.
func (r *relation) selection() string {
	columns := r.columns
	if len(columns) == 0 {
		columns = []string{"NULL"}
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM " + From + r.filter()
}

func (r *relation) filter() string {
	if r.where == "" {
		return ""
	}
	return " WHERE " + r.where
}

const (
	manyRows    = 1 << 17 // of a source; to read fewer is as fast as to ask about them
	sampledRows = 1 << 19
)

// relate loads a source by a query that gives fewer rows: equal ones as one with its weight, where state is made of them and many
// are equal, or only those that pass a filter. false says that the rows are to be read.
func (l *loading) relate(ctx context.Context, node, source int, from Contents) (bool, error) {
	at, r := l.related(node)
	if r == nil {
		return false, nil
	}
	rows := l.graph.nodes[at].out.Layout
	q := &Summary{Source: source, SQL: r.selection(), Layout: rows}
	counted := l.remembered(at) && countable(rows) && l.repeats(ctx, source, r, rows, from)
	switch {
	case counted:
		q.Layout = row.NewLayout(append(rows.Types[:len(rows.Types):len(rows.Types)], countType)...)
		q.SQL = r.counts()
	case r.where == "" || !r.sure: // what fails midway cannot be read again
		return false, nil
	case !r.certain: // the rows that pass, as the source has them
		at = node
		q.Layout, q.SQL = l.graph.nodes[node].out.Layout, l.graph.nodes[node].rows.selection()+r.filter()
	}
	taken := false
	var fields *projection
	if counted {
		fields = project(q.Layout, upTo(len(rows.Types))...)
	}
	batch, weights := &zset.Batch{}, []int64(nil)
	err := from.Summary(q, func(b *zset.Batch) error {
		taken = true
		if !counted {
			return l.give(ctx, at, b)
		}
		fields.all(batch, b)
		weights = weights[:0]
		for i := range b.Len() {
			weights = append(weights, int64(b.Row(i)[q.Layout.Off[len(rows.Types)]]))
		}
		batch.Layout, batch.Weights = rows, weights
		return l.give(ctx, at, batch)
	})
	if err != nil && !taken && ctx.Err() == nil {
		return false, nil
	}
	return true, err
}

// counts is the text of a query that gives each row once, and how often it is there.
func (r *relation) counts() string {
	text := "SELECT " + strings.Join(append(r.columns[:len(r.columns):len(r.columns)], "count(*)"), ", ") + " FROM " + From + r.filter()
	if len(r.columns) == 0 {
		return text + " HAVING count(*) > 0"
	}
	return text + " GROUP BY ALL"
}

// related is the last node on the only way from a source whose rows a query over the source gives.
func (l *loading) related(node int) (int, *relation) {
	nodes := l.graph.nodes
	if nodes[node].rows == nil {
		return node, nil
	}
	for len(l.readers[node]) == 1 && node != l.graph.last {
		next := l.readers[node][0].node
		if _, ok := nodes[next].op.(*mapping); !ok || nodes[next].rows == nil {
			break
		}
		node = next
	}
	return node, nodes[node].rows
}

// remembered says that what comes of a node's rows is kept.
func (l *loading) remembered(node int) bool {
	for _, p := range l.readers[node] {
		if _, ok := l.graph.nodes[p.node].op.(Loader); ok || l.remembered(p.node) {
			return true
		}
	}
	return false
}

// countable says that rows which DuckDB calls equal are equal here.
func countable(l *row.Layout) bool {
	for _, t := range l.Types {
		if !exactKey(t) {
			return false
		}
	}
	return true
}

// repeats says whether many of the rows are equal, as far as a part of them shows.
func (l *loading) repeats(ctx context.Context, source int, r *relation, rows *row.Layout, from Contents) bool {
	if n := from.Size(source); n >= 0 && n < manyRows {
		return false
	}
	if len(rows.Types) == 0 {
		return true
	}
	// A limit that is a number would be taken as worth a join with the rows that it leaves.
	q := &Summary{Source: source, Layout: row.NewLayout(countType, countType), SQL: fmt.Sprintf(
		"SELECT count(*), approx_count_distinct(h) FROM (SELECT hash(%s) AS h FROM %s%s LIMIT (SELECT %d))", strings.Join(r.columns, ", "), From, r.filter(), sampledRows)}
	var all, distinct uint64
	err := from.Summary(q, func(b *zset.Batch) error {
		for i := range b.Len() {
			all, distinct = b.Row(i)[q.Layout.Off[0]], b.Row(i)[q.Layout.Off[1]]
		}
		return ctx.Err()
	})
	return err == nil && distinct*4 < all*3
}
