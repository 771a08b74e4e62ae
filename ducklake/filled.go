package ducklake

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// vegaCatalog is the reserved catalog of the server's own tables.
const vegaCatalog = "vega"

// QueryFilled is Query for statements that read tables of the reserved catalog "vega". Those tables are always empty:
// rows has what this one statement shall see in them, by table name. They are inserted in a transaction that is rolled
// back when the result has ended, so each caller sees its own rows only. The rows stay the caller's.
func (s *Session) QueryFilled(ctx context.Context, a *gate.Analysis, rows map[string]arrow.RecordBatch, args ...any) (*Stream, error) {
	if !a.ReadOnly {
		return nil, fault.NotYetSupported.Newf("%s cannot read tables of the catalog %q", a.Kind, vegaCatalog).
			WithHint("select their rows, and write them with a second statement")
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	st, err := s.queryFilled(ctx, a, rows, args, leave)
	if err != nil {
		err = stopped(ctx, err)
		leave()
		return nil, err
	}
	return st, nil
}

func (s *Session) queryFilled(ctx context.Context, a *gate.Analysis, rows map[string]arrow.RecordBatch, args []any, leave func()) (*Stream, error) {
	tx, err := s.current()
	if err != nil {
		return nil, err
	}
	if s.needsOwn(tx, a) && !vegaOnly(a) {
		return s.queryFilledOwn(ctx, a, rows, args, leave)
	}
	c, err := s.lake.pool.take(ctx, s.Settings())
	if err != nil {
		return nil, s.lake.check(err)
	}
	back := func() { s.lake.pool.give(c) } // which rolls back
	if err := s.lake.begin(ctx, c); err != nil {
		back()
		return nil, err
	}
	r, err := filled(ctx, c.Conn, a, rows, args)
	if err != nil {
		back()
		return nil, s.lake.check(err)
	}
	return s.stream(ctx, r, leave, back, false), nil
}

// queryFilledOwn runs the statement on the session's own connection. Its transaction must be over when the next
// statement comes, so the result goes to disk at once.
func (s *Session) queryFilledOwn(ctx context.Context, a *gate.Analysis, rows map[string]arrow.RecordBatch, args []any, leave func()) (*Stream, error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.give()
	tx, err := s.current()
	if err != nil {
		return nil, err
	}
	if tx != nil && tx.begun {
		return nil, fault.NotYetSupported.Newf("in an open transaction that has written, tables of the catalog %q cannot be read together with others", vegaCatalog).
			WithHint("read them by themselves, or after the transaction")
	}
	c, err := s.private(ctx)
	if err != nil {
		return nil, err
	}
	undo := func() error { return s.lake.check(s.lake.pool.settle(ctx, c.Conn)) }
	if err := s.lake.begin(ctx, c); err != nil {
		return nil, err
	}
	r, err := filled(ctx, c.Conn, a, rows, args)
	if err != nil {
		_ = undo()
		return nil, s.lake.check(err)
	}
	st := s.stream(ctx, r, leave, func() {}, true)
	if err := st.putAside(ctx); err != nil {
		_ = st.Close()
		_ = undo()
		return nil, err
	}
	if err := undo(); err != nil {
		_ = st.Close()
		return nil, err
	}
	return st, nil
}

// filled inserts the rows and starts the statement.
func filled(ctx context.Context, c *duck.Conn, a *gate.Analysis, rows map[string]arrow.RecordBatch, args []any) (*duck.Reader, error) {
	for table, batch := range rows {
		if err := fill(ctx, c, table, batch); err != nil {
			return nil, err
		}
	}
	return c.Query(ctx, a.SQL, args...)
}

func fill(ctx context.Context, c *duck.Conn, table string, batch arrow.RecordBatch) error {
	r, err := array.NewRecordReader(batch.Schema(), []arrow.RecordBatch{batch})
	if err != nil {
		return err
	}
	defer r.Release()
	const view = "vega_filled"
	release, err := c.RegisterArrow(view, r)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, `INSERT INTO `+vegaCatalog+`.main.`+metadata.QuoteIdent(table)+` BY NAME SELECT * FROM temp.main.`+view)
	if released := release(); err == nil {
		err = released
	}
	return err
}

// vegaOnly says that a statement reads nothing but the reserved catalog.
func vegaOnly(a *gate.Analysis) bool {
	for _, t := range a.Reads {
		if !strings.EqualFold(t.Catalog, vegaCatalog) {
			return false
		}
	}
	return true
}

// Own calls f with the session's own connection, which has its temporary objects; not at all while there is none. f runs
// the server's own SQL only, and leaves no state behind.
func (s *Session) Own(ctx context.Context, f func(*duck.Conn) error) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.take(ctx); err != nil {
		return stopped(ctx, err)
	}
	defer s.give()
	if s.own == nil {
		return nil
	}
	c, err := s.private(ctx)
	if err != nil {
		return err
	}
	return stopped(ctx, s.lake.check(f(c.Conn)))
}
