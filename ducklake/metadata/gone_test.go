package metadata

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/vegadb/vega-flight/fault"
)

// A server that went away while it was asked is gone; what it answered is not.
func TestGone(t *testing.T) {
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed, &net.OpError{Op: "read", Err: errors.New("connection reset by peer")},
		&pgconn.PgError{Code: "57P01"}} {
		if got := gone(fmt.Errorf("asking: %w", err)); fault.CodeOf(got) != fault.CatalogGone {
			t.Errorf("%v: %v", err, got)
		}
	}
	for _, err := range []error{errors.New("anything"), &pgconn.PgError{Code: "40001"}} {
		if got := gone(err); got != err {
			t.Errorf("%v: %v", err, got)
		}
	}
}
