package lake

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

var _ stream.Summariser = (*Source)(nil)

// arrayBits is up to which range, in bits, DuckDB groups by integers in an array rather than in a hash table, which takes half the time:
// with a state of 64 bytes 4 MiB a thread.
const arrayBits = "16"

// Summary runs a query over a table's rows at a snapshot, and refuses where the lake's own reading of that snapshot is not what
// the feed goes on from.
func (s *Source) Summary(ctx context.Context, spec stream.Reading, at int64, q stream.Summing, take func(*zset.Batch) error) (err error) {
	text, err := s.Relation(ctx, spec, at)
	if err != nil {
		return err
	}
	// No pool of the feeds' waits for one of the lake's.
	conn, release, err := s.Lake.Acquire(ctx, ducklake.Aside(""))
	if err != nil {
		return err
	}
	defer release()
	if _, err := conn.Exec(ctx, "SET perfect_ht_threshold = "+arrayBits); err != nil {
		return err
	}
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), "RESET perfect_ht_threshold") }()
	rows, err := conn.Query(ctx, q.Of(text))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := zset.New(q.Layout)
	for rows.Next() {
		rec := rows.RecordBatch()
		out.Reset()
		if out.Words, err = q.Layout.FromArrow(out.Words, out.Heap, rec); err != nil {
			return err
		}
		for range rec.NumRows() {
			out.Weights = append(out.Weights, 1)
		}
		if err := take(out); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return s.still(ctx, spec, at)
}

// still says whether what was read of the relation at a snapshot was that of the feed: a commit that was retried meanwhile may have hidden rows
// from some of the reading.
func (s *Source) still(ctx context.Context, spec stream.Reading, at int64) error {
	_, err := s.Relation(ctx, spec, at)
	if fault.CodeOf(err) == fault.NotYetSupported {
		return fault.CommitConflict.Wrap(err, "the content of %s was overtaken", spec.Name)
	}
	return err
}

// Size is how many rows the table has had added, less those of them that are gone for good.
func (s *Source) Size(ctx context.Context, spec stream.Reading) int64 {
	n := int64(-1)
	err := s.Lake.Store().View(ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(ctx, `SELECT record_count FROM {M}ducklake_table_stats WHERE table_id = $1`, spec.TableID)
		if err == nil && len(rows) == 0 {
			n = 0
		} else if err == nil {
			var r metadata.Row
			r.Take(rows[0])
			if count := r.Int(); r.Err() == nil {
				n = count
			}
		}
		return err
	})
	if err != nil {
		return -1
	}
	return n
}

// relation is the table at a snapshot, with the columns by the names that a summary has for them.
func relation(lake string, table metadata.TableInfo, columns []metadata.ColumnInfo, spec stream.Reading, at int64) string {
	fields := make([]string, len(columns))
	for i, c := range columns {
		fields[i] = fmt.Sprintf("CAST(%s AS %s) AS c%d", metadata.QuoteIdent(c.Name), spec.Layout.Types[i], i)
	}
	if len(fields) == 0 {
		fields = []string{"NULL"}
	}
	return fmt.Sprintf("(SELECT %s FROM %s.%s.%s AT (VERSION => %d))", strings.Join(fields, ", "),
		metadata.QuoteIdent(lake), metadata.QuoteIdent(table.Schema), metadata.QuoteIdent(table.Name), at)
}
