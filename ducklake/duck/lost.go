package duck

import (
	"context"
	"errors"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// lostTries bounds how often a statement runs again for its reason: each run loses it with a chance of a few percent.
const lostTries = 3

// reason is why a SELECT failed, when DuckDB knows it no more: a thread that fails interrupts the others, and a reader of the
// stream that sees the interrupt before the error (SimpleBufferedData::ExecuteTaskInternal) reports that and forgets the error. In
// 1 to 3 of 100 failing queries, measured, the user would learn no more than "Interrupted". So the statement runs again, its rows
// thrown away, until it tells. Whoever calls it has the connection, holds no result of it, and watches ctx.
//
// An interrupt that somebody asked for stays one, and so does the failure of a statement in a transaction, which has ended with
// it, and one that does not fail again.
func (c *Conn) reason(ctx context.Context, err error, asked uint64, text string, args []any) error {
	var e *Error
	if !errors.As(err, &e) || e.Type != "Interrupt" {
		return err
	}
	for range lostTries {
		if ctx.Err() != nil || c.interrupts.Load() != asked || c.InTransaction() {
			return err
		}
		again := c.failure(text, args)
		if again == nil {
			return err
		}
		if !errors.As(again, &e) || e.Type != "Interrupt" {
			return again
		}
	}
	return err
}

// failure runs the text's last statement, if it is a SELECT, and gives its error alone.
func (c *Conn) failure(text string, args []any) error {
	list, n, err := c.extract(text)
	if err != nil || n == 0 {
		return nil
	}
	defer ddb.DestroyExtracted(&list)
	if n > 1 {
		text = "" // as in runAllButLast
	}
	s, err := c.prepare(list, n-1, text)
	if err != nil {
		return nil
	}
	defer s.destroy()
	if s.Kind() != KindSelect {
		return nil
	}
	res, err := s.start(args)
	if err != nil {
		return err
	}
	err = s.each(res, func(ddb.DataChunk) error { return nil })
	c.discard(res, err == nil)
	return err
}
