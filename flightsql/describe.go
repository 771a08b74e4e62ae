package flightsql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ivm/ddl"
)

// describe finds the schema of the last statement's result without running it.
func (x *execution) describe(ctx context.Context) error {
	last := x.last()
	if stmt, ok := last.Stmt.(*ddl.Subscribe); ok {
		return x.describeSubscription(ctx, stmt)
	}
	if last.Stmt != nil {
		x.schema = x.viewSchema(last.Stmt)
		return nil
	}
	a := last.analysis
	switch {
	case a.Returns():
		// Asking DuckDB binds the statement in the lake once more, for types that the gate has found already, except those of the past.
		if x.schema = plainSchema(a.Columns, x.sess.lake.Settings().TimeZone); x.schema != nil && len(a.Columns) > 0 && len(a.AtClauses) == 0 {
			return nil
		}
		d, err := x.sess.lake.Describe(ctx, a)
		if err != nil {
			return shifted(err, last.Offset)
		}
		x.schema = d.Schema
	case counts(a):
		x.schema = countSchema
	default:
		x.schema = statusSchema
	}
	return nil
}

func (x *execution) viewSchema(stmt ddl.Statement) *arrow.Schema {
	switch stmt.(type) {
	case *ddl.SetVega, *ddl.ResetVega:
		return statusSchema
	case *ddl.ShowSettings:
		return settingsSchema
	}
	return x.svc.engine.ResultSchema(stmt)
}
