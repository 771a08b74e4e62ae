package lake

import (
	"errors"
	"strings"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
)

// evaluation names an error of DuckDB's that the evaluation of a view's query met: the job that failed with it is read by people who see
// neither the query's text nor DuckDB.
func evaluation(err error) error {
	d := duckError(err)
	if d == nil {
		return err
	}
	switch d.Type {
	case "Interrupt", "FATAL", "INTERNAL", "Internal":
		return err
	}
	if known := outside(d, "the view's query"); known != nil {
		return known
	}
	return fault.SQLError.Newf("the view's query: %s", d.Message)
}

// reading names an error of DuckDB's that came before the query.
func reading(err error) error {
	if d := duckError(err); d != nil {
		if known := outside(d, "reading the lake"); known != nil {
			return known
		}
	}
	return err
}

func duckError(err error) *duck.Error {
	var d *duck.Error
	if err == nil || fault.CodeOf(err) != nil || !errors.As(err, &d) {
		return nil
	}
	return d
}

// outside is what the machine could not do, nil for what is the statement's own fault.
func outside(d *duck.Error, doing string) error {
	switch d.Type {
	case "Out of Memory":
		message, _, _ := strings.Cut(d.Message, "\n\nPossible solutions:") // they are not the reader's
		return fault.MemoryExhausted.Newf("%s: %s", doing, message)
	case "IO":
		if ducklake.LostConnection(d) {
			return fault.CatalogGone.Newf("%s: %s", doing, d.Message)
		}
		return fault.LakeUnreadable.Newf("%s: %s", doing, d.Message)
	}
	return nil
}
