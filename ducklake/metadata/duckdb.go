package metadata

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// Conn is what the DuckDB dialect needs of a connection to the instance that has the lake attached.
type Conn interface {
	Exec(ctx context.Context, sql string, args ...any) (int64, error)
	Rows(ctx context.Context, sql string, args ...any) ([][]any, error)
	Close() error
}

// duckSchema is the schema of the metadata database.
const duckSchema = "main"

// readers bounds the connections that read at once; more would only queue inside DuckDB.
const readers = 4

// duckStore is a catalog that is a DuckDB file, reached through the metadata database that ATTACH of the lake adds to
// the instance. The file has one process, so all read-write transactions go through one connection,
// one after the other: only DuckLake's own commits can conflict with them.
type duckStore struct {
	catalog string
	prefix  string
	connect func() (Conn, error)
	writer  chan Conn     // the one write connection, absent while in use
	reading chan Conn     // idle read connections
	slots   chan struct{} // bounds the read connections
	closed  chan struct{}
}

// OpenDuckDB makes a store of the metadata database of the attached lake called lake. connect opens a new connection
// to the instance; the store owns the connections it opens.
func OpenDuckDB(lake string, connect func() (Conn, error)) (Store, error) {
	first, err := connect()
	if err != nil {
		return nil, err
	}
	catalog := "__ducklake_metadata_" + lake
	s := &duckStore{
		catalog: catalog,
		prefix:  QuoteIdent(catalog) + `.` + QuoteIdent(duckSchema) + `.`,
		connect: connect,
		writer:  make(chan Conn, 1),
		reading: make(chan Conn, readers),
		slots:   make(chan struct{}, readers),
		closed:  make(chan struct{}),
	}
	s.writer <- first
	return s, nil
}

func (s *duckStore) Dialect() Dialect { return DuckDB }

func (s *duckStore) Now(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := s.View(ctx, func(tx Tx) error {
		rows, err := tx.Query(ctx, `SELECT now()`)
		if err != nil {
			return err
		}
		var r Row
		r.Take(rows[0])
		now = r.Time()
		return r.Err()
	})
	return now, err
}

func (s *duckStore) Update(ctx context.Context, fn func(Tx) error) error {
	var c Conn
	select {
	case c = <-s.writer:
	case <-s.closed:
		return errClosed()
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.writer <- c }()
	return retry(ctx, func() error { return s.once(ctx, c, false, fn) })
}

func (s *duckStore) View(ctx context.Context, fn func(Tx) error) error {
	select {
	case s.slots <- struct{}{}:
	case <-s.closed:
		return errClosed()
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.slots }()
	var c Conn
	select {
	case c = <-s.reading:
	default:
		var err error
		if c, err = s.connect(); err != nil {
			return err
		}
	}
	defer func() { s.reading <- c }()
	return s.once(ctx, c, true, fn)
}

// once runs one transaction. What must not be half done (BEGIN's counterpart) is not interrupted by ctx.
func (s *duckStore) once(ctx context.Context, c Conn, readOnly bool, fn func(Tx) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	end := context.WithoutCancel(ctx)
	begin := `BEGIN TRANSACTION`
	if readOnly {
		begin = `BEGIN TRANSACTION READ ONLY`
	}
	if _, err := c.Exec(end, begin); err != nil {
		// Without memory a transaction's end may have failed before it began, and the transaction is still there.
		if _, none := c.Exec(end, `ROLLBACK`); none != nil {
			return err
		}
		if _, err := c.Exec(end, begin); err != nil {
			return err
		}
	}
	tx := &duckTx{store: s, conn: c}
	done := false
	defer func() {
		if !done { // an error, or a panic of fn on its way up
			if _, rerr := c.Exec(end, `ROLLBACK`); rerr != nil && err != nil {
				err = errors.Join(err, rerr)
			}
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	done = true
	// A COMMIT that fails has rolled back, or has not begun: the catalog is in this process, its answer cannot be lost.
	if _, err := c.Exec(end, `COMMIT`); err != nil {
		_, _ = c.Exec(end, `ROLLBACK`) // there may be nothing to roll back
		return err
	}
	tx.run()
	return nil
}

func (s *duckStore) Close() error {
	select {
	case <-s.closed:
		return nil
	default:
	}
	close(s.closed)
	// Running transactions give their connections back.
	errs := []error{(<-s.writer).Close()}
	for range readers {
		s.slots <- struct{}{}
	}
	for {
		select {
		case c := <-s.reading:
			errs = append(errs, c.Close())
		default:
			return errors.Join(errs...)
		}
	}
}

type duckTx struct {
	hooks
	store *duckStore
	conn  Conn
}

func (t *duckTx) Dialect() Dialect { return DuckDB }

func (t *duckTx) Table(name string) string { return t.store.prefix + QuoteIdent(name) }

func (t *duckTx) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	return t.conn.Exec(ctx, expand(sql, t.store.prefix), args...)
}

func (t *duckTx) Query(ctx context.Context, sql string, args ...any) ([][]any, error) {
	rows, err := t.conn.Rows(ctx, expand(sql, t.store.prefix), args...)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		for i, v := range r {
			r[i] = plain(v)
		}
	}
	return rows, nil
}

// appendChunk bounds the parameters of one INSERT.
const appendChunk = 4096

func (t *duckTx) Append(ctx context.Context, table string, columns []string, rows [][]any) (int64, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	head := `INSERT INTO ` + t.Table(table)
	if columns != nil {
		quoted := make([]string, len(columns))
		for i, c := range columns {
			quoted[i] = QuoteIdent(c)
		}
		head += ` (` + strings.Join(quoted, `, `) + `)`
	}
	width := len(rows[0])
	per := max(1, appendChunk/max(1, width))
	var total int64
	for len(rows) > 0 {
		n := min(per, len(rows))
		args := make([]any, 0, n*width)
		for _, r := range rows[:n] {
			if len(r) != width {
				return total, fmt.Errorf("metadata: rows of %d and %d values for %s", width, len(r), table)
			}
			args = append(args, r...)
		}
		one := `(` + strings.TrimSuffix(strings.Repeat(`?,`, width), `,`) + `)`
		changed, err := t.conn.Exec(ctx, head+` VALUES `+strings.TrimSuffix(strings.Repeat(one+`,`, n), `,`), args...)
		if err != nil {
			return total, err
		}
		total += changed
		rows = rows[n:]
	}
	return total, nil
}

// Conn is the transaction's connection, for the DuckDB dialect's faster ways in (a registered Arrow stream). It is nil
// on PostgreSQL. Nothing may be committed or rolled back on it.
func TxConn(tx Tx) Conn {
	if t, ok := tx.(*duckTx); ok {
		return t.conn
	}
	return nil
}

// plain makes the two dialects' values alike: all integers that fit are int64, times are in UTC.
func plain(v any) any {
	switch x := v.(type) {
	case int8:
		return int64(x)
	case int16:
		return int64(x)
	case int32:
		return int64(x)
	case uint8:
		return int64(x)
	case uint16:
		return int64(x)
	case uint32:
		return int64(x)
	case uint64:
		if x <= 1<<63-1 {
			return int64(x)
		}
		return v
	case float32:
		return float64(x)
	case time.Time:
		return x.UTC()
	}
	return v
}

func errClosed() error { return fault.CatalogGone.Newf("the lake is closed") }
