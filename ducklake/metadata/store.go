package metadata

import (
	"context"
	"strings"
	"time"
)

// Dialect is the kind of a catalog database.
type Dialect int

// The catalog databases that are supported.
const (
	DuckDB Dialect = iota
	PostgreSQL
)

// String is the dialect's name for messages.
func (d Dialect) String() string {
	if d == PostgreSQL {
		return "PostgreSQL"
	}
	return "DuckDB"
}

// Store is a lake's catalog database. It is safe for concurrent use.
type Store interface {
	// Dialect says which SQL the migrations and the few places that differ use.
	Dialect() Dialect
	// Update runs fn in a read-write transaction (PostgreSQL: REPEATABLE READ) and commits when fn returns nil.
	// After a conflict with another transaction fn runs again; conflicts that persist give fault.CommitConflict,
	// a COMMIT without an answer fault.CommitUnknown. An error of fn is returned as it is.
	Update(ctx context.Context, fn func(Tx) error) error
	// View runs fn in a read-only transaction that sees one state of the database.
	View(ctx context.Context, fn func(Tx) error) error
	// Now is the catalog's clock, in UTC.
	Now(ctx context.Context) (time.Time, error)
	// Close waits for running transactions and ends the store's connections.
	Close() error
}

// Tx is a transaction on a catalog database, for one goroutine, until the function it was given to returns.
type Tx interface {
	// Exec runs one statement and returns the number of rows it changed.
	Exec(ctx context.Context, sql string, args ...any) (int64, error)
	// Query returns all rows of one statement.
	Query(ctx context.Context, sql string, args ...any) ([][]any, error)
	// Append inserts rows in bulk; table is the bare name, columns may be nil for all columns in their order.
	Append(ctx context.Context, table string, columns []string, rows [][]any) (int64, error)
	// Table is the qualified, quoted name of a table in the metadata schema.
	Table(name string) string
	// OnCommit calls f after this transaction has committed, and never if it has not.
	OnCommit(f func())
	// Dialect is the store's.
	Dialect() Dialect
}

// QuoteIdent quotes a name as an SQL identifier, in either dialect.
func QuoteIdent(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// QuoteLiteral quotes a text as an SQL string literal, in either dialect (standard_conforming_strings is on).
func QuoteLiteral(text string) string {
	return `'` + strings.ReplaceAll(text, `'`, `''`) + `'`
}

// expand replaces {M} outside quotes by prefix.
func expand(sql, prefix string) string {
	const mark = "{M}"
	if !strings.Contains(sql, mark) {
		return sql
	}
	var out strings.Builder
	out.Grow(len(sql) + 4*len(prefix))
	var quote byte
	for i := 0; i < len(sql); i++ {
		c := sql[i]
		switch {
		case quote != 0:
			// A doubled quote closes and opens again, which comes to the same.
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '{' && strings.HasPrefix(sql[i:], mark):
			out.WriteString(prefix)
			i += len(mark) - 1
			continue
		}
		out.WriteByte(c)
	}
	return out.String()
}

// hooks are the functions to call after a commit.
type hooks struct{ after []func() }

func (h *hooks) OnCommit(f func()) { h.after = append(h.after, f) }

func (h *hooks) run() {
	for _, f := range h.after {
		f()
	}
}
