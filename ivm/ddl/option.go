package ddl

import "time"

// Kind is the type of an option's value.
type Kind int

// The types an option may have.
const (
	Bool     Kind = iota + 1 // true, false
	Int                      // a whole number
	Text                     // a string
	Duration                 // INTERVAL '…', or a string such as '5s'
	Bytes                    // a string such as '4 MiB', or a whole number of bytes
)

// Value is an option's value in its final type; the field that Kind names
// holds it, the others are zero, so values compare with ==.
type Value struct {
	Kind     Kind
	Bool     bool
	Int      int64 // Int, and Bytes
	Text     string
	Duration time.Duration
}

// Option is one name = value.
type Option struct {
	Name   string // lower case, known to the statement
	Value  Value
	Offset int // of the name
}

// Options are the options of a statement, in the order written; a name occurs once.
type Options []Option

// Get returns the value of an option that was written.
func (o Options) Get(name string) (Value, bool) {
	for _, opt := range o {
		if opt.Name == name {
			return opt.Value, true
		}
	}
	return Value{}, false
}

// Bool returns a boolean option, or def when it was not written.
func (o Options) Bool(name string, def bool) bool {
	if v, ok := o.Get(name); ok {
		return v.Bool
	}
	return def
}

// OptionSpec describes one option: what its value may be and where it is allowed.
type OptionSpec struct {
	Name    string
	Kind    Kind
	Min     int64    // Int and Bytes: smallest value; Duration: in nanoseconds
	Max     int64    // largest value
	OneOf   []string // Text: the values allowed; empty: see Check
	Default string   // as written in SQL; "" when the option is unset by default
	Stored  bool     // part of the view's definition; SET and RESET take only these
	Doc     string   // one sentence for the reference
	check   func(text string) (reason string)
}
