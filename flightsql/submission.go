package flightsql

import (
	"context"

	"github.com/vegadb/vega-flight/ivm"
	"github.com/vegadb/vega-flight/ivm/ddl"
)

// What retained handles need of an execution besides running it.

// viaEngine says that the text is one statement that the engine answers: it is submitted, not run.
func (x *execution) viaEngine() bool {
	switch stmt := x.Statement().(type) {
	case nil, *ddl.SetVega, *ddl.ResetVega, *ddl.ShowSettings:
		return false
	case *ddl.CancelJob:
		return !plausibleHandle(stmt.ID)
	}
	return true
}

// submit gives the text's one view statement to the engine, which returns as
// soon as the job behind it, if there is one, is durable.
func (x *execution) submit(ctx context.Context) (ivm.Result, error) {
	if err := x.admitView(x.Statement()); err != nil {
		return ivm.Result{}, err
	}
	return x.svc.engine.Submit(ctx, x.sess.caller(), x.Statement())
}

// commits says that running the text ends with one commit of the lake, whose
// id tells afterwards whether it happened.
func (x *execution) commits() bool {
	a := x.last().analysis
	if len(x.steps) != 1 || a == nil || !counts(a) || a.TouchesTemp {
		return false
	}
	open, _ := x.sess.lake.InTransaction()
	return open == ""
}

// abandon ends an execution that will not run.
func (x *execution) abandon(err error) {
	x.rec.end(err, 0)
	x.Close()
}
