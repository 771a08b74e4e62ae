package ivm

import (
	"errors"

	"github.com/vegadb/vega-flight/fault"
)

// place gives an error that has no position the one of the name it is about.
func place(err error, offset int) error {
	var f *fault.Error
	if errors.As(err, &f) && f == err && f.Position == fault.NoPosition { //nolint:errorlint // the outermost error is what is shown
		c := *f
		return c.At(offset)
	}
	return err
}

// shift moves an error's position from a query's text into the statement's.
func shift(err error, offset int) error {
	var f *fault.Error
	if errors.As(err, &f) && f == err && f.Position != fault.NoPosition { //nolint:errorlint // the outermost error is what is shown
		c := *f
		return c.At(f.Position + offset)
	}
	return err
}
