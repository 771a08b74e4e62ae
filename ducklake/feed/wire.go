package feed

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// wire brings inlined rows from a PostgreSQL catalog into DuckDB: as the server sends them, in the text that DuckDB's types are cast from.
// The extension's own way there takes several round trips.
type wire struct{ tables map[string]*wireTable }

// wireTable is one table of inlined rows.
type wireTable struct {
	text   string // the statement, by which a table with the same columns is known again
	query  string // PostgreSQL's
	binary []bool
	slot   *duck.Slot
	stmt   *duck.Stmt
	cells  *metadata.Cells // while it is read
}

func (w *wire) close() error {
	if w == nil {
		return nil
	}
	var errs []error
	for _, t := range w.tables {
		errs = append(errs, t.close())
	}
	return errors.Join(errs...)
}

func (t *wireTable) close() error { return errors.Join(t.stmt.Close(), t.slot.Close()) }

// wired are the parts of the stream for a PostgreSQL catalog.
func (s *Stream) wired(tx metadata.Tx, tables []inlinedTable) []part {
	parts := make([]part, len(tables))
	for i, t := range tables {
		parts[i] = func(ctx context.Context) (*duck.Reader, error) {
			w, err := s.wireTable(ctx, tx, t)
			if err != nil {
				return nil, err
			}
			if w.cells, err = metadata.OpenCells(ctx, tx, w.binary, w.query, s.span.from, s.span.to); err != nil {
				return nil, err
			}
			s.release = func() { w.cells.Close() }
			return w.stmt.Query(ctx)
		}
	}
	return parts
}

// wireTable makes the way for a table's rows, or finds the one that it has.
func (s *Stream) wireTable(ctx context.Context, tx metadata.Tx, t inlinedTable) (_ *wireTable, err error) {
	r := s.reader
	w := &wireTable{binary: []bool{true, true}}
	columns := []duck.Column{{Name: "s", Type: "BIGINT"}, {Name: "w", Type: "BIGINT"}}
	var sent []string
	for _, c := range t.columns {
		if _, wanted := find(r.columns, c.ID); !wanted {
			continue
		}
		typ, bytes, e := "VARCHAR", false, metadata.QuoteIdent(c.Name)
		switch c.Type {
		case "varchar", "json":
			bytes = true // a VARCHAR's bytes, since PostgreSQL's texts have no zero bytes
		case "blob":
			typ, bytes = "BLOB", true
		case "interval":
			e = intervalText(e)
		}
		columns = append(columns, duck.Column{Name: fmt.Sprintf("c%d", c.ID), Type: typ})
		w.binary, sent = append(w.binary, bytes), append(sent, e)
	}
	list := strings.Join(append([]string{""}, sent...), ", ")
	name := tx.Table(t.name)
	w.query = "SELECT begin_snapshot, 1::BIGINT" + list + " FROM " + name + " WHERE begin_snapshot > $1 AND begin_snapshot <= $2 UNION ALL " +
		"SELECT end_snapshot, -1::BIGINT" + list + " FROM " + name + " WHERE end_snapshot > $1 AND end_snapshot <= $2" + r.later("begin_snapshot")
	values := r.pickAll(t.columns, func(c metadata.ColumnInfo) string {
		return fmt.Sprintf("CAST(t.c%d AS %s)", c.ID, c.SQLType())
	})
	w.text = r.selection("t.s", "t.w", values)
	if r.wire == nil {
		r.wire = &wire{tables: map[string]*wireTable{}}
	}
	if old := r.wire.tables[t.name]; old != nil {
		if old.text == w.text && old.query == w.query {
			return old, nil
		}
		delete(r.wire.tables, t.name)
		if err := old.close(); err != nil {
			return nil, err
		}
	}
	view := fmt.Sprintf("vega_feed_%d", r.feed.views)
	r.feed.views++
	if w.slot, err = s.conn().RegisterSlot(ctx, view, columns, w.fill); err != nil {
		return nil, err
	}
	if w.stmt, err = s.conn().Prepare(ctx, w.text+" FROM temp.main."+view+" t"); err != nil {
		return nil, errors.Join(err, w.slot.Close())
	}
	r.wire.tables[t.name] = w
	return w, nil
}

// intervalText is an interval as DuckDB reads it. PostgreSQL's own text has signs that it does not.
func intervalText(e string) string {
	return fmt.Sprintf(`((extract(year FROM %[1]s) * 12 + extract(month FROM %[1]s))::BIGINT || ' months ' || extract(day FROM %[1]s)::BIGINT || ' days ' ||
		(extract(hour FROM %[1]s) * 3600000000 + extract(minute FROM %[1]s) * 60000000 + extract(microseconds FROM %[1]s))::BIGINT || ' microseconds')`, e)
}

// fill writes the next rows into DuckDB's vectors.
func (t *wireTable) fill(sheet *duck.Sheet) error {
	t.slot.Forget() // DuckDB is done with the chunk before the last
	snapshots := unsafe.Slice((*int64)(sheet.Column(0).Data()), duck.SheetRows)
	weights := unsafe.Slice((*int64)(sheet.Column(1).Data()), duck.SheetRows)
	for sheet.Rows < duck.SheetRows {
		row, ok, err := t.cells.Next()
		if err != nil || !ok {
			return err
		}
		if len(row) != len(t.binary) || len(row[0]) != 8 || len(row[1]) != 8 {
			return fmt.Errorf("feed: the catalog sent a malformed row")
		}
		i := sheet.Rows
		snapshots[i], weights[i] = int64(binary.BigEndian.Uint64(row[0])), int64(binary.BigEndian.Uint64(row[1]))
		for j, v := range row[2:] {
			if c := sheet.Column(j + 2); v == nil {
				c.SetNull(i)
			} else {
				c.SetBytes(i, v)
			}
		}
		sheet.Rows++
	}
	return nil
}
