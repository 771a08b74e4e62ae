package fault

import (
	"errors"
	"fmt"
	"sort"
	"sync"
)

// Kind says what sort of thing went wrong; the protocol edge maps it to a status.
type Kind int

// The kinds, in the order of DESIGN's list of statuses.
const (
	Internal        Kind = iota // our own bug
	Invalid                     // SQL, options, unsupported plans
	NotFound                    // a name or handle that does not exist for this caller
	Exists                      // the name is taken
	Denied                      // the caller may not do this
	Unauthenticated             // the caller is not known
	Precondition                // the object's state does not allow it now
	Conflict                    // somebody else won; trying again may succeed
	Canceled                    // the caller or an operator stopped it
	Deadline                    // a time limit ran out
	Exhausted                   // a quota, memory or disk limit
	Unavailable                 // draining, starting, or the catalog is unreachable
	Unimplemented               // named in the documentation, not built yet
)

// Code is a stable name. Codes are defined in codes.go only.
type Code struct {
	name string
	kind Kind
	doc  string
}

var (
	mu    sync.Mutex
	codes = map[string]*Code{}
)

func define(name string, kind Kind, doc string) *Code {
	mu.Lock()
	defer mu.Unlock()
	if _, dup := codes[name]; dup {
		panic("fault: code defined twice: " + name)
	}
	c := &Code{name: name, kind: kind, doc: doc}
	codes[name] = c
	return c
}

// Codes returns every defined code, sorted by name.
func Codes() []*Code {
	mu.Lock()
	defer mu.Unlock()
	out := make([]*Code, 0, len(codes))
	for _, c := range codes {
		out = append(out, c)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out
}

// Lookup returns the code with that name, or nil.
func Lookup(name string) *Code {
	mu.Lock()
	defer mu.Unlock()
	return codes[name]
}

// Name is the stable upper-case name.
func (c *Code) Name() string { return c.name }

// Kind decides the status at the protocol edge.
func (c *Code) Kind() Kind { return c.kind }

// Doc is one sentence for the list of error codes in the documentation.
func (c *Code) Doc() string { return c.doc }

// Newf makes an error of this code. The message says what happened and where, without the code's name.
func (c *Code) Newf(format string, args ...any) *Error {
	return &Error{Code: c, Message: fmt.Sprintf(format, args...), Position: NoPosition}
}

// Wrap makes an error of this code around cause; cause's text is appended to the message.
func (c *Code) Wrap(cause error, format string, args ...any) *Error {
	e := c.Newf(format, args...)
	e.Cause = cause
	return e
}

// NoPosition is the Position of an error that names no place in a SQL text.
const NoPosition = -1

// Error is an error with a stable name.
type Error struct {
	Code     *Code
	Message  string // what happened and where
	Hint     string // what to do next; may be empty
	Position int    // byte offset in the SQL text the user sent, or NoPosition
	Cause    error
}

// WithHint sets what to do next.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// At sets the byte offset in the user's SQL text.
func (e *Error) At(pos int) *Error {
	e.Position = pos
	return e
}

// Error is "NAME: message: cause; hint".
func (e *Error) Error() string {
	s := e.Code.name + ": " + e.Message
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is an error of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Sentinel is an error that errors.Is matches with every error of this code.
func (c *Code) Sentinel() error { return &Error{Code: c, Position: NoPosition} }

// CodeOf returns the code of the outermost Error in err's chain, or nil.
func CodeOf(err error) *Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return nil
}
