package ducklake

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// transaction is a session's open transaction. DuckDB's own begins at the first write, or at the first read when the
// session asked for one snapshot. It is changed by the holder of the session's turn, under the session's mu.
type transaction struct {
	id     string
	begun  bool             // BEGIN has run on the session's own connection
	wrote  bool             // rows of the lake
	failed error            // why nothing but a rollback is possible
	made   []gate.ObjectRef // temporary objects that a rollback takes away again
	unpin  func()           // once it has begun
	writes []*write         // its statements that write tables
}

// over lets go of the snapshot and of what failed statements have left, when COMMIT or ROLLBACK has run.
func (t *transaction) over() {
	if t.unpin != nil {
		t.unpin()
	}
	for _, w := range t.writes {
		w.end(nil)
	}
}

// Begin opens the session's transaction. It costs nothing in the lake before the first write.
func (s *Session) Begin(ctx context.Context) (txID string, err error) {
	if err := s.take(ctx); err != nil {
		return "", err
	}
	defer s.give()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", fault.SessionNotFound.Newf("the session is closed")
	}
	if s.tx != nil {
		return "", fault.InvalidParameter.Newf("the session has an open transaction already").WithHint("commit it or roll it back first")
	}
	s.tx = &transaction{id: uuid.NewString()}
	return s.tx.id, nil
}

// InTransaction is the id of the open transaction, "" without one, and whether it has written to the lake.
func (s *Session) InTransaction() (txID string, wrote bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tx == nil {
		return "", false
	}
	return s.tx.id, s.tx.wrote
}

// Commit ends the transaction. One in which a statement failed is rolled back, with fault.TransactionFailed.
func (s *Session) Commit(ctx context.Context, txID string) error {
	return s.finish(ctx, txID, func(ctx context.Context, tx *transaction, c *connection) error {
		if tx.failed == nil {
			// DuckDB's COMMIT of a transaction that it has given up rolls back and reports success.
			if _, err := c.Rows(ctx, `SELECT 1`); err != nil {
				s.mu.Lock()
				tx.failed = err
				s.mu.Unlock()
			}
		}
		s.forget()
		if tx.failed != nil {
			return errors.Join(fault.TransactionFailed.Newf("a statement of the transaction failed; it is rolled back"), s.undo(ctx, c, tx))
		}
		if !tx.wrote {
			_, err := c.Exec(context.WithoutCancel(ctx), `COMMIT`)
			return s.lake.check(err)
		}
		return stopped(ctx, s.lake.commitWrite(ctx, c))
	})
}

// Rollback ends the transaction and undoes what it wrote.
func (s *Session) Rollback(ctx context.Context, txID string) error {
	return s.finish(ctx, txID, func(ctx context.Context, tx *transaction, c *connection) error {
		s.forget()
		return s.undo(ctx, c, tx)
	})
}

// finish calls end with the transaction that is to end and the connection it runs on, if it has begun there.
func (s *Session) finish(ctx context.Context, txID string, end func(context.Context, *transaction, *connection) error) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.take(ctx); err != nil {
		return stopped(ctx, err)
	}
	defer s.give()
	tx, err := s.ending(txID)
	if err != nil {
		return err
	}
	if !tx.begun {
		s.forget()
		return nil
	}
	// An open result of the transaction goes on from disk. When it cannot, the transaction goes on too.
	c, err := s.private(ctx)
	if err != nil {
		return stopped(ctx, err)
	}
	defer tx.over()
	defer func() { _ = s.lake.pool.settle(ctx, c.Conn) }() // if it cannot be, before the connection's next statement
	return end(ctx, tx, c)
}

func (s *Session) ending(txID string) (*transaction, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tx == nil || s.tx.id != txID {
		return nil, fault.TransactionUnknown.Newf("the session has no open transaction of this id")
	}
	return s.tx, nil
}

func (s *Session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tx = nil
}

func (s *Session) rollback(ctx context.Context, c *connection) error {
	// Settings made inside the transaction may go with it.
	c.have = ConnSettings{}
	return s.lake.check(s.lake.pool.settle(ctx, c.Conn))
}

// undo rolls the session's transaction back, and the gate's shadow of the session follows.
func (s *Session) undo(ctx context.Context, c *connection, tx *transaction) error {
	left := s.rollback(ctx, c) // what is left is rolled back before the connection's next statement
	end := context.WithoutCancel(ctx)
	for i := len(tx.made) - 1; i >= 0; i-- {
		o := tx.made[i]
		a, err := s.Analyze(end, `DROP `+strings.ToUpper(string(o.Type))+` IF EXISTS temp.main.`+metadata.QuoteIdent(o.Name))
		if err == nil {
			err = s.gate.Applied(end, a)
		}
		if err != nil {
			return errors.Join(left, err)
		}
	}
	return left
}

// temporaryAllowed refuses to take temporary objects away in a transaction that has begun: a rollback would bring them
// back without the gate knowing.
func temporaryAllowed(tx *transaction, drops bool) error {
	if tx != nil && tx.begun && drops {
		return fault.DDLInTransaction.Newf("a temporary object cannot be dropped or replaced in a transaction that has begun").
			WithHint("commit or roll back first")
	}
	return nil
}

// current is the open transaction if statements may still run in it; nil without one.
func (s *Session) current() (*transaction, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tx != nil && s.tx.failed != nil {
		return nil, fault.TransactionFailed.Wrap(s.tx.failed, "an earlier statement of the transaction failed").WithHint("roll it back")
	}
	return s.tx, nil
}

// begin starts DuckDB's transaction on the session's own connection. The caller holds the turn.
func (s *Session) begin(ctx context.Context, tx *transaction, c *connection) error {
	if tx.begun {
		return nil
	}
	unpin := s.lake.pin()
	if err := s.lake.begin(ctx, c); err != nil {
		unpin()
		return err
	}
	s.mu.Lock()
	tx.begun, tx.unpin = true, unpin
	s.mu.Unlock()
	return nil
}

// harmless are the errors that come before a statement has done anything.
var harmless = map[string]bool{"Parser": true, "Syntax": true, "Binder": true, "Catalog": true, "Parameter Not Resolved": true, "Parameter Not Allowed": true}

// broke notes that a statement in the open transaction failed. The caller holds the turn.
func (s *Session) broke(ctx context.Context, tx *transaction, c *connection, err error) {
	if tx == nil || !tx.begun || err == nil {
		return
	}
	var d *duck.Error
	if errors.As(err, &d) && harmless[d.Type] {
		// Believed only when DuckDB agrees.
		if _, alive := c.Rows(context.WithoutCancel(ctx), `SELECT 1`); alive == nil {
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if tx.failed == nil {
		tx.failed = err
	}
}
