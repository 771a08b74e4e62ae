package duck

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// Conn is one connection. It runs one statement at a time: a second one gets
// [ErrBusy]. Interrupt and Progress may be called from any goroutine.
type Conn struct {
	db   *DB
	turn chan struct{} // holds a token while a statement runs or a Reader is open

	life    sync.RWMutex // raw is not disconnected while Interrupt or Progress use it
	raw     ddb.Connection
	closing bool    // Close has begun
	closed  bool    // raw is gone
	reader  *Reader // the open one

	kept  preparedSet // of whoever has the turn
	begun atomic.Bool // a transaction may be open

	interrupts atomic.Uint64 // that were asked for
}

// Progress is how far the running statement is.
type Progress struct {
	Percent     float64 // 0 to 100, -1 when unknown
	Rows, Total uint64
}

// take gives the caller the connection, or says why it cannot have it.
func (c *Conn) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.turn <- struct{}{}:
	default:
		return ErrBusy
	}
	c.life.RLock()
	closed := c.closing
	c.life.RUnlock()
	if closed {
		c.give()
		return ErrClosed
	}
	return nil
}

func (c *Conn) give() { <-c.turn }

// Interrupt stops the running statement; with none running it does nothing.
func (c *Conn) Interrupt() {
	c.life.RLock()
	defer c.life.RUnlock()
	if !c.closed {
		c.interrupts.Add(1)
		ddb.Interrupt(c.raw)
	}
}

// Progress asks how far the running statement is.
func (c *Conn) Progress() Progress {
	c.life.RLock()
	defer c.life.RUnlock()
	if c.closed {
		return Progress{Percent: -1}
	}
	p := ddb.QueryProgress(c.raw)
	percent, rows, total := ddb.QueryProgressTypeMembers(&p)
	return Progress{Percent: percent, Rows: rows, Total: total}
}

// Exec runs all statements of the text in order; args bind to the last one,
// whose number of changed rows it returns. A result is read and thrown away.
func (c *Conn) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	if err := c.take(ctx); err != nil {
		return 0, err
	}
	defer c.give()
	stop := c.watch(ctx)
	defer stop()
	last, done, err := c.statement(sql)
	if err != nil || last == nil {
		return 0, withContext(ctx, err)
	}
	asked := c.interrupts.Load()
	changed, err := last.exec(args)
	done(err)
	return changed, withContext(ctx, c.reason(ctx, err, asked, sql, args))
}

// Query runs all statements of the text and streams the result of the last
// one, to which args bind. The connection is busy until the Reader is closed.
func (c *Conn) Query(ctx context.Context, sql string, args ...any) (*Reader, error) {
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	stop := c.watch(ctx)
	r, err := c.open(ctx, sql, args)
	stop()
	if err != nil {
		c.give()
		return nil, withContext(ctx, err)
	}
	return r, nil
}

func (c *Conn) open(ctx context.Context, sql string, args []any) (*Reader, error) {
	last, err := c.runAllButLast(sql)
	if err != nil {
		return nil, err
	}
	if last == nil {
		return nil, c.db.fail("Parser Error: there is no statement to run", "")
	}
	defer last.destroy() // DuckDB's result keeps what it needs of the statement
	r, err := last.stream(ctx, args)
	if r != nil {
		r.text = sql
	}
	return r, err
}

// Rows runs the text as Query does and returns the whole result, which should
// be small, as Go values: int64, float64, string, bool, []byte, time.Time (UTC),
// *big.Int for HUGEINT and its like, nil; all others as text.
func (c *Conn) Rows(ctx context.Context, sql string, args ...any) ([][]any, error) {
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	stop := c.watch(ctx)
	defer stop()
	last, done, err := c.statement(sql)
	if err != nil || last == nil {
		return nil, withContext(ctx, err)
	}
	asked := c.interrupts.Load()
	rows, err := last.rows(args)
	done(err)
	return rows, withContext(ctx, c.reason(ctx, err, asked, sql, args))
}

