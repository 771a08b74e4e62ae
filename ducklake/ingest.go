package ducklake

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// MissingTable says what an ingest does when its table is not there.
type MissingTable int

// The choices for a table that is not there.
const (
	CreateTable MissingTable = iota
	FailIfMissing
)

// ExistingTable says what an ingest does when its table is there.
type ExistingTable int

// The choices for a table that is there.
const (
	FailIfExists ExistingTable = iota
	AppendRows
	ReplaceTable
)

// IngestSpec says where the rows of an ingest go.
type IngestSpec struct {
	Catalog, Schema string // "" is the session's
	Table           string
	IfNotExist      MissingTable
	IfExists        ExistingTable
	Temporary       bool
	TxID            string // "" joins the session's transaction if one is open
}

// Ingest puts all rows of r into a table, or none, and returns their number. Memory is bounded by r's batches. Columns
// are matched by name.
func (s *Session) Ingest(ctx context.Context, spec IngestSpec, r array.RecordReader) (int64, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	n, err := s.ingest(ctx, spec, r)
	if err != nil {
		// The statement's error only repeats in text what the reader's says in full.
		if cause := r.Err(); cause != nil && ctx.Err() == nil {
			err = cause
		}
		return 0, stopped(ctx, err)
	}
	return n, nil
}

func (s *Session) ingest(ctx context.Context, spec IngestSpec, r array.RecordReader) (int64, error) {
	tx, err := s.current()
	if err != nil {
		return 0, err
	}
	if spec.TxID != "" && (tx == nil || tx.id != spec.TxID) {
		return 0, fault.TransactionUnknown.Newf("the session has no open transaction of this id")
	}
	if err := distinct(r.Schema()); err != nil {
		return 0, err
	}
	if spec.Table == "" {
		return 0, fault.InvalidParameter.Newf("the ingest names no table")
	}
	if err := CheckName(spec.Table); err != nil {
		return 0, err
	}
	if spec.Temporary {
		return s.ingestTemporary(ctx, spec, r)
	}
	if spec.Catalog != "" && !strings.EqualFold(spec.Catalog, s.lake.config.Name) {
		return 0, fault.InvalidParameter.Newf("rows can be loaded into the catalog %q, not into %q", s.lake.config.Name, spec.Catalog)
	}
	target, found, err := s.target(ctx, &spec)
	if err != nil {
		return 0, err
	}
	name := metadata.QuoteIdent(spec.Schema) + "." + metadata.QuoteIdent(spec.Table)
	switch {
	case !found && spec.IfNotExist == FailIfMissing:
		return 0, fault.ObjectNotFound.Newf("the table %s does not exist", name)
	case found && spec.IfExists == FailIfExists:
		return 0, fault.ObjectExists.Newf("the table %s exists already", name)
	case found && spec.IfExists == AppendRows:
		return s.appendRows(ctx, tx, target, r)
	}
	if err := s.ddlAllowed(tx, "an ingest that creates a table"); err != nil {
		return 0, err
	}
	return s.createFrom(ctx, spec, target.ID, r)
}

// distinct refuses schemas whose columns cannot be told apart by name.
func distinct(schema *arrow.Schema) error {
	if schema.NumFields() == 0 {
		return fault.InvalidParameter.Newf("the rows have no columns")
	}
	seen := map[string]bool{}
	for _, f := range schema.Fields() {
		key := strings.ToLower(f.Name)
		switch {
		case f.Name == "":
			return fault.InvalidParameter.Newf("a column of the rows has no name")
		case seen[key]:
			return fault.InvalidParameter.Newf("the rows have two columns %s", metadata.QuoteIdent(f.Name))
		}
		seen[key] = true
	}
	return nil
}

// target finds the table, and spells the spec's schema as the catalog does.
func (s *Session) target(ctx context.Context, spec *IngestSpec) (t metadata.TableInfo, found bool, err error) {
	if spec.Schema == "" {
		spec.Schema = s.Settings().Schema
	}
	view := false
	err = s.lake.store.View(ctx, func(tx metadata.Tx) error {
		schema, err := metadata.SchemaName(ctx, tx, spec.Schema)
		if err != nil {
			return err
		}
		if schema == "" {
			return fault.ObjectNotFound.Newf("the schema %s does not exist", metadata.QuoteIdent(spec.Schema))
		}
		spec.Schema = schema
		if t, found, err = metadata.TableByName(ctx, tx, schema, spec.Table, 0); err != nil || found {
			return err
		}
		at, err := metadata.Latest(ctx, tx)
		if err != nil {
			return err
		}
		views, err := metadata.Views(ctx, tx, at.ID)
		for _, v := range views {
			view = view || v.Schema == schema && strings.EqualFold(v.Name, spec.Table)
		}
		return err
	})
	if err == nil && view {
		err = fault.InvalidParameter.Newf("%s.%s is a view; rows go into tables", metadata.QuoteIdent(spec.Schema), metadata.QuoteIdent(spec.Table))
	}
	return t, found, s.lake.check(err)
}

// scanName is the temporary view over the rows that come in.
const scanName = "__vega_ingest"

// scanned runs f while the rows of r can be read once, as the view scanName.
func scanned(c *duck.Conn, r array.RecordReader, f func() (int64, error)) (n int64, err error) {
	release, err := c.RegisterArrow(scanName, r)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, release()) }()
	return f()
}

