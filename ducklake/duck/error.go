package duck

import (
	"context"
	"errors"
	"strings"
)

// ErrBusy is returned when a statement is started on a connection that still
// runs another one or whose [Reader] is open. It is a fault of the caller:
// DuckDB itself would end the first stream silently.
var ErrBusy = errors.New("duck: the connection is busy with another statement or an open reader")

// ErrClosed is returned for a connection, statement or database that is closed.
var ErrClosed = errors.New("duck: closed")

// ErrUnresolved is returned for the schema of a statement whose result depends
// on the type of a parameter.
var ErrUnresolved = errors.New("duck: the result's types depend on parameters")

// Error is what DuckDB said, taken apart.
type Error struct {
	// Type is DuckDB's error class without the word "Error": "Binder",
	// "Catalog", "Parser", "Interrupt", "Constraint", "IO", "Out of Memory",
	// "Permission", "TransactionContext", "FATAL", "INTERNAL", ...
	Type string
	// Message is the text after the class, with DuckDB's hints and excerpt.
	Message string
	// Position is the byte offset in the statement that DuckDB points at, -1 when it names none.
	Position int

	full  string
	cause error // the context's error when the statement was interrupted for it
}

// Error is DuckDB's own text.
func (e *Error) Error() string { return e.full }

// Unwrap gives the context's error when the statement ended because its context did.
func (e *Error) Unwrap() error { return e.cause }

// Elsewhere makes the error one of a statement that who gets it has not written: it says nothing of a place in it.
func (e *Error) Elsewhere() {
	e.Message, _, _ = strings.Cut(e.Message, "\n\nLINE ")
	e.Position = -1
}

// names DuckDB spells in capitals only.
var typeSpelling = map[string]string{"INTERRUPT": "Interrupt"}

// newError takes DuckDB's message apart. The C API gives a class for results
// but not for failed preparations, so the class is read from the text, which
// always starts with it.
func newError(full, sql string) *Error {
	e := &Error{full: full, Message: full, Position: -1}
	if head, rest, ok := strings.Cut(full, " Error: "); ok && len(head) < 40 && !strings.ContainsAny(head, "\n:") {
		e.Type, e.Message = head, rest
		if s, ok := typeSpelling[head]; ok {
			e.Type = s
		}
	}
	if sql != "" {
		e.Position = position(full, sql)
	}
	return e
}

// interrupted says that DuckDB stopped the statement because it was told to.
func (e *Error) interrupted() bool {
	return e.Type == "Interrupt" || strings.Contains(e.full, "INTERRUPT Error")
}

// fatal says that the whole instance refuses work from now on. Only the class
// counts: the text may be anybody's, as in SELECT error('…').
func (e *Error) fatal() bool { return e.Type == "FATAL" }

// withContext makes an interruption that ctx caused recognisable as ctx's error.
func withContext(ctx context.Context, err error) error {
	var e *Error
	if err == nil || ctx.Err() == nil || !errors.As(err, &e) || !e.interrupted() {
		return err
	}
	e.cause = ctx.Err()
	return err
}

// position finds the byte offset that the excerpt under an error ("LINE 2: ...
// sel ^") points at. DuckDB cuts long lines and marks the cuts with "...".
func position(message, sql string) int {
	at := strings.LastIndex(message, "\nLINE ")
	if at < 0 {
		return -1
	}
	excerpt, caret, ok := strings.Cut(message[at+len("\nLINE "):], "\n")
	if !ok {
		return -1
	}
	number, shown, ok := strings.Cut(excerpt, ": ")
	if !ok {
		return -1
	}
	caret, _, _ = strings.Cut(caret, "\n")
	column := strings.IndexByte(caret, '^') - len("LINE ") - len(number) - len(": ")
	if column < 0 {
		return -1
	}
	start := 0
	line := 0
	for _, digit := range number {
		if digit < '0' || digit > '9' {
			return -1
		}
		line = line*10 + int(digit-'0')
	}
	for ; line > 1; line-- {
		next := strings.IndexByte(sql[start:], '\n')
		if next < 0 {
			return -1
		}
		start += next + 1
	}
	text, _, _ := strings.Cut(sql[start:], "\n")
	if strings.HasPrefix(shown, "...") {
		shown, column = shown[3:], column-3
	}
	offset := strings.Index(text, strings.TrimSuffix(shown, "..."))
	if offset < 0 {
		return -1
	}
	for i, r := range text[offset:] {
		if column <= 0 {
			return start + offset + i
		}
		column -= columns(r)
	}
	if column > 0 {
		return -1
	}
	return start + len(text)
}

// columns is how many columns of a terminal DuckDB counts for a rune.
func columns(r rune) int {
	switch {
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}
