package ddl

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

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

	text  string                         // Text without OneOf: what is allowed, in words
	check func(text string) (why string) // Text: why a value is refused, "" when it is not
}

// Allowed says in words what the option takes, for messages and the reference.
func (s *OptionSpec) Allowed() string {
	switch s.Kind {
	case Bool:
		return "true or false"
	case Int:
		if s.Max == math.MaxInt64 {
			return fmt.Sprintf("a whole number from %d", s.Min)
		}
		return fmt.Sprintf("a whole number from %d to %d", s.Min, s.Max)
	case Duration:
		return fmt.Sprintf("an INTERVAL or a string such as '5s' or '15 minutes', from %s to %s",
			FormatDuration(time.Duration(s.Min)), FormatDuration(time.Duration(s.Max)))
	case Bytes:
		return fmt.Sprintf("a size such as '1 MiB', from %s to %s", FormatBytes(s.Min), FormatBytes(s.Max))
	}
	if len(s.OneOf) > 0 {
		quoted := make([]string, len(s.OneOf))
		for i, v := range s.OneOf {
			quoted[i] = QuoteString(v)
		}
		return strings.Join(quoted, " or ")
	}
	return s.text
}

// Parse reads a value from the text of a literal of the option's kind, as
// stored definitions and session options give it.
func (s *OptionSpec) Parse(text string) (Value, error) {
	v, reason := s.fromText(text)
	if reason != "" {
		return Value{}, s.refuse(QuoteString(text), reason)
	}
	return v, nil
}

// refuse makes the error for a value that the option does not take.
func (s *OptionSpec) refuse(got, reason string) *fault.Error {
	return fault.InvalidOption.Newf("option %s: %s %s; allowed is %s", s.Name, got, reason, s.Allowed())
}

// find returns the option of that name, in any case of letters, or nil.
func find(specs []OptionSpec, name string) *OptionSpec {
	for i := range specs {
		if strings.EqualFold(specs[i].Name, name) {
			return &specs[i]
		}
	}
	return nil
}

// stored are the options that are part of a view's definition.
func stored(specs []OptionSpec) []OptionSpec {
	var out []OptionSpec
	for _, s := range specs {
		if s.Stored {
			out = append(out, s)
		}
	}
	return out
}

func optionList(specs []OptionSpec) string {
	names := make([]string, len(specs))
	for i := range specs {
		names[i] = specs[i].Name
	}
	return strings.Join(names, ", ")
}

// optionName takes the name of one of the options.
func (c *cursor) optionName(specs []OptionSpec, where string) *OptionSpec {
	at := c.offset()
	name := c.ident("the name of an option", true)
	if c.err != nil {
		return nil
	}
	spec := find(specs, name)
	if spec == nil {
		c.fail(fault.UnknownOption.Newf("%s has no option %s", where, QuoteIdent(name)).At(at).
			WithHint("allowed are %s", optionList(specs)))
	}
	return spec
}

// optionNames takes (name, …) of options.
func (c *cursor) optionNames(specs []OptionSpec, where string) []string {
	c.expectSymbol("(")
	var out []string
	for c.err == nil {
		at := c.offset()
		spec := c.optionName(specs, where)
		if spec == nil {
			break
		}
		if slices.Contains(out, spec.Name) {
			c.fail(fault.InvalidOption.Newf("option %s is there twice", spec.Name).At(at))
		}
		out = append(out, spec.Name)
		if c.acceptSymbol(")") {
			break
		}
		if !c.acceptSymbol(",") {
			c.syntax("`,` or `)`")
		}
	}
	return out
}

// options takes (name = value, …).
func (c *cursor) options(specs []OptionSpec, where string) Options {
	c.expectSymbol("(")
	var out Options
	for c.err == nil {
		at := c.offset()
		spec := c.optionName(specs, where)
		if spec == nil {
			break
		}
		if _, dup := out.Get(spec.Name); dup {
			c.fail(fault.InvalidOption.Newf("option %s is there twice", spec.Name).At(at))
		}
		c.expectSymbol("=")
		out = append(out, Option{Name: spec.Name, Value: c.value(spec), Offset: at})
		if c.acceptSymbol(")") {
			break
		}
		if !c.acceptSymbol(",") {
			c.syntax("`,` or `)`")
		}
	}
	return out
}
