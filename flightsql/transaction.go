package flightsql

import (
	"context"
	"errors"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/fault"
)

// BeginTransaction opens the session's transaction. Nothing is held until it writes.
func (s *Service) BeginTransaction(ctx context.Context, _ flightsql.ActionBeginTransactionRequest) ([]byte, error) {
	sess, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	defer sess.done()
	id, err := sess.lake.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return []byte(id), nil
}

// EndTransaction commits or rolls back.
func (s *Service) EndTransaction(ctx context.Context, req flightsql.ActionEndTransactionRequest) error {
	sess, err := s.session(ctx)
	if err != nil {
		return err
	}
	defer sess.done()
	ctx, stop := sess.within(ctx)
	defer stop()
	id := string(req.GetTransactionId())
	if open, _ := sess.lake.InTransaction(); id == "" || open != id {
		return sess.noTransaction(id)
	}
	kind := gate.Rollback
	if req.GetAction() == flightsql.EndTransactionCommit {
		kind = gate.Commit
	}
	rec := s.record(sess, kind.String(), kind.String())
	err = sess.endTransaction(ctx, id, kind)
	if open, _ := sess.lake.InTransaction(); open != id {
		sess.outlive(id)
	}
	rec.end(err, 0)
	return err
}

func (sess *session) endTransaction(ctx context.Context, id string, kind gate.Kind) error {
	if kind == gate.Commit {
		return sess.lake.Commit(ctx, id)
	}
	return sess.lake.Rollback(ctx, id)
}

// noTransaction is the answer to an id that is not the session's open transaction.
func (sess *session) noTransaction(id string) error {
	sess.mu.Lock()
	lost := id != "" && sess.lost == id
	sess.mu.Unlock()
	if lost {
		return fault.TransactionUnknown.Newf("the transaction was rolled back because it was idle for more than %s", sess.svc.limits.TransactionIdle).
			WithHint("begin another one and run its statements again")
	}
	return fault.TransactionUnknown.Newf("the session has no open transaction of this id")
}

// expireTransaction rolls back a transaction that holds something of the lake and was not used since the given time.
func (sess *session) expireTransaction(since time.Time) {
	id, wrote := sess.lake.InTransaction()
	holds := wrote || sess.lake.Options()["vega.isolation"] == "snapshot"
	if id == "" || !holds || !sess.idleSince(since) || sess.hold() == nil {
		return
	}
	defer sess.done()
	sess.mu.Lock()
	sess.lost = id
	sess.mu.Unlock()
	err := sess.lake.Rollback(sess.ctx, id)
	sess.svc.log.Warn("idle transaction rolled back", "session", sess.label(), "user", sess.principal.Name, "error", err)
}

// transaction runs BEGIN, COMMIT and ROLLBACK as statements.
func (x *execution) transaction(ctx context.Context, kind gate.Kind) (*stream, error) {
	open, _ := x.sess.lake.InTransaction()
	switch {
	case x.tx != "":
		return nil, fault.InvalidParameter.Newf("%s was sent inside a transaction that the client's driver began", kind).
			WithHint("use the driver's own commit and rollback, or set it to autocommit")
	case kind == gate.Begin:
		if open != "" {
			return nil, fault.TransactionFailed.Newf("the session is in a transaction already").WithHint("commit or roll back first")
		}
		if _, err := x.sess.lake.Begin(ctx); err != nil {
			return nil, err
		}
	case open == "":
		return nil, fault.TransactionUnknown.Newf("%s, but the session is in no transaction", kind)
	default:
		if err := x.sess.endTransaction(ctx, open, kind); err != nil {
			return nil, err
		}
	}
	return x.status(statusSchema, kind.String()), nil
}

// many runs several changes by one statement as one transaction: the session's open one, or one that is this call's own, for other threads of
// the client may use the session meanwhile. Only what has to do with temporary objects opens one for the session.
func (sess *session) many(ctx context.Context, a *gate.Analysis, work func(context.Context, *ducklake.Session) (int64, error)) (n int64, err error) {
	lake := sess.lake
	if id, _ := lake.InTransaction(); id != "" {
		return work(ctx, lake)
	}
	if !a.TouchesTemp && a.Effect == nil {
		if lake, err = lake.Beside(ctx); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, lake.Close()) }()
	}
	id, err := lake.Begin(ctx)
	if err != nil {
		return 0, err
	}
	if n, err = work(ctx, lake); err != nil {
		// The statement's context may be over; the rollback must still happen.
		return 0, errors.Join(err, lake.Rollback(context.WithoutCancel(ctx), id))
	}
	return n, lake.Commit(ctx, id)
}
