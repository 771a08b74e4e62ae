package dataflow

import (
	"context"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Summary is a query over one source whose rows a graph can be loaded from in place of the source's: an aggregation's sums, or rows
// with the number of times that each is there, which DuckDB makes faster than rows can be read. Only what is exact and comes out the
// same in any order is asked for, of expressions that mean the same there.
type Summary struct {
	Source int // as Load counts them
	// SQL reads the source's columns, in the order of its input's fields, by the names c0, c1 and so on, from what From stands for.
	SQL    string
	Layout *row.Layout // of its rows

	single string // each row by itself, as if it were a group; "" when one might fail midway
	keys   string // a hash of each row's group, as h; behind it comes of which rows
}

// From is where a summary's text has the relation that it reads.
const From = "{rows}"

// Of is the query over a relation.
func (s *Summary) Of(relation string) string { return strings.Replace(s.SQL, From, relation, 1) }

// Contents are what a graph is loaded from.
type Contents interface {
	// Rows gives the content of a source, in batches that it may reuse.
	Rows(source int, take func(*zset.Batch) error) error
	// Summary gives the rows of a query over a source instead, likewise. When it fails before it has given any, the content is
	// read row by row, which finds the row that is at fault if one is.
	Summary(s *Summary, take func(*zset.Batch) error) error
	// Size is about how many rows a source has; negative: that is not known.
	Size(source int) int64
}

// summarised is an operator that can be loaded from a summary of the only source of an input.
type summarised interface {
	Loader
	// summary is what it would take for an input; nil if it needs the rows.
	summary(input int) *Summary
	// summaryKey are the fields of the summary's rows that say which of them meet.
	summaryKey(input int) *projection
	// sum takes rows of the summary in.
	sum(ctx context.Context, e *Epoch, input int, rows *zset.Batch) error
}

// summed is the operator that a source can be summarised for, and where: nothing else reads the source.
func (l *loading) summed(source int) (summarised, port) {
	at := source
	for {
		if len(l.readers[at]) != 1 || at == l.graph.last {
			return nil, port{}
		}
		p := l.readers[at][0]
		at = p.node
		if op, ok := l.graph.nodes[at].op.(summarised); ok && op.summary(p.input) != nil {
			return op, p
		}
		if _, ok := l.graph.nodes[at].op.(*mapping); !ok {
			return nil, port{}
		}
	}
}

// summarise loads a source's only reader from a summary; false says that the rows are to be read.
func (l *loading) summarise(ctx context.Context, node, source int, from Contents) (bool, error) {
	op, p := l.summed(node)
	if op == nil {
		return false, nil
	}
	s := *op.summary(p.input)
	s.Source = source
	if s.single != "" && l.distinct(ctx, &s, from) {
		s.SQL = s.single
	}
	taken := false
	err := from.Summary(&s, func(rows *zset.Batch) error {
		taken = true
		l.epoch.node = p.node
		return op.sum(ctx, l.epoch, p.input, rows)
	})
	if err != nil && !taken && ctx.Err() == nil {
		return false, nil
	}
	return true, err
}

const (
	probedRows = 1 << 16 // from the beginning of a source: few groups are seen in them
	probedPart = 64      // of the groups, one in so many is looked at whole
)

// distinct says that there are about as many groups as rows. Then DuckDB does not put them together first: that would take longer than to
// take in a few more rows.
func (l *loading) distinct(ctx context.Context, s *Summary, from Contents) bool {
	if n := from.Size(s.Source); n >= 0 && n < manyRows {
		return false
	}
	for _, part := range []string{ // a limit that is a number would be taken as worth a join with the rows that it leaves
		fmt.Sprintf("LIMIT (SELECT %d)", probedRows), fmt.Sprintf("WHERE h %% %d = 0", probedPart),
	} {
		var rows, groups uint64
		q := &Summary{Source: s.Source, SQL: "SELECT count(*), count(DISTINCT h) FROM (" + s.keys + " " + part + ")", Layout: row.NewLayout(countType, countType)}
		err := from.Summary(q, func(b *zset.Batch) error {
			for i := range b.Len() {
				rows, groups = b.Row(i)[q.Layout.Off[0]], b.Row(i)[q.Layout.Off[1]]
			}
			return ctx.Err()
		})
		if err != nil || groups*4 < rows*3 {
			return false
		}
	}
	return true
}

// ungrouped makes the queries that are asked where rows and groups are about as many: of values in the place of sums, and of keys.
func (s *Summary) ungrouped(keys, values []string, where string) {
	if where != "" {
		where = " WHERE " + where
	}
	s.single = "SELECT " + strings.Join(append(keys[:len(keys):len(keys)], values...), ", ") + " FROM " + From + where
	s.keys = "SELECT h FROM (SELECT hash(" + strings.Join(keys, ", ") + ") AS h FROM " + From + where + ")"
}

// rowsOnly are contents without summaries.
type rowsOnly func(i int, take func(*zset.Batch) error) error

func (r rowsOnly) Rows(i int, take func(*zset.Batch) error) error { return r(i, take) }

func (rowsOnly) Size(int) int64 { return 0 }

func (rowsOnly) Summary(*Summary, func(*zset.Batch) error) error { return errNoSummary }
