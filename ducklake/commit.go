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
	defer l.pool.give(c)
	return l.autocommit(ctx, c, attempts, func() (int64, error) { return run(c.Conn) })
}

// autocommit is BEGIN, run, commit lock, COMMIT, unlock. What lost against another commit is run again, attempts times
// in all. When the transaction cannot be ended, it is left on the connection.
func (l *Lake) autocommit(ctx context.Context, c *connection, attempts int, run func() (int64, error)) (n int64, err error) {
	for i := 1; ; i++ {
		n, err = l.once(ctx, c, run)
		if err == nil || c.InTransaction() || i >= attempts || !conflicted(err) || ctx.Err() != nil {
			return n, err
		}
	}
}

func (l *Lake) once(ctx context.Context, c *connection, run func() (int64, error)) (n int64, err error) {
	if err := l.begin(ctx, c); err != nil {
		return 0, err
	}
	// A COMMIT that failed has ended the transaction, or has not begun.
	defer func() { _ = l.pool.settle(ctx, c.Conn) }() // who has the connection looks again
	if n, err = run(); err != nil {
		return 0, l.check(err)
	}
	if err := l.commitWrite(ctx, c); err != nil {
		return 0, err
	}
	return n, nil
}

// begin starts a transaction. One that is left is ended before.
func (l *Lake) begin(ctx context.Context, c *connection) error {
	if err := l.pool.settle(ctx, c.Conn); err != nil {
		return l.check(err)
	}
	_, err := c.Exec(ctx, `BEGIN TRANSACTION`)
	return l.check(err)
}

// settleOn is how a lake that is not under test ends a transaction that is left.
func settleOn(ctx context.Context, c *duck.Conn) error { return c.Settle(ctx) }

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
	return errors.Join(l.check(err), l.pool.settle(ctx, c.Conn))
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
