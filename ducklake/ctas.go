package ducklake

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/types"
	"github.com/vegadb/vega-flight/fault"
)

// createTableAs builds the table beside what is there and lets it appear in one short commit: a statement that
// computes for long holds up nobody, and readers of a replaced table see no gap.
func (s *Session) createTableAs(ctx context.Context, tx *transaction, a *gate.Analysis, args []any) (int64, error) {
	if err := s.ddlAllowed(tx, a.Kind.String()); err != nil {
		return 0, err
	}
	if len(a.Creates) != 1 || a.Query == "" {
		return 0, fault.InternalError.Newf("the analysis of a CREATE TABLE AS names %d tables and the query %q", len(a.Creates), a.Query)
	}
	target := a.Creates[0]
	exists, err := s.lake.exists(ctx, target.Schema, target.Name)
	if err != nil {
		return 0, err
	}
	switch {
	case exists && target.IfExists && !target.Replace:
		return 0, nil
	case exists && !target.Replace:
		return 0, fault.ObjectExists.Newf("a table or view %s.%s exists already", metadata.QuoteIdent(target.Schema), metadata.QuoteIdent(target.Name))
	}
	columns, err := s.resultColumns(ctx, a, args)
	if err != nil {
		return 0, err
	}
	if err := keepable(columns); err != nil {
		return 0, err
	}
	b, err := s.lake.startBuild(ctx, target.Schema, renamed(columns))
	if err != nil {
		return 0, err
	}
	n, err := s.fillAndPublish(ctx, b, a, columns, args)
	if err != nil {
		return 0, errors.Join(err, b.drop(ctx))
	}
	return n, nil
}

// resultColumns are the columns of the query. Those whose type a parameter decides are known with its value only, and those of the past to
// the lake only.
func (s *Session) resultColumns(ctx context.Context, a *gate.Analysis, args []any) ([]gate.Column, error) {
	known := len(a.Columns) > 0 && len(a.AtClauses) == 0 // the gate knows today's columns only
	for _, c := range a.Columns {
		known = known && c.Type != ""
	}
	if known {
		return a.Columns, nil
	}
	var columns []gate.Column
	ask := func(c *duck.Conn) error {
		r, err := c.Query(ctx, `SELECT * FROM (`+a.Query+"\n) AS q LIMIT 0", args...)
		if err != nil {
			return err
		}
		for i, f := range r.Schema().Fields() {
			typ, _ := f.Metadata.GetValue(duck.TypeNameKey)
			col := gate.Column{Name: f.Name, Type: typ, LakeType: gate.LakeType(typ)}
			if i < len(a.Names) {
				col.Name = a.Names[i]
			}
			columns = append(columns, col)
		}
		return r.Close()
	}
	if a.TouchesTemp {
		return columns, s.withOwn(ctx, ask)
	}
	c, err := s.lake.pool.take(ctx, s.Settings())
	if err != nil {
		return nil, s.lake.check(err)
	}
	defer s.lake.pool.give(c)
	return columns, s.lake.check(ask(c.Conn))
}

func (s *Session) fillAndPublish(ctx context.Context, b *build, a *gate.Analysis, columns []gate.Column, args []any) (n int64, err error) {
	if !a.NoData {
		sql := `INSERT INTO ` + b.name() + ` SELECT ` + castAll(columns) + ` FROM (` + a.Query + "\n) AS q(" + columnAliases(len(columns)) + `)`
		run := func(c *duck.Conn) (int64, error) { return c.Exec(ctx, sql, args...) }
		if a.TouchesTemp {
			n, err = s.writeOwn(ctx, run)
		} else {
			n, err = b.fill(ctx, s.Settings(), autocommitAttempts, run)
		}
		if err != nil {
			return 0, err
		}
	}
	target, replaced := a.Creates[0], int64(0)
	if target.Replace {
		replaced = target.ID // the table that was there when the statement was admitted, and no other
	}
	err = b.publish(ctx, target.Name, replaced)
	if target.IfExists && fault.CodeOf(err) == fault.ObjectExists {
		// Somebody was quicker, and that is all that was asked for.
		return 0, b.drop(ctx)
	}
	return n, err
}

// writeOwn is a transaction of its own on the session's own connection.
func (s *Session) writeOwn(ctx context.Context, run func(*duck.Conn) (int64, error)) (int64, error) {
	if err := s.take(ctx); err != nil {
		return 0, err
	}
	defer s.give()
	tx, err := s.current()
	if err != nil {
		return 0, err
	}
	if tx != nil && tx.begun {
		return 0, fault.DDLInTransaction.Newf("a table cannot be filled from temporary objects of a transaction that has begun").
			WithHint("commit or roll back first")
	}
	c, err := s.private(ctx)
	if err != nil {
		return 0, err
	}
	n, err := s.lake.autocommit(ctx, c, autocommitAttempts, func() (int64, error) { return run(c.Conn) })
	return n, err
}

// keepable refuses result columns that no lake type keeps.
func keepable(columns []gate.Column) error {
	for _, c := range columns {
		if c.LakeType == "" {
			why, instead := types.Why(c.Type)
			return fault.UnstableType.Newf("the lake cannot keep column %s of type %s: %s", metadata.QuoteIdent(c.Name), c.Type, why).
				WithHint("%s", instead)
		}
	}
	return nil
}

// renamed makes equal names different as DuckDB's own CREATE TABLE AS does: a, a_1, a_2.
func renamed(columns []gate.Column) []gate.Column {
	out, taken, count := slices.Clone(columns), map[string]bool{}, map[string]int{}
	for i, c := range columns {
		key := strings.ToLower(c.Name)
		for taken[strings.ToLower(out[i].Name)] {
			count[key]++
			out[i].Name = c.Name + "_" + strconv.Itoa(count[key])
		}
		taken[strings.ToLower(out[i].Name)] = true
	}
	return out
}

// castAll casts the columns of q to what the lake keeps; a value that does not fit is an error.
func castAll(columns []gate.Column) string {
	alias := strings.Split(columnAliases(len(columns)), ", ")
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = alias[i]
		if !strings.EqualFold(c.LakeType, c.Type) {
			out[i] = `CAST(` + alias[i] + ` AS ` + c.LakeType + `)`
		}
	}
	return strings.Join(out, `, `)
}

// columnAliases are names for n columns whose own names may be empty or equal.
func columnAliases(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = "c" + strconv.Itoa(i)
	}
	return strings.Join(names, `, `)
}

// exists says whether a schema has a table or plain view of a name.
func (l *Lake) exists(ctx context.Context, schema, name string) (bool, error) {
	found := false
	err := l.store.View(ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(ctx, `SELECT 1 FROM {M}ducklake_schema s
			JOIN (SELECT schema_id, table_name AS name FROM {M}ducklake_table WHERE end_snapshot IS NULL
				UNION ALL SELECT schema_id, view_name FROM {M}ducklake_view WHERE end_snapshot IS NULL) o ON o.schema_id = s.schema_id
			WHERE s.end_snapshot IS NULL AND lower(s.schema_name) = lower($1) AND lower(o.name) = lower($2)`, schema, name)
		found = len(rows) > 0
		return err
	})
	return found, l.check(err)
}
