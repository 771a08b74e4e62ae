package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

const eventBatch = 10_000 // events

// eventTables are Nexmark's events as tables in DuckDB.
type eventTables struct {
	db    *duck.DB
	conn  *duck.Conn
	n     int // events
	start int64
}

func openEvents(ctx context.Context, data string) (_ *eventTables, err error) {
	e := &eventTables{}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close())
		}
	}()
	if e.db, err = duck.Open("", duck.Options{}); err != nil {
		return nil, err
	}
	if e.conn, err = e.db.Connect(); err != nil {
		return nil, err
	}
	var structs []string
	for _, t := range nexmarkTables {
		var fields []string
		for _, c := range t.columns {
			fields = append(fields, c.name+" "+c.typ)
		}
		structs = append(structs, fmt.Sprintf("%s: 'STRUCT(%s)'", t.name, strings.Join(fields, ", ")))
	}
	file := strings.ReplaceAll(filepath.Join(data, "nexmark", "events.jsonl"), "'", "''")
	if _, err = e.conn.Exec(ctx, fmt.Sprintf("CREATE TABLE event AS FROM read_json('%s', format = 'newline_delimited', columns = {event_type: 'INTEGER', %s})",
		file, strings.Join(structs, ", "))); err != nil {
		return nil, err
	}
	for i, t := range nexmarkTables {
		if _, err = e.conn.Exec(ctx, fmt.Sprintf("CREATE TABLE %[1]s AS SELECT unnest(%[1]s) FROM event WHERE event_type = %[2]d ORDER BY (%[1]s).dateTime", t.name, i)); err != nil {
			return nil, err
		}
	}
	rows, err := e.conn.Rows(ctx, "SELECT count(*), min(coalesce(bid.dateTime, auction.dateTime, person.dateTime)) FROM event")
	if err != nil {
		return nil, err
	}
	e.n, e.start = int(rows[0][0].(int64)), rows[0][1].(int64)
	_, err = e.conn.Exec(ctx, "DROP TABLE event")
	return e, err
}

// read gives columns of a table in the order of events, each row once.
func (e *eventTables) read(ctx context.Context, table string, columns []string, l *row.Layout) (_ *zset.Batch, err error) {
	r, err := e.conn.Query(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+table+" ORDER BY dateTime")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	b := zset.New(l)
	for r.Next() {
		if b.Words, err = l.FromArrow(b.Words, b.Heap, r.RecordBatch()); err != nil {
			return nil, err
		}
	}
	for range len(b.Words) / l.Words {
		b.Weights = append(b.Weights, 1)
	}
	return b, r.Err()
}

// counts are how many rows of a table each batch has.
func (e *eventTables) counts(ctx context.Context, table string) ([]int, error) {
	rows, err := e.conn.Rows(ctx, fmt.Sprintf("SELECT (dateTime - %d) // %d, count(*) FROM %s GROUP BY 1", e.start, eventBatch, table))
	if err != nil {
		return nil, err
	}
	out := make([]int, (e.n+eventBatch-1)/eventBatch)
	for _, r := range rows {
		out[r[0].(int64)] = int(r[1].(int64))
	}
	return out, nil
}

func (e *eventTables) close() error {
	var errs []error
	if e.conn != nil {
		errs = append(errs, e.conn.Close())
	}
	if e.db != nil {
		errs = append(errs, e.db.Close())
	}
	return errors.Join(errs...)
}