// scanColumns are the columns of scanName in SQL types.
func scanColumns(ctx context.Context, c *duck.Conn) ([]gate.Column, error) {
	stmt, err := c.Prepare(ctx, `SELECT * FROM temp.main.`+metadata.QuoteIdent(scanName))
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	var out []gate.Column
	for _, col := range stmt.Columns() {
		out = append(out, gate.Column{Name: col.Name, Type: col.Type, LakeType: gate.LakeType(col.Type)})
	}
	return out, nil
}

// appendRows inserts into a table that exists, in the session's transaction or in one of its own.
func (s *Session) appendRows(ctx context.Context, tx *transaction, t metadata.TableInfo, r array.RecordReader) (int64, error) {
	run := func(c *duck.Conn) (int64, error) {
		return scanned(c, r, func() (int64, error) {
			return s.lake.insertScan(ctx, c, s.lake.qualified(t.Schema, t.Name), tableColumns(t))
		})
	}
	return s.writing(tx, []int64{t.ID}, func() (int64, error) {
		if tx != nil {
			return s.inTransaction(ctx, run)
		}
		// The rows come once, so they cannot be inserted again after a conflict.
		return s.lake.write(ctx, s.Settings(), 1, run)
	})
}

// column is a column of an ingest's table.
type column struct {
	name, sqlType string
	required      bool // NOT NULL without a default
}

func tableColumns(t metadata.TableInfo) []column {
	out := make([]column, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = column{c.Name, c.SQLType(), !c.Nullable && c.Default == ""}
	}
	return out
}

// insertScan inserts the rows of scanName into a table, by the names of their columns.
func (l *Lake) insertScan(ctx context.Context, c *duck.Conn, table string, columns []column) (int64, error) {
	arrived, err := scanColumns(ctx, c)
	if err != nil {
		return 0, err
	}
	byName := make(map[string]column, len(columns))
	for _, col := range columns {
		byName[strings.ToLower(col.name)] = col
	}
	var into, from []string
	for _, a := range arrived {
		col, there := byName[strings.ToLower(a.Name)]
		if !there {
			return 0, fault.InvalidParameter.Newf("the table %s has no column %s", table, metadata.QuoteIdent(a.Name)).
				WithHint("its columns are %s", columnNames(columns))
		}
		delete(byName, strings.ToLower(a.Name))
		into, from = append(into, metadata.QuoteIdent(col.name)), append(from, metadata.QuoteIdent(a.Name))
	}
	for _, col := range columns {
		if _, missing := byName[strings.ToLower(col.name)]; missing && col.required {
			return 0, fault.InvalidParameter.Newf("the rows lack column %s of the table %s, which cannot be NULL", metadata.QuoteIdent(col.name), table)
		}
	}
	n, err := c.Exec(ctx, `INSERT INTO `+table+` (`+strings.Join(into, `, `)+`) SELECT `+strings.Join(from, `, `)+
		` FROM temp.main.`+metadata.QuoteIdent(scanName))
	return n, uncastable(err)
}

func columnNames(columns []column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = metadata.QuoteIdent(c.name)
	}
	return strings.Join(names, ", ")
}

// uncastable makes DuckDB's refusal to turn one type into another, which names the column, a fault of the request. Of other errors it leaves out
// where in our statement they are.
func uncastable(err error) error {
	var d *duck.Error
	if !errors.As(err, &d) {
		return err
	}
	d.Elsewhere()
	if strings.Contains(d.Message, "Unimplemented type for cast") {
		text, _, _ := strings.Cut(d.Message, "\n")
		return fault.InvalidParameter.Newf("%s", text)
	}
	return err
}

// createFrom builds a table from the rows and lets it appear, in place of the table with the id replaced if that is not 0.
func (s *Session) createFrom(ctx context.Context, spec IngestSpec, replaced int64, r array.RecordReader) (int64, error) {
	l := s.lake
	c, err := l.pool.take(ctx, s.Settings())
	if err != nil {
		return 0, l.check(err)
	}
	var b *build
	n, err := scanned(c.Conn, r, func() (n int64, err error) {
		columns, err := scanColumns(ctx, c.Conn)
		if err != nil {
			return 0, err
		}
		if err := keepable(columns); err != nil {
			return 0, err
		}
		if b, err = l.startBuild(ctx, spec.Schema, columns); err != nil {
			return 0, err
		}
		names := make([]string, len(columns))
		for i, col := range columns {
			names[i] = metadata.QuoteIdent(col.Name)
			if !strings.EqualFold(col.LakeType, col.Type) {
				names[i] = `CAST(` + names[i] + ` AS ` + col.LakeType + `)`
			}
		}
		insert := `INSERT INTO ` + b.name() + ` SELECT ` + strings.Join(names, `, `) + ` FROM temp.main.` + metadata.QuoteIdent(scanName)
		n, err = l.autocommit(ctx, c, 1, func() (int64, error) { return c.Exec(ctx, insert) })
		return n, uncastable(err)
	})
	l.pool.give(c)
	if err == nil {
		err = b.publish(ctx, spec.Table, replaced)
	}
	if err != nil && b != nil {
		err = errors.Join(l.check(err), b.drop(ctx))
	}
	if err != nil {
		return 0, l.check(err)
	}
	return n, nil
}
