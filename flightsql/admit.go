package flightsql

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ivm"
)

// admit asks the engine whether the statement may touch the views it names. It is asked at every execution.
func (x *execution) admit(ctx context.Context, a *gate.Analysis) error {
	if a.Kind == gate.Explain && !a.Execute {
		return nil
	}
	return x.svc.engine.Admit(ctx, x.sess.caller(), ivm.Access{
		Reads:   tablesAsObjects(a.Reads),
		Writes:  tablesAsObjects(a.Writes),
		Creates: objects(a.Creates),
		Drops:   objects(a.Drops),
		Alters:  objects(a.Alters),
	})
}

func tablesAsObjects(refs []gate.TableRef) []ivm.Object {
	out := make([]ivm.Object, len(refs))
	for i, r := range refs {
		out[i] = ivm.Object{Catalog: r.Catalog, Schema: r.Schema, Name: r.Name, UUID: r.UUID}
	}
	return out
}

func objects(refs []gate.ObjectRef) []ivm.Object {
	var out []ivm.Object
	for _, r := range refs {
		if r.Type == gate.ScalarMacro || r.Type == gate.TableMacroObject {
			continue // macros have names of their own
		}
		out = append(out, ivm.Object{
			Catalog: r.Catalog, Schema: r.Schema, Name: r.Name, UUID: r.UUID,
			IsSchema: r.Type == gate.SchemaObject, Replace: r.Replace, Cascade: r.Cascade,
			// IF EXISTS of a DROP matters to nobody here; the other meaning does.
			IfNotExists: r.IfExists,
		})
	}
	return out
}

// admitIngest asks the engine about the table that rows are loaded into.
func (s *Service) admitIngest(ctx context.Context, sess *session, spec ducklake.IngestSpec) error {
	if spec.Temporary {
		return nil
	}
	table := ivm.Object{Catalog: spec.Catalog, Schema: spec.Schema, Name: spec.Table}
	if table.Schema == "" {
		table.Schema = sess.lake.Settings().Schema
	}
	return s.engine.Admit(ctx, sess.caller(), ivm.Access{Writes: []ivm.Object{table}})
}

// filling are the rows that the caller sees in the tables of the reserved
// catalog that the statement reads; nil when it reads none. The caller releases them.
func (x *execution) filling(ctx context.Context, a *gate.Analysis) (map[string]arrow.RecordBatch, error) {
	var rows map[string]arrow.RecordBatch
	for _, t := range a.Reads {
		if !strings.EqualFold(t.Catalog, ivm.VegaCatalog) || rows[t.Name] != nil {
			continue
		}
		batch, err := x.svc.engine.VegaRows(ctx, x.sess.caller(), t.Name)
		if err != nil {
			release(rows)
			return nil, err
		}
		if rows == nil {
			rows = map[string]arrow.RecordBatch{}
		}
		rows[t.Name] = batch
	}
	return rows, nil
}

func release(rows map[string]arrow.RecordBatch) {
	for _, batch := range rows {
		batch.Release()
	}
}
