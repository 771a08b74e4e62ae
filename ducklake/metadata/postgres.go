package metadata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/vegadb/vega-flight/fault"
)

// Postgres is a catalog in a PostgreSQL database.
type Postgres struct {
	pool   *pgxpool.Pool
	pulse  *pulse
	schema string
	prefix string
}

// OpenPostgres connects to the database of dsn (a URI or keywords) whose schema holds the lake's tables.
func OpenPostgres(ctx context.Context, dsn, schema string) (*Postgres, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fault.ConfigInvalid.Newf("the PostgreSQL catalog's address cannot be parsed").
			WithHint("use postgres://user:password@host:port/database")
	}
	config.MaxConns = max(config.MaxConns, 8)
	// Times go out as UTC whatever the server's zone is.
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	config.ConnConfig.RuntimeParams["application_name"] = "vega-flight"
	config.AfterConnect = plainTypes
	if !strings.Contains(dsn, "connect_timeout") {
		config.ConnConfig.ConnectTimeout = connectWait
	}
	pulse := watch(config.ConnConfig)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fault.CatalogGone.Wrap(err, "the PostgreSQL catalog")
	}
	p := &Postgres{pool: pool, pulse: pulse, schema: schema, prefix: QuoteIdent(schema) + "."}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, gone(err)
	}
	pulse.start()
	return p, nil
}

// plainTypes makes columns that the rest of the program does not compute with come as text.
func plainTypes(_ context.Context, c *pgx.Conn) error {
	m := c.TypeMap()
	text, _ := m.TypeForOID(pgtype.TextOID)
	for _, oid := range []uint32{pgtype.UUIDOID, pgtype.NumericOID, pgtype.JSONOID, pgtype.JSONBOID, pgtype.NameOID} {
		if known, ok := m.TypeForOID(oid); ok {
			m.RegisterType(&pgtype.Type{Name: known.Name, OID: oid, Codec: text.Codec})
		}
	}
	return nil
}

// Dialect is PostgreSQL.
func (p *Postgres) Dialect() Dialect { return PostgreSQL }

// Schema is the metadata schema.
func (p *Postgres) Schema() string { return p.schema }

// Close ends the pool.
func (p *Postgres) Close() error {
	p.pool.Close()
	p.pulse.close()
	return nil
}

// Now is the server's clock.
func (p *Postgres) Now(ctx context.Context) (time.Time, error) {
	var t time.Time
	if err := p.pulse.lost(); err != nil {
		return t, err
	}
	if err := p.pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&t); err != nil {
		return t, gone(err)
	}
	return t.UTC(), nil
}

// Update runs fn at REPEATABLE READ, so that the whole of it sees one state and an overtaken write is an error.
func (p *Postgres) Update(ctx context.Context, fn func(Tx) error) error {
	return retry(ctx, func() error { return p.once(ctx, pgx.ReadWrite, fn) })
}

// View runs fn at REPEATABLE READ, read only.
func (p *Postgres) View(ctx context.Context, fn func(Tx) error) error {
	return p.once(ctx, pgx.ReadOnly, fn)
}

// endWait bounds how long the server's answer to the end of a transaction is waited for, whatever becomes of who began it. A way to the server that
// goes nowhere would else be waited on for ever.
var endWait = time.Minute

func ending(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), endWait)
}

func (p *Postgres) once(ctx context.Context, mode pgx.TxAccessMode, fn func(Tx) error) error {
	if err := p.pulse.lost(); err != nil {
		return err
	}
	inner, err := p.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: mode})
	if err != nil {
		return gone(err)
	}
	// After a commit this does nothing; on a panic of fn it still ends the transaction.
	defer func() {
		end, stop := ending(ctx)
		defer stop()
		_ = inner.Rollback(end)
	}()
	tx := &pgTx{store: p, tx: inner}
	if err := fn(tx); err != nil {
		return err
	}
	end, stop := ending(ctx) // from here: fn may take longer than the answer to COMMIT
	defer stop()
	if err := inner.Commit(end); err != nil {
		var answer *pgconn.PgError
		if errors.As(err, &answer) || errors.Is(err, pgx.ErrTxCommitRollback) || mode == pgx.ReadOnly {
			return gone(err) // the server said no: nothing was committed
		}
		return fault.CommitUnknown.Wrap(err, "the PostgreSQL catalog did not answer COMMIT")
	}
	tx.run()
	return nil
}

// gone turns errors of the way to the server into fault.CatalogGone and leaves the server's own answers alone.
func gone(err error) error {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		switch answer.Code {
		case "57P01", "57P02", "57P03", "53300": // shutdown, crash, starting, too many connections
			return fault.CatalogGone.Wrap(err, "the PostgreSQL catalog")
		}
		return err
	}
	var connect *pgconn.ConnectError
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &connect) {
		return err
	}
	var network net.Error
	cut := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed)
	if cut || errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) {
		return fault.CatalogGone.Wrap(err, "the PostgreSQL catalog")
	}
	return err
}

// Exclusive runs fn while no other server runs one of that name on this schema. exists says whether the schema holds
// a lake already.
func (p *Postgres) Exclusive(ctx context.Context, name string, fn func(exists bool) error) error {
	c, err := p.pool.Acquire(ctx)
	if err != nil {
		return gone(err)
	}
	defer c.Release()
	key := p.prefix + name
	if _, err := c.Exec(ctx, `SELECT pg_advisory_lock(hashtextextended($1, 0))`, key); err != nil {
		return gone(err)
	}
	defer func() {
		if _, err := c.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock(hashtextextended($1, 0))`, key); err != nil {
			_ = c.Conn().Close(context.WithoutCancel(ctx)) // its end gives the lock back
		}
	}()
	exists := false
	if err := c.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, p.prefix+`"ducklake_metadata"`).Scan(&exists); err != nil {
		return gone(err)
	}
	return fn(exists)
}

type pgTx struct {
	hooks
	store *Postgres
	tx    pgx.Tx
}

func (t *pgTx) Dialect() Dialect { return PostgreSQL }

func (t *pgTx) Table(name string) string { return t.store.prefix + QuoteIdent(name) }

func (t *pgTx) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	tag, err := t.tx.Exec(ctx, expand(sql, t.store.prefix), args...)
	if err != nil {
		return 0, gone(err)
	}
	return tag.RowsAffected(), nil
}

func (t *pgTx) Query(ctx context.Context, sql string, args ...any) ([][]any, error) {
	rows, err := t.tx.Query(ctx, expand(sql, t.store.prefix), args...)
	if err != nil {
		return nil, gone(err)
	}
	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]any, error) {
		values, err := r.Values()
		for i, v := range values {
			values[i] = plain(v)
		}
		return values, err
	})
	if err != nil {
		return nil, gone(err)
	}
	return out, nil
}

func (t *pgTx) Append(ctx context.Context, table string, columns []string, rows [][]any) (int64, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	if columns == nil {
		found, err := columnNames(ctx, t, table)
		if err != nil {
			return 0, err
		}
		columns = found
	}
	if len(columns) != len(rows[0]) {
		return 0, fmt.Errorf("metadata: rows of %d values for %d columns of %s", len(rows[0]), len(columns), table)
	}
	n, err := t.tx.CopyFrom(ctx, pgx.Identifier{t.store.schema, table}, columns, pgx.CopyFromRows(rows))
	if err != nil {
		return 0, gone(err)
	}
	return n, nil
}
