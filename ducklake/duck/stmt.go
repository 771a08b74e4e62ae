package duck

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	ddb "github.com/duckdb/duckdb-go-bindings"
)

// Column is a result column: its name and its SQL type.
type Column struct{ Name, Type string }

// Param is a statement parameter: its name ("1", "2", … or the name after $)
// and its SQL type, "" when the statement does not decide it.
type Param struct{ Name, Type string }

// Stmt is one prepared statement. It belongs to its connection and shares its
// rule of one statement at a time.
type Stmt struct {
	conn *Conn
	raw  ddb.PreparedStatement
	sql  string
}

// NumParams is the number of parameters.
func (s *Stmt) NumParams() int { return int(ddb.NParams(s.raw)) }

// Params describes the parameters in binding order.
func (s *Stmt) Params() []Param {
	ps := make([]Param, s.NumParams())
	for i := range ps {
		n := ddb.IdxT(i + 1)
		ps[i].Name = ddb.ParameterName(s.raw, n)
		if t := describe(ddb.ParamLogicalType(s.raw, n)); t.known() {
			ps[i].Type = t.String()
		}
	}
	return ps
}

// Kind is what DuckDB's parser says the statement is.
func (s *Stmt) Kind() StatementKind {
	return StatementKind(ddb.PreparedStatementType(s.raw))
}

// Columns describes the result; nil when it depends on a parameter's type,
// which even hides the number of columns.
func (s *Stmt) Columns() []Column {
	cs := s.frame().columns()
	for _, c := range cs {
		if c.Type == "" {
			return nil
		}
	}
	return cs
}

// Schema is the schema that the Reader will have. It is [ErrUnresolved] when
// that depends on a parameter's type; then only the Reader knows it.
func (s *Stmt) Schema() (*arrow.Schema, error) {
	if err := s.conn.take(context.Background()); err != nil {
		return nil, err
	}
	defer s.conn.give()
	return s.frame().schema(s.conn)
}

// Query runs the statement and streams its result. The connection is busy
// until the Reader is closed.
func (s *Stmt) Query(ctx context.Context, args ...any) (*Reader, error) {
	c := s.conn
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	stop := c.watch(ctx)
	r, err := s.stream(ctx, args)
	stop()
	if err != nil {
		c.give()
		return nil, withContext(ctx, err)
	}
	return r, nil
}

// Exec runs the statement and returns the number of rows it changed.
func (s *Stmt) Exec(ctx context.Context, args ...any) (int64, error) {
	c := s.conn
	if err := c.take(ctx); err != nil {
		return 0, err
	}
	defer c.give()
	stop := c.watch(ctx)
	defer stop()
	asked := c.interrupts.Load()
	changed, err := s.exec(args)
	return changed, withContext(ctx, c.reason(ctx, err, asked, s.sql, args))
}

// Close frees the statement; an open Reader of it goes on.
func (s *Stmt) Close() error {
	s.destroy()
	return nil
}

func (s *Stmt) destroy() { ddb.DestroyPrepare(&s.raw) }

// run starts the bound statement; its result is streamed when it is a SELECT.
func (s *Stmt) run(args []any) (*ddb.Result, error) {
	if s.raw.Ptr == nil {
		return nil, ErrClosed
	}
	res, err := s.start(args)
	if s.Kind() == KindTransaction {
		s.conn.transacted(s.sql, err)
	}
	return res, err
}

func (s *Stmt) start(args []any) (*ddb.Result, error) {
	if err := s.bind(args); err != nil {
		return nil, err
	}
	var pending ddb.PendingResult
	state := ddb.PendingPreparedStreaming(s.raw, &pending)
	defer ddb.DestroyPending(&pending)
	if state == ddb.StateError {
		return nil, s.conn.db.fail(ddb.PendingError(pending), s.sql)
	}
	res := new(ddb.Result)
	if ddb.ExecutePending(pending, res) == ddb.StateError {
		message := ddb.ResultError(res)
		if message == "" {
			message = ddb.PendingError(pending)
		}
		ddb.DestroyResult(res)
		return nil, s.conn.db.fail(message, s.sql)
	}
	return res, nil
}

// each gives every chunk of the result to f. A stream that was interrupted
// simply has no further chunk, so its error must be asked for.
func (s *Stmt) each(res *ddb.Result, f func(ddb.DataChunk) error) error {
	for {
		chunk := ddb.FetchChunk(*res)
		if chunk.Ptr == nil {
			break
		}
		err := f(chunk)
		ddb.DestroyDataChunk(&chunk)
		if err != nil {
			return err
		}
	}
	if message := ddb.ResultError(res); message != "" {
		return s.conn.db.fail(message, s.sql)
	}
	return nil
}

func (s *Stmt) exec(args []any) (int64, error) {
	res, err := s.run(args)
	if err != nil {
		return 0, err
	}
	complete := false
	defer func() { s.conn.discard(res, complete) }()
	var changed int64
	counts := countsRows(res)
	err = s.each(res, func(chunk ddb.DataChunk) error {
		if counts && ddb.DataChunkGetSize(chunk) > 0 {
			v := ddb.DataChunkGetVector(chunk, 0)
			changed += *(*int64)(ddb.VectorGetData(v))
		}
		return nil
	})
	complete = err == nil
	return changed, err
}

// countsRows says that the result is a number of changed rows. CREATE TABLE AS
// gives one too, though DuckDB does not class it so.
func countsRows(res *ddb.Result) bool {
	switch ddb.ResultReturnType(*res) {
	case ddb.ResultTypeChangedRows:
		return true
	case ddb.ResultTypeNothing:
		return ddb.ColumnCount(res) == 1 && ddb.ColumnName(res, 0) == "Count" && ddb.ColumnType(res, 0) == ddb.TypeBigInt
	}
	return false
}

func (s *Stmt) rows(args []any) ([][]any, error) {
	res, err := s.run(args)
	if err != nil {
		return nil, err
	}
	complete := false
	defer func() { s.conn.discard(res, complete) }()
	f := resultFrame(res)
	vs := make([]vector, len(f.types))
	var rows [][]any
	err = s.each(res, func(chunk ddb.DataChunk) error {
		n, width := int(ddb.DataChunkGetSize(chunk)), int(ddb.DataChunkGetColumnCount(chunk))
		first := len(rows)
		for range n {
			rows = append(rows, make([]any, width))
		}
		for col := range width {
			vs[col].load(ddb.DataChunkGetVector(chunk, ddb.IdxT(col)), f.types[col])
			for i := range n {
				rows[first+i][col] = vs[col].value(i)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	complete = true
	return rows, nil
}

// discard frees a result, and makes DuckDB end the statement if its stream was
// not read to the end: dropping the handle alone leaves the statement active,
// with its transaction and its buffers, until the connection's next statement.
// An interrupt would end it too, but would fail an open transaction.
func (c *Conn) discard(res *ddb.Result, complete bool) {
	streaming := ddb.ResultIsStreaming(*res)
	ddb.DestroyResult(res)
	if streaming && !complete {
		var next ddb.PreparedStatement
		ddb.Prepare(c.raw, "SELECT 1", &next)
		ddb.DestroyPrepare(&next)
	}
}
