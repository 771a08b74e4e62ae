package duck

import (
	"context"
	"errors"
	"strings"
)

// InTransaction says that a transaction may be open: one was begun, and no end of one has succeeded since. COMMIT and ROLLBACK
// can fail before they begin, for want of memory, and leave the transaction where it is.
func (c *Conn) InTransaction() bool { return c.begun.Load() }

// Settle rolls back what transaction an earlier statement has left. After an error there may still be one.
func (c *Conn) Settle(ctx context.Context) error {
	if !c.InTransaction() {
		return nil
	}
	if _, err := c.Exec(context.WithoutCancel(ctx), "ROLLBACK"); c.InTransaction() {
		return err
	}
	return nil
}

// transacted notes that a statement about transactions has run, with its error.
func (c *Conn) transacted(sql string, err error) {
	word := strings.ToUpper(strings.TrimRight(strings.TrimSpace(sql), "; "))
	switch word {
	case "COMMIT", "ROLLBACK":
		var e *Error
		none := errors.As(err, &e) && e.Type == "TransactionContext" && strings.Contains(e.Message, "no transaction is active")
		c.begun.Store(err != nil && !none)
	default: // it has begun, or nobody knows
		c.begun.Store(true)
	}
}
