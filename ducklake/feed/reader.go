package feed

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// Reader reads one table's changes, with the columns it was opened for, whatever they are called and wherever they lie in each snapshot.
type Reader struct {
	feed    *Feed
	table   metadata.TableInfo
	columns []metadata.ColumnInfo
	schema  *arrow.Schema
	after   int64 // rows that began later are read; 0: all

	checked int64 // the schema version in which the uuid was looked at; -1 for none
	history *history
	known   int64 // the schema version that history is of

	inlined     *duck.Stmt // over the inlined rows, see inlined.go
	inlinedText string
	wire        *wire // on PostgreSQL
	deletes     bool  // the table for inlined deletes is known to exist
}

// Open makes a reader of a table, which is meant by its id and uuid. columns are the wanted ones, as they are to come, and by their ids;
// nil is all that the table has.
func (f *Feed) Open(ctx context.Context, table metadata.TableInfo, columns []metadata.ColumnInfo) (*Reader, error) {
	return f.OpenAfter(ctx, table, columns, 0)
}

// OpenAfter makes a reader of what became of rows that began after a snapshot, as if the table had been empty in it. A row that is
// updated begins anew. What a rewrite_delete has written begins with that.
func (f *Feed) OpenAfter(ctx context.Context, table metadata.TableInfo, columns []metadata.ColumnInfo, after int64) (*Reader, error) {
	if columns == nil {
		columns = table.Columns
	}
	r := &Reader{feed: f, table: table, columns: columns, after: after, checked: -1, known: -1}
	if err := f.take(); err != nil {
		return nil, err
	}
	defer f.give()
	nulls := make([]string, len(columns))
	for i, c := range columns {
		nulls[i] = "CAST(NULL AS " + c.SQLType() + ")"
	}
	s, err := f.conn.Prepare(ctx, r.selection("CAST(NULL AS BIGINT)", "0", nulls)+" WHERE false")
	if err != nil {
		return nil, err
	}
	r.schema, err = s.Schema()
	return r, errors.Join(err, s.Close())
}

// Table is the table as the reader was opened with.
func (r *Reader) Table() metadata.TableInfo { return r.table }

// Columns are the reader's, after snapshot and weight.
func (r *Reader) Columns() []metadata.ColumnInfo { return r.columns }

// Schema is that of the batches: snapshot and weight (BIGINT), then the columns.
func (r *Reader) Schema() *arrow.Schema { return r.schema }

// Close frees the reader's statements. Its feed must not be closed before.
func (r *Reader) Close() error {
	return errors.Join(r.forget(), r.wire.close())
}

// forget frees the statement over inlined rows.
func (r *Reader) forget() (err error) {
	if r.inlined != nil {
		err = r.inlined.Close()
	}
	r.inlined, r.inlinedText = nil, ""
	return err
}

// selection is the SELECT list of all that a reader gives.
func (r *Reader) selection(snapshot, weight string, values []string) string {
	var b strings.Builder
	b.WriteString("SELECT " + snapshot + ` AS "snapshot", CAST(` + weight + ` AS BIGINT) AS "weight"`)
	for i, v := range values {
		b.WriteString(", " + v + " AS " + metadata.QuoteIdent(r.columns[i].Name))
	}
	return b.String()
}

// later is the condition that a row, whose first snapshot the expression is, is one of those that are read.
func (r *Reader) later(began string) string {
	if r.after == 0 {
		return ""
	}
	return fmt.Sprintf(" AND %s > %d", began, r.after)
}

// pickAll are the expressions for the reader's columns over rows with the columns have.
func (r *Reader) pickAll(have []metadata.ColumnInfo, ref func(metadata.ColumnInfo) string) []string {
	out := make([]string, len(r.columns))
	for i, c := range r.columns {
		out[i] = pick(c, have, ref)
	}
	return out
}

// historyAt is the columns' history, read again when the lake's schema has changed.
func (r *Reader) historyAt(ctx context.Context, tx metadata.Tx, head metadata.Snapshot) (*history, error) {
	if r.history != nil && r.known == head.SchemaVersion {
		return r.history, nil
	}
	h, err := readHistory(ctx, tx, r.table.ID)
	if err != nil {
		return nil, err
	}
	r.history, r.known = h, head.SchemaVersion
	return h, r.forget() // its columns may be others
}

// Read gives the rows that came and went in (from, to]. The window must not reach past the table's end: fault.SourceChanged if it was
// dropped in it. Rows are in no order; a stream is good only when it was read to its end without an error.
func (r *Reader) Read(ctx context.Context, from, to int64) (*Stream, error) {
	if err := r.feed.take(); err != nil {
		return nil, err
	}
	s := &Stream{reader: r, ctx: ctx, unpin: r.feed.Pin()}
	if err := s.plan(from, to); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Content gives the table's rows at a snapshot, with that snapshot's id and weight 1.
func (r *Reader) Content(ctx context.Context, at int64) (*Stream, error) {
	if err := r.feed.take(); err != nil {
		return nil, err
	}
	s := &Stream{reader: r, ctx: ctx, unpin: r.feed.Pin()}
	if err := s.planContent(at); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func noTable(table metadata.TableInfo, at int64) error {
	return fault.SourceChanged.Newf("the table %s.%s with the id %d does not exist at snapshot %d", table.Schema, table.Name, table.ID, at)
}
