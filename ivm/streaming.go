package ivm

import (
	"context"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/ddl"
)

// streaming tells statements about streaming views, and which view has to be there for them.
func streaming(stmt ddl.Statement) (name *ddl.Name, yes bool) {
	switch s := stmt.(type) {
	case *ddl.CreateView:
		return nil, s.Streaming
	case *ddl.AlterSet:
		return &s.Name, s.Streaming
	case *ddl.AlterReset:
		return &s.Name, s.Streaming
	case *ddl.AlterRename:
		return &s.Name, s.Streaming
	case *ddl.AlterOwner:
		return &s.Name, s.Streaming
	case *ddl.DropView:
		return &s.Name, s.Streaming
	case *ddl.ShowViews:
		return nil, s.Streaming
	case *ddl.ShowView:
		return &s.Name, s.Streaming
	case *ddl.ShowCreate:
		return &s.Name, s.Streaming
	case *ddl.AlterRun:
		return &s.Name, true
	case *ddl.Rebuild:
		return &s.Name, true
	case *ddl.ExplainAnalyze:
		return &s.Name, true
	case *ddl.Subscribe:
		return nil, true
	}
	return nil, false
}

// refuseStreaming says why a statement about streaming views cannot be: its view is a traditional one, or there are none yet.
func (e *Engine) refuseStreaming(ctx context.Context, c Caller, stmt ddl.Statement, name *ddl.Name) error {
	if name != nil {
		if v, _, err := e.find(ctx, c, *name); err == nil {
			return fault.NotAView.Newf("%s is a traditional materialized view, not a streaming one", v.Name()).WithHint("say it without STREAMING")
		}
	}
	return fault.NotYetSupported.Newf("%s is not built yet", stmt.Verb()).
		WithHint("a materialized view with refresh_interval = '0s' is refreshed after every commit to its sources")
}
