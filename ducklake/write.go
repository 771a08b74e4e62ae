package ducklake

import (
	"context"
	"errors"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/types"
	"github.com/vegadb/vega-flight/fault"
)

// autocommitAttempts bounds how often a single statement is run again after it lost against another commit.
const autocommitAttempts = 3

// Exec runs an admitted statement for its effect and returns the number of rows it changed. Outside a transaction it is
// committed when Exec returns. Inside one DDL is refused once the transaction has written; before that it runs
// beside it.
func (s *Session) Exec(ctx context.Context, a *gate.Analysis, args ...any) (int64, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	n, err := s.exec(ctx, a, args)
	return n, stopped(ctx, err)
}

func (s *Session) exec(ctx context.Context, a *gate.Analysis, args []any) (int64, error) {
	tx, err := s.current()
	if err != nil && !a.Kind.Transaction() {
		return 0, err
	}
	if err := checkNames(a); err != nil {
		return 0, err
	}
	switch {
	case a.Kind.Transaction():
		return 0, fault.InvalidParameter.Newf("%s is for Begin, Commit and Rollback", a.Kind)
	case a.Effect != nil && a.Effect.Kind != gate.SetVariable && a.Effect.Kind != gate.TempDDL:
		return 0, s.applyEffect(ctx, a.Effect)
	case a.ReadOnly:
		return 0, s.discard(ctx, a, args)
	case a.Effect != nil, a.TouchesTemp && !a.DDL && !writesLake(a):
		return s.execOwn(ctx, a, args)
	case a.Kind == gate.CreateTableAs:
		return s.createTableAs(ctx, tx, a, args)
	case a.DDL:
		return s.execDDL(ctx, tx, a, args)
	}
	return s.writing(tx, written(a), func() (int64, error) { return s.change(ctx, tx, a, args) })
}

// change runs a statement that changes rows of the lake.
func (s *Session) change(ctx context.Context, tx *transaction, a *gate.Analysis, args []any) (int64, error) {
	switch {
	case tx != nil:
		return s.execInTransaction(ctx, a, args)
	case a.TouchesTemp:
		if err := s.take(ctx); err != nil {
			return 0, err
		}
		defer s.give()
		c, err := s.private(ctx)
		if err != nil {
			return 0, err
		}
		n, err := s.lake.autocommit(ctx, c, autocommitAttempts, func() (int64, error) { return c.Exec(ctx, a.SQL, args...) })
		return n, err
	}
	return s.lake.write(ctx, s.Settings(), autocommitAttempts, func(c *duck.Conn) (int64, error) { return c.Exec(ctx, a.SQL, args...) })
}

// checkNames looks at the names that the statement gives to tables and views.
func checkNames(a *gate.Analysis) error {
	for _, o := range a.Creates {
		if o.Type == gate.TableObject || o.Type == gate.ViewObject {
			if err := CheckName(o.Name); err != nil {
				return err
			}
		}
	}
	for _, o := range a.Alters {
		if o.Renamed != "" {
			if err := CheckName(o.Renamed); err != nil {
				return err
			}
		}
	}
	return nil
}

// discard runs a query for nothing but its errors.
func (s *Session) discard(ctx context.Context, a *gate.Analysis, args []any) error {
	st, err := s.query(ctx, a, args, func() {})
	if err != nil {
		return err
	}
	for st.Next() {
	}
	return errors.Join(st.Err(), st.Close())
}

func (s *Session) applyEffect(ctx context.Context, e *gate.SessionEffect) error {
	switch e.Kind {
	case gate.UseSchema:
		return s.Use(ctx, e.Catalog, e.Schema)
	case gate.SetOption:
		return s.SetOption(ctx, e.Option, e.Value)
	default:
		return s.SetOption(ctx, e.Option, nil)
	}
}

// writesLake says whether a statement may change rows outside the session.
func writesLake(a *gate.Analysis) bool {
	for _, w := range a.Writes {
		if !strings.EqualFold(w.Catalog, "temp") {
			return true
		}
	}
	return false
}

// execOwn runs what changes the session alone: temporary objects and variables.
func (s *Session) execOwn(ctx context.Context, a *gate.Analysis, args []any) (int64, error) {
	if err := s.take(ctx); err != nil {
		return 0, err
	}
	defer s.give()
	tx, err := s.current()
	if err != nil {
		return 0, err
	}
	c, err := s.private(ctx)
	if err != nil {
		return 0, err
	}
	temporary := a.Effect != nil && a.Effect.Kind == gate.TempDDL
	if temporary {
		drops := len(a.Drops)+len(a.Alters) > 0
		for _, o := range a.Creates {
			drops = drops || o.Exists && o.Replace
		}
		if err := temporaryAllowed(tx, drops); err != nil {
			return 0, err
		}
	}
	// Temporary objects follow a transaction that has begun; rows of them begin one.
	if tx != nil && a.Effect == nil {
		if err := s.begin(ctx, tx, c); err != nil {
			return 0, err
		}
	}
	n, err := c.Exec(ctx, a.SQL, args...)
	if err != nil {
		s.broke(ctx, tx, c, err)
		return 0, s.lake.check(err)
	}
	if temporary {
		if tx != nil && tx.begun {
			tx.made = append(tx.made, a.Creates...)
		}
		return n, s.gate.Applied(ctx, a)
	}
	return n, nil
}

// execInTransaction runs DML in the session's transaction.
func (s *Session) execInTransaction(ctx context.Context, a *gate.Analysis, args []any) (int64, error) {
	return s.inTransaction(ctx, func(c *duck.Conn) (int64, error) { return c.Exec(ctx, a.SQL, args...) })
}

// inTransaction runs a write of the lake in the session's transaction.
func (s *Session) inTransaction(ctx context.Context, run func(*duck.Conn) (int64, error)) (int64, error) {
	if err := s.take(ctx); err != nil {
		return 0, err
	}
	defer s.give()
	tx, err := s.current()
	if err != nil {
		return 0, err
	}
	if tx == nil {
		return 0, fault.TransactionUnknown.Newf("the transaction has ended while the statement waited")
	}
	c, err := s.private(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.begin(ctx, tx, c); err != nil {
		return 0, err
	}
	n, err := run(c.Conn)
	if err != nil {
		s.broke(ctx, tx, c, err)
		return 0, s.lake.check(err)
	}
	s.mu.Lock()
	tx.wrote = true
	s.mu.Unlock()
	return n, nil
}

// execDDL runs a DDL statement by itself.
func (s *Session) execDDL(ctx context.Context, tx *transaction, a *gate.Analysis, args []any) (int64, error) {
	if err := s.ddlAllowed(tx, a.Kind.String()); err != nil {
		return 0, err
	}
	if err := stableTypes(a.Columns); err != nil {
		return 0, err
	}
	return s.lake.runDDL(ctx, s.Settings(), a.SQL, args)
}

// ddlAllowed refuses DDL once the open transaction has written.
func (s *Session) ddlAllowed(tx *transaction, what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tx != nil && tx.wrote {
		return fault.DDLInTransaction.Newf("%s runs by itself, and the open transaction has already written", what).
			WithHint("commit or roll back first")
	}
	return nil
}

// stableTypes refuses columns whose values the lake would change.
func stableTypes(columns []gate.Column) error {
	for _, c := range columns {
		if why, instead := types.Why(c.Type); why != "" {
			return fault.UnstableType.Newf("the lake cannot keep column %s of type %s: %s", metadata.QuoteIdent(c.Name), c.Type, why).
				WithHint("%s", instead)
		}
	}
	return nil
}
