package flightsql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/ddl"
)

// vegaPrefix starts the names of the server's own session options.
const vegaPrefix = "vega."

// settingsSchema is what SHOW vega.settings gives.
var settingsSchema = arrow.NewSchema([]arrow.Field{
	{Name: "name", Type: arrow.BinaryTypes.String},
	{Name: "value", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// setting applies USE, SET and RESET, which change only the session.
func (x *execution) setting(ctx context.Context, a *gate.Analysis) (*stream, error) {
	e := a.Effect
	var err error
	switch e.Kind {
	case gate.UseSchema:
		err = x.sess.lake.Use(ctx, e.Catalog, e.Schema)
	case gate.SetOption:
		err = x.sess.set(ctx, e.Option, e.Value)
	case gate.ResetOption:
		err = x.sess.set(ctx, e.Option, nil)
	}
	if err != nil {
		return nil, err
	}
	return x.status(statusSchema, a.Kind.String()), nil
}

func (x *execution) setVega(ctx context.Context, name string, value any) (*stream, error) {
	if err := x.sess.set(ctx, vegaPrefix+name, value); err != nil {
		return nil, err
	}
	verb := "SET"
	if value == nil {
		verb = "RESET"
	}
	return x.status(statusSchema, verb), nil
}

// set sets one option of the session; nil resets it.
func (sess *session) set(ctx context.Context, name string, value any) error {
	if strings.EqualFold(name, "vega.accept_stale") && value == true && !sess.principal.MayAcceptStale {
		return fault.PermissionDenied.Newf("user %s may not accept stale results", sess.principal.Name).
			WithHint("an administrator can set may_accept_stale for the user")
	}
	return sess.lake.SetOption(ctx, name, value)
}

// vegaValue is a parsed value as Go knows it.
func vegaValue(v ddl.Value) any {
	switch v.Kind {
	case ddl.Bool:
		return v.Bool
	case ddl.Int, ddl.Bytes:
		return v.Int
	case ddl.Duration:
		return v.Duration.String()
	}
	return v.Text
}

// showSettings lists the server's session options, or one of them.
func (x *execution) showSettings(stmt *ddl.ShowSettings) (*stream, error) {
	b := array.NewRecordBuilder(x.svc.Alloc, settingsSchema)
	defer b.Release()
	options := x.sess.lake.Options()
	found := false
	for _, name := range slices.Sorted(maps.Keys(options)) {
		short, ours := strings.CutPrefix(name, vegaPrefix)
		if !ours || stmt.Setting != "" && !strings.EqualFold(stmt.Setting, short) {
			continue
		}
		found = true
		b.Field(0).(*array.StringBuilder).Append(name)
		if v := options[name]; v == nil {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(fmt.Sprint(v))
		}
	}
	if !found && stmt.Setting != "" {
		return nil, fault.UnknownOption.Newf("there is no setting vega.%s", stmt.Setting).WithHint("SHOW vega.settings lists them")
	}
	return newStream(newBatches(settingsSchema, b.NewRecordBatch()), unknownRows), nil
}
