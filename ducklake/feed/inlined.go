package feed

import (
	"context"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// inlinedTable is a table of the catalog database with rows of the reader's table, in the columns that it had in a schema version.
type inlinedTable struct {
	name    string
	version int64
	columns []metadata.ColumnInfo
}

func (s *Stream) inlinedTables(ctx context.Context, tx metadata.Tx) ([]inlinedTable, error) {
	rows, err := tx.Query(ctx, `SELECT table_name, schema_version FROM {M}ducklake_inlined_data_tables WHERE table_id = $1 ORDER BY schema_version`, s.reader.table.ID)
	if err != nil {
		return nil, err
	}
	out := make([]inlinedTable, 0, len(rows))
	for _, v := range rows {
		var r metadata.Row
		r.Take(v)
		t := inlinedTable{name: r.Text(), version: r.Int()}
		if r.Err() != nil {
			return nil, r.Err()
		}
		begin, ok := s.history.began(t.version)
		if !ok {
			return nil, fault.LakeUnreadable.Newf("the catalog does not say when schema version %d of table %d began", t.version, s.reader.table.ID)
		}
		t.columns = s.history.at(begin)
		out = append(out, t)
	}
	return out, nil
}

// inlined are the parts of the stream with inlined rows that came or went in the window.
func (s *Stream) inlined(ctx context.Context, tx metadata.Tx) ([]part, error) {
	tables, err := s.inlinedTables(ctx, tx)
	if err != nil || len(tables) == 0 {
		return nil, err
	}
	if tx.Dialect() == metadata.PostgreSQL {
		return s.wired(tx, tables), nil
	}
	r := s.reader
	selects := make([]string, 0, 2*len(tables))
	for _, t := range tables {
		values := r.pickAll(t.columns, func(c metadata.ColumnInfo) string { return "t." + metadata.QuoteIdent(c.Name) })
		for _, side := range []struct{ column, weight string }{{"begin_snapshot", "1"}, {"end_snapshot", "-1"}} {
			selects = append(selects, r.selection("t."+side.column, side.weight, values)+" FROM "+tx.Table(t.name)+
				" t WHERE t."+side.column+" > CAST($1 AS BIGINT) AND t."+side.column+" <= CAST($2 AS BIGINT)"+r.later("t.begin_snapshot"))
		}
	}
	text := strings.Join(selects, " UNION ALL ")
	return []part{func(ctx context.Context) (*duck.Reader, error) {
		if r.inlined == nil || r.inlinedText != text {
			if err := r.forget(); err != nil {
				return nil, err
			}
			var err error
			if r.inlined, err = s.conn().Prepare(ctx, text); err != nil {
				return nil, err
			}
			r.inlinedText = text
		}
		return r.inlined.Query(ctx, s.span.from, s.span.to)
	}}, nil
}
