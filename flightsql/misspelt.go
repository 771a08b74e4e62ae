package flightsql

import (
	"errors"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/ddl"
)

// misspelt adds to the refusal of a text that is no statement which one it looks like.
func misspelt(err error, text string) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		if f = classifyDuckDB(err); f == nil {
			return err
		}
	}
	switch f.Code {
	case fault.SyntaxError, fault.StatementForbidden, fault.ObjectNotFound: // SHOW and DESCRIBE take any word for a table's name
	default:
		return err
	}
	meant := ddl.Nearest(text)
	if meant == "" {
		return err
	}
	told := *f
	return told.WithHint("did you mean %s?", meant)
}
