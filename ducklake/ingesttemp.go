package ducklake

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// ingestTemporary loads rows into a temporary table of the session. Creating it and filling it are one transaction on
// the session's own connection, or part of the open one.
func (s *Session) ingestTemporary(ctx context.Context, spec IngestSpec, r array.RecordReader) (int64, error) {
	if spec.Catalog != "" && !strings.EqualFold(spec.Catalog, "temp") || spec.Schema != "" && !strings.EqualFold(spec.Schema, "main") {
		return 0, fault.InvalidParameter.Newf("a temporary table has no catalog and schema but temp.main")
	}
	if err := s.take(ctx); err != nil {
		return 0, err
	}
	defer s.give()
	tx, err := s.current()
	if err != nil {
		return 0, err
	}
	c, err := s.private(ctx)
	if err != nil {
		return 0, err
	}
	columns, err := temporaryColumns(ctx, c.Conn, spec.Table)
	if err != nil {
		return 0, s.lake.check(err)
	}
	found, name := len(columns) > 0, metadata.QuoteIdent(spec.Table)
	switch {
	case !found && spec.IfNotExist == FailIfMissing:
		return 0, fault.ObjectNotFound.Newf("the temporary table %s does not exist", name)
	case found && spec.IfExists == FailIfExists:
		return 0, fault.ObjectExists.Newf("the temporary table %s exists already", name)
	}
	create := !found || spec.IfExists == ReplaceTable
	if create {
		if err := temporaryAllowed(tx, found); err != nil {
			return 0, err
		}
	}
	var arrived []gate.Column
	run := func() (int64, error) {
		return scanned(c.Conn, r, func() (int64, error) {
			if create {
				if arrived, columns, err = createTemporary(ctx, c.Conn, name); err != nil {
					return 0, err
				}
			}
			return s.lake.insertScan(ctx, c.Conn, `temp.main.`+name, columns)
		})
	}
	var n int64
	if tx != nil {
		if err := s.begin(ctx, tx, c); err != nil {
			return 0, err
		}
		n, err = run()
		s.broke(ctx, tx, c, err)
	} else {
		n, err = s.temporaryTransaction(ctx, c, run)
	}
	if err != nil {
		return 0, s.lake.check(err)
	}
	if create {
		if tx != nil {
			tx.made = append(tx.made, gate.ObjectRef{Type: gate.TableObject, TableRef: gate.TableRef{Catalog: "temp", Schema: "main", Name: spec.Table}})
		}
		// The gate's shadow of the session has to have the table too.
		return n, s.gate.CreatedTemp(ctx, spec.Table, arrived)
	}
	return n, nil
}

// createTemporary makes an empty table with the columns of the rows that come in.
func createTemporary(ctx context.Context, c *duck.Conn, name string) (arrived []gate.Column, columns []column, err error) {
	if arrived, err = scanColumns(ctx, c); err != nil {
		return nil, nil, err
	}
	columns = make([]column, len(arrived))
	defs := make([]string, len(arrived))
	for i, a := range arrived {
		columns[i] = column{name: a.Name, sqlType: a.Type}
		defs[i] = metadata.QuoteIdent(a.Name) + " " + a.Type
	}
	_, err = c.Exec(ctx, `CREATE OR REPLACE TEMPORARY TABLE `+name+` (`+strings.Join(defs, `, `)+`)`)
	return arrived, columns, err
}

// temporaryTransaction is a transaction that writes nothing of the lake, and so needs no commit lock.
func (s *Session) temporaryTransaction(ctx context.Context, c *connection, run func() (int64, error)) (int64, error) {
	if err := s.lake.begin(ctx, c); err != nil {
		return 0, err
	}
	n, err := run()
	if err == nil {
		_, err = c.Exec(context.WithoutCancel(ctx), `COMMIT`)
	}
	if err != nil {
		return 0, errors.Join(err, s.rollback(ctx, c))
	}
	return n, nil
}

// temporaryColumns are the columns of a temporary table, none when there is no such table.
func temporaryColumns(ctx context.Context, c *duck.Conn, table string) ([]column, error) {
	rows, err := c.Rows(ctx, `SELECT column_name, data_type, NOT is_nullable AND column_default IS NULL FROM duckdb_columns()
		WHERE database_name = 'temp' AND schema_name = 'main' AND lower(table_name) = lower(?) ORDER BY column_index`, table)
	if err != nil {
		return nil, err
	}
	out := make([]column, len(rows))
	for i, v := range rows {
		out[i] = column{name: v[0].(string), sqlType: v[1].(string), required: v[2].(bool)}
	}
	return out, nil
}
