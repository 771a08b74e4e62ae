package lake

import (
	"errors"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
)

// evaluation names an error of DuckDB's that the evaluation of a view's query met: the job that failed with it is read by people who see
// neither the query's text nor DuckDB.
func evaluation(err error) error {
	var d *duck.Error
	if err == nil || fault.CodeOf(err) != nil || !errors.As(err, &d) {
		return err
	}
	switch d.Type {
	case "Interrupt", "FATAL", "INTERNAL", "Internal":
		return err
	case "Out of Memory":
		return fault.MemoryExhausted.Newf("the view's query: %s", d.Message)
	}
	return fault.SQLError.Newf("the view's query: %s", d.Message)
}
