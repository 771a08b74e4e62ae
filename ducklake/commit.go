package ducklake

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

type commitKey struct{}

// WithCommitID makes the lake commit that is made under ctx carry an id in its extra_info, so that its
// outcome can be looked up later by metadata.LookupCommit.
func WithCommitID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, commitKey{}, id)
}

func commitID(ctx context.Context) string {
	id, _ := ctx.Value(commitKey{}).(string)
	return id
}

// write runs run in a transaction of its own on a pooled connection.
func (l *Lake) write(ctx context.Context, s ConnSettings, attempts int, run func(*duck.Conn) (int64, error)) (int64, error) {
	c, err := l.pool.take(ctx, s)
	if err != nil {
		return 0, l.check(err)
	}
	n, clean, err := l.autocommit(ctx, c, attempts, func() (int64, error) { return run(c.Conn) })
	if clean {
		l.pool.give(c)
	} else {
		l.pool.spoil(c)
	}
	return n, err
}

// autocommit is BEGIN, run, commit lock, COMMIT, unlock. What lost against another commit is run again, attempts times
// in all. clean says that the connection is out of its transaction.
func (l *Lake) autocommit(ctx context.Context, c *connection, attempts int, run func() (int64, error)) (n int64, clean bool, err error) {
	for i := 1; ; i++ {
		n, clean, err = l.once(ctx, c, run)
		if err == nil || !clean || i >= attempts || !conflicted(err) || ctx.Err() != nil {
			return n, clean, err
		}
	}
}

func (l *Lake) once(ctx context.Context, c *connection, run func() (int64, error)) (n int64, clean bool, err error) {
	if _, err := c.Exec(ctx, `BEGIN TRANSACTION`); err != nil {
		return 0, true, l.check(err)
	}
	n, err = run()
	if err != nil {
		_, rerr := c.Exec(context.WithoutCancel(ctx), `ROLLBACK`)
		return 0, rerr == nil, l.check(err)
	}
	if err := l.commitWrite(ctx, c); err != nil {
		// After a COMMIT that failed there is no transaction, and ROLLBACK says so.
		_, _ = c.Exec(context.WithoutCancel(ctx), `ROLLBACK`)
		_, alive := c.Rows(context.WithoutCancel(ctx), `SELECT 1`)
		return 0, alive == nil, err
	}
	return n, true, nil
}

// commitWrite commits the transaction on c. When the catalog does not answer, the outcome is looked up; it is
// fault.CommitUnknown only if that fails too.
func (l *Lake) commitWrite(ctx context.Context, c *connection) error {
	id := commitID(ctx)
	if id == "" && l.Shared() {
		id = uuid.NewString() // a remote catalog can lose an answer
	}
	end := context.WithoutCancel(ctx)
	if id != "" {
		info := metadata.CommitInfo{ID: id, Kind: metadata.CommitWrite, Server: l.config.ServerID}
		sql := `CALL ` + metadata.QuoteIdent(l.config.Name) + `.set_commit_message(` + metadata.QuoteLiteral(metadata.Author) + `, NULL, extra_info => ` +
			metadata.QuoteLiteral(info.ExtraInfo()) + `)`
		if _, err := c.Exec(ctx, sql); err != nil {
			return l.abort(end, c, err)
		}
	}
	before := l.notice.seen()
	came := time.Now()
	unlock, err := l.lock.Lock(ctx)
	if err != nil {
		return l.abort(end, c, err)
	}
	locked := time.Now()
	err = l.commit(end, c.Conn)
	if err == nil {
		if bounds := l.forgetFloatBounds(end); bounds != nil {
			// The commit stands; the next one, or the notice of this one, tries again.
			l.log.Warn("bounds of new files stay in the catalog", "error", bounds)
		}
	}
	unlock()
	if err == nil {
		l.config.Committed(metadata.CommitWrite, locked.Sub(came), time.Since(locked))
		l.Notify()
		return nil
	}
	if id == "" || conflicted(err) {
		return l.check(err)
	}
	_, committed, lookup := metadata.Resolve(end, l.store, id, before)
	switch {
	case lookup != nil:
		return errors.Join(lookup, err)
	case committed:
		l.Notify()
		return nil
	}
	if LostConnection(err) {
		return fault.CatalogGone.Wrap(err, "the transaction was not committed")
	}
	return l.check(err)
}

// abort rolls back a transaction that could not be brought to its COMMIT.
func (l *Lake) abort(ctx context.Context, c *connection, err error) error {
	_, rerr := c.Exec(ctx, `ROLLBACK`)
	return errors.Join(l.check(err), rerr)
}

// LostConnection says that PostgreSQL's scanner lost its server.
func LostConnection(err error) bool {
	text := strings.ToLower(err.Error())
	for _, part := range []string{"server closed the connection", "terminating connection", "connection to server", "no connection to the server",
		"connection reset", "broken pipe", "could not receive data", "could not send data", "unable to connect", "connection refused",
		`failed to execute query "rollback"`} { // with no word of why
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// commitOn is the COMMIT of a lake that is not under test.
func commitOn(ctx context.Context, c *duck.Conn) error {
	_, err := c.Exec(ctx, `COMMIT`)
	return err
}
