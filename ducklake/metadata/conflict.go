package metadata

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/vegadb/vega-flight/fault"
)

const (
	// attempts bounds how often one transaction is run. Under the commit lock conflicts come from other processes only.
	attempts = 50
	// duplicateAttempts is the bound when the conflict is a duplicate key of a vega_* table: running the
	// function again lets it see the row that won; if it inserts all the same, the duplicate is its own.
	duplicateAttempts = 3
)

// retry runs one until it succeeds, fails for good, or conflicts too often.
func retry(ctx context.Context, one func() error) error {
	duplicates := 0
	for n := 1; ; n++ {
		err := one()
		if err == nil {
			return nil
		}
		if IsDuplicate(err) {
			if duplicates++; duplicates >= duplicateAttempts {
				return err
			}
		} else if !IsConflict(err) {
			return err
		}
		if n >= attempts {
			return fault.CommitConflict.Wrap(err, "the catalog transaction conflicted %d times", n)
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
}

// pause waits a random while that grows with the number of attempts, to 50 ms.
func pause(ctx context.Context, attempt int) error {
	limit := min(time.Duration(attempt)*2*time.Millisecond, 50*time.Millisecond)
	t := time.NewTimer(time.Duration(rand.Int64N(int64(limit)) + 1))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// IsConflict reports whether a catalog transaction lost against another one and may be run again as it is.
func IsConflict(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "40001", "40P01": // serialization failure, deadlock
			return true
		case "23505": // unique violation
			return strings.HasPrefix(pg.TableName, "ducklake_")
		}
		return false
	}
	// A fault has been decided already.
	if err == nil || fault.CodeOf(err) != nil {
		return false
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "Conflict on tuple"), // two updates or deletes of a row
		strings.Contains(text, "Conflict on update"),
		strings.Contains(text, "write-write conflict"),
		strings.Contains(text, "Transaction conflict"):
		return true
	}
	return strings.Contains(text, "Duplicate key") && strings.Contains(text, "snapshot_id")
}

// IsDuplicate reports whether a catalog statement failed because a key of a vega_* table exists already.
func IsDuplicate(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == "23505" && !strings.HasPrefix(pg.TableName, "ducklake_")
	}
	if err == nil || fault.CodeOf(err) != nil {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "Duplicate key") && !strings.Contains(text, "snapshot_id")
}