// Prepare prepares the text, which must be exactly one statement.
func (c *Conn) Prepare(ctx context.Context, sql string) (*Stmt, error) {
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	stop := c.watch(ctx)
	defer stop()
	list, n, err := c.extract(sql)
	if err != nil {
		return nil, err
	}
	defer ddb.DestroyExtracted(&list)
	if n == 0 {
		return nil, c.db.fail("Parser Error: there is no statement to run", "")
	}
	if n > 1 {
		return nil, c.db.fail("Parser Error: a single statement was expected, not several", "")
	}
	s, err := c.prepare(list, 0, sql)
	if err != nil {
		return nil, withContext(ctx, err)
	}
	return s, nil
}

// runAllButLast runs the text's statements up to the last, which it returns
// prepared; nil when the text has none.
func (c *Conn) runAllButLast(sql string) (*Stmt, error) {
	list, n, err := c.extract(sql)
	if err != nil {
		return nil, err
	}
	defer ddb.DestroyExtracted(&list)
	if n == 0 {
		return nil, nil
	}
	if n > 1 {
		sql = "" // DuckDB's positions count from each statement's own begin
	}
	for i := ddb.IdxT(0); ; i++ {
		s, err := c.prepare(list, i, sql)
		if err != nil || i == n-1 {
			return s, err
		}
		_, err = s.exec(nil)
		s.destroy()
		if err != nil {
			return nil, err
		}
	}
}

// extract parses the text. DuckDB would stop at a NUL byte, and takes what is
// not UTF-8 for no statement at all.
func (c *Conn) extract(sql string) (list ddb.ExtractedStatements, n ddb.IdxT, err error) {
	if !utf8.ValidString(sql) || strings.IndexByte(sql, 0) >= 0 {
		return list, 0, c.db.fail("Parser Error: the text is not valid UTF-8 or has a NUL byte", "")
	}
	n = ddb.ExtractStatements(c.raw, sql, &list)
	if message := ddb.ExtractStatementsError(list); n == 0 && message != "" {
		ddb.DestroyExtracted(&list)
		return list, 0, c.db.fail(message, sql)
	}
	if own, err := Split(sql); err != nil || int(n) < len(own) {
		// Measured: a text that begins with a letter outside of ASCII parses to nothing, without an error.
		ddb.DestroyExtracted(&list)
		return list, 0, c.db.fail("Parser Error: the text has a statement that DuckDB does not understand", "")
	}
	return list, n, nil
}

func (c *Conn) prepare(list ddb.ExtractedStatements, i ddb.IdxT, sql string) (*Stmt, error) {
	s := &Stmt{conn: c, sql: sql}
	if ddb.PrepareExtractedStatement(c.raw, list, i, &s.raw) == ddb.StateError {
		message := ddb.PrepareError(s.raw)
		s.destroy()
		return nil, c.db.fail(message, sql)
	}
	return s, nil
}

// Close ends the running statement, if any, and the connection. It waits for
// the statement to stop, closes an open Reader, and may be called twice.
func (c *Conn) Close() error {
	c.life.Lock()
	c.closing = true // from here no statement starts and no reader opens
	r := c.reader
	c.life.Unlock()
	if r != nil {
		r.Close()
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	stop := c.watch(over) // stops what another goroutine still runs
	c.turn <- struct{}{}
	stop()
	defer c.give()
	c.life.Lock()
	defer c.life.Unlock()
	if !c.closed {
		c.closed = true
		c.kept.clear()
		ddb.Disconnect(&c.raw)
	}
	return nil
}

// adopt makes r the connection's open reader, unless the connection is closing.
func (c *Conn) adopt(r *Reader) error {
	c.life.Lock()
	defer c.life.Unlock()
	if c.closing {
		return ErrClosed
	}
	c.reader = r
	return nil
}

// drop forgets the open reader and gives the connection back.
func (c *Conn) drop() {
	c.life.Lock()
	c.reader = nil
	c.life.Unlock()
	c.give()
}
