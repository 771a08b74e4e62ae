package flightsql

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm"
	"github.com/vegadb/vega-flight/ivm/ddl"
)

// Results of statements that have no rows of their own.
var (
	countSchema  = arrow.NewSchema([]arrow.Field{{Name: "Count", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	statusSchema = arrow.NewSchema([]arrow.Field{{Name: "status", Type: arrow.BinaryTypes.String}}, nil)
)

// step runs one statement on its way: ours to the engine, those of the session
// to the session, all others to the lake after the engine admitted them.
func (x *execution) step(ctx context.Context, st *step) (*stream, error) {
	if st.Stmt != nil {
		return x.view(ctx, st.Stmt)
	}
	if err := x.analyse(ctx, st); err != nil {
		return nil, err
	}
	a := st.analysis
	switch {
	case a.Kind.Transaction():
		return x.transaction(ctx, a.Kind)
	case a.Effect != nil && (a.Effect.Kind == gate.UseSchema || a.Effect.Kind == gate.SetOption || a.Effect.Kind == gate.ResetOption):
		return x.setting(ctx, a)
	}
	if err := x.inTransaction(); err != nil {
		return nil, err
	}
	if err := x.admit(ctx, a); err != nil {
		return nil, err
	}
	if err := readsVega(a); err != nil {
		return nil, err
	}
	switch {
	case a.Returns() && a.ReadOnly:
		return x.query(ctx, a)
	case a.Returns():
		return x.returning(ctx, a)
	}
	return x.change(ctx, a)
}

// view runs one of our statements.
func (x *execution) view(ctx context.Context, stmt ddl.Statement) (*stream, error) {
	switch stmt := stmt.(type) {
	case *ddl.SetVega:
		return x.setVega(ctx, stmt.Setting, vegaValue(stmt.Value))
	case *ddl.ResetVega:
		return x.setVega(ctx, stmt.Setting, nil)
	case *ddl.ShowSettings:
		return x.showSettings(stmt)
	case *ddl.CancelJob:
		if plausibleHandle(stmt.ID) {
			return x.cancelHandle(ctx, stmt)
		}
	}
	if err := x.admitView(stmt); err != nil {
		return nil, err
	}
	execute := x.svc.engine.Execute
	if _, waits := stmt.(*ddl.ShowJob); waits {
		execute = x.onlooker
	}
	res, err := execute(ctx, x.sess.caller(), stmt)
	if err != nil {
		return nil, err
	}
	return newStream(newBatches(res.Schema, res.Records), unknownRows), nil
}

// onlooker runs a statement that may wait for what others do. It would hold a drain up without being work itself, so a drain ends it.
func (x *execution) onlooker(ctx context.Context, c ivm.Caller, stmt ddl.Statement) (ivm.Result, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	leaving := make(chan struct{})
	defer func() { stop(); <-leaving }()
	go x.leave(watching, stop, leaving)
	res, err := x.svc.engine.Execute(watching, c, stmt)
	if err != nil && ctx.Err() == nil && watching.Err() != nil {
		return res, fault.Draining.Newf("the server is shutting down; the job goes on").WithHint("connect again in a moment, and ask again")
	}
	return res, err
}

// leave stops an onlooker when the server drains.
func (x *execution) leave(ctx context.Context, stop context.CancelFunc, left chan<- struct{}) {
	defer close(left)
	select {
	case <-x.svc.handles.letting:
		stop()
	case <-ctx.Done():
	}
}

// admitView checks that one of our statements may run beside the session's transaction.
func (x *execution) admitView(stmt ddl.Statement) error {
	if err := x.inTransaction(); err != nil {
		return err
	}
	if id, wrote := x.sess.lake.InTransaction(); id != "" && wrote && changes(stmt) {
		return fault.DDLInTransaction.Newf("%s runs by itself, and the open transaction has already written", stmt.Verb()).
			WithHint("commit or roll back first")
	}
	return nil
}

// changes says that one of our statements does more than show.
func changes(stmt ddl.Statement) bool {
	switch stmt.(type) {
	case *ddl.ShowViews, *ddl.ShowView, *ddl.ShowCreate, *ddl.ShowJobs, *ddl.ShowJob, *ddl.CancelJob,
		*ddl.ExplainStreaming, *ddl.ExplainAnalyze, *ddl.Subscribe, *ddl.SetVega, *ddl.ResetVega, *ddl.ShowSettings:
		return false
	}
	return true
}

// inTransaction checks that the transaction the client named is the session's open one.
func (x *execution) inTransaction() error {
	if x.tx == "" {
		return nil
	}
	if id, _ := x.sess.lake.InTransaction(); id != x.tx {
		return x.sess.noTransaction(x.tx)
	}
	return nil
}

// query starts a reading statement, once for each row of parameters.
func (x *execution) query(ctx context.Context, a *gate.Analysis) (*stream, error) {
	rows := x.params
	if len(rows) == 0 {
		rows = [][]any{nil}
	}
	first, err := x.start(ctx, a, rows[0])
	if err != nil {
		return nil, err
	}
	if len(rows) == 1 {
		return newStream(first, unknownRows), nil
	}
	rest := rows[1:]
	next := func() (source, error) {
		if len(rest) == 0 {
			return nil, nil
		}
		row := rest[0]
		rest = rest[1:]
		src, err := x.start(ctx, a, row)
		if err != nil {
			return nil, err
		}
		if !src.Schema().Equal(first.Schema()) {
			src.Close()
			return nil, fault.InvalidParameter.Newf("the rows of parameters give results of different types").
				WithHint("cast the parameters in the statement")
		}
		return src, nil
	}
	return newStream(&chain{first: first, schema: first.Schema(), next: next}, unknownRows), nil
}

// start starts a statement that gives rows.
func (x *execution) start(ctx context.Context, a *gate.Analysis, args []any) (source, error) {
	rows, err := x.filling(ctx, a)
	if err != nil {
		return nil, err
	}
	if rows != nil {
		defer release(rows)
		return x.plain(a)(x.sess.lake.QueryFilled(ctx, a, rows, args...))
	}
	return x.plain(a)(x.sess.lake.Query(ctx, a, args...))
}

// plain takes the host's paths out of a plan, but not for administrators.
func (x *execution) plain(a *gate.Analysis) func(*ducklake.Stream, error) (source, error) {
	return func(st *ducklake.Stream, err error) (source, error) {
		switch {
		case err != nil:
			return nil, err
		case a.Kind == gate.Explain && !x.sess.principal.Admin:
			return &withoutPaths{source: st, hidden: x.svc.hidden}, nil
		}
		return st, nil
	}
}

// returning runs a changing statement that gives rows: they are read at once,
// so that the change is complete before anybody fetches them.
func (x *execution) returning(ctx context.Context, a *gate.Analysis) (*stream, error) {
	st, err := x.query(ctx, a)
	if err != nil {
		return nil, err
	}
	kept := newBatches(st.Schema())
	var size int64
	for st.Next() {
		batch := st.RecordBatch()
		if size += batchSize(batch); size > x.svc.limits.ReturnedBytes {
			kept.Close()
			st.Close()
			return nil, fault.QuotaExceeded.Newf("the statement returns more than %d MiB", x.svc.limits.ReturnedBytes>>20).
				WithHint("leave RETURNING out and select the rows")
		}
		batch.Retain()
		kept.rest = append(kept.rest, batch)
	}
	if err := drain(st); err != nil {
		kept.Close()
		return nil, err
	}
	return newStream(kept, st.rows), nil
}

// change runs a statement without rows of its own: data changes give a count, all others a status.
func (x *execution) change(ctx context.Context, a *gate.Analysis) (*stream, error) {
	affected, err := x.exec(ctx, a)
	if err != nil {
		return nil, err
	}
	if !counts(a) {
		return x.status(statusSchema, tag(a)), nil
	}
	return x.count(affected), nil
}

// tag is what a status says: the verb and the kind of object.
func tag(a *gate.Analysis) string {
	objects := a.Drops
	if a.Kind == gate.Alter {
		objects = a.Alters
	}
	if (a.Kind == gate.Drop || a.Kind == gate.Alter) && len(objects) > 0 {
		if objects[0].Type == gate.TableMacroObject {
			return a.Kind.String() + " MACRO TABLE"
		}
		return a.Kind.String() + " " + strings.ToUpper(string(objects[0].Type))
	}
	return a.Kind.String()
}

// readsVega refuses changes that read the reserved catalog, whose tables have rows for queries only.
func readsVega(a *gate.Analysis) error {
	for _, t := range a.Reads {
		if !a.ReadOnly && equalNames(t.Catalog, vegaCatalog) {
			return fault.NotYetSupported.Newf("%s cannot read tables of the catalog %q", a.Kind, vegaCatalog).
				WithHint("select their rows, and write them with a second statement")
		}
	}
	return nil
}

// counts says that the statement's result is the number of rows it changed.
func counts(a *gate.Analysis) bool { return a.Kind.DML() || a.Kind == gate.CreateTableAs }

// drop runs a statement that drops something. Views that go with it are the engine's to forget.
func (x *execution) drop(ctx context.Context, a *gate.Analysis) (n int64, err error) {
	err = x.svc.engine.Drop(ctx, x.sess.caller(), objects(a.Drops), func(ctx context.Context) (err error) {
		n, err = x.sess.lake.Exec(ctx, a)
		return err
	})
	return n, err
}

// exec runs the statement for each row of parameters; more than one are one transaction.
func (x *execution) exec(ctx context.Context, a *gate.Analysis) (int64, error) {
	if len(a.Drops) > 0 {
		return x.drop(ctx, a) // it has no parameters
	}
	if len(x.params) == 0 {
		return x.sess.lake.Exec(ctx, a)
	}
	if len(x.params) == 1 {
		return x.sess.lake.Exec(ctx, a, x.params[0]...)
	}
	rows := x.params
	return x.sess.many(ctx, a, func(ctx context.Context, lake *ducklake.Session) (int64, error) {
		m := lake.Many(a)
		defer func() { _ = m.Close() }()
		for _, row := range rows {
			if err := m.Add(ctx, row); err != nil {
				return 0, err
			}
		}
		err := m.Flush(ctx)
		return m.Total(), err
	})
}
