package flightsql

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm"
	"github.com/vegadb/vega-flight/ivm/ddl"
)

// execution is a text that was admitted to run in its session, once. Its
// statements run in order; the result is the last one's.
type execution struct {
	svc    *Service
	sess   *session
	tx     string  // the transaction the client named, "" for none
	params [][]any // rows of parameters, for texts of one statement
	steps  []step
	ran    int // steps that have run
	rec    *record
	schema *arrow.Schema    // of the last step, once known
	follow *ivm.Subscribing // what the last step subscribes to, once known
	closed bool
}

// step is one statement of the text.
type step struct {
	ddl.Item
	analysis *gate.Analysis // of DuckDB's own statements, once analysed
}

// plan reads a text. A text of one statement is analysed, and described as far
// as it can be, at once; later ones of several may need what earlier ones make.
func (s *Service) plan(ctx context.Context, sess *session, text string, txID []byte, params [][]any) (*execution, error) {
	rec := s.record(sess, "statement", text)
	x, err := s.read(sess, text, string(txID), params)
	if err == nil {
		x.rec = rec
		rec.kind = x.kind()
		if len(x.steps) == 1 {
			err = x.prepare(ctx)
		} else {
			err = x.wellFormed(ctx)
		}
		if err != nil {
			x.Close()
		}
	}
	if err != nil {
		rec.end(err, 0)
		return nil, err
	}
	return x, nil
}

func (s *Service) read(sess *session, text, tx string, params [][]any) (*execution, error) {
	items, err := ddl.Parse(text)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, fault.SyntaxError.Newf("the text holds no statement")
	}
	if len(items) > 1 && len(params) > 0 {
		return nil, fault.InvalidParameter.Newf("parameters were bound to a text of %d statements; they need a text of one", len(items))
	}
	if sess.hold() == nil {
		return nil, fault.SessionNotFound.Newf("the session has ended")
	}
	x := &execution{svc: s, sess: sess, tx: tx, params: params}
	for _, item := range items {
		x.steps = append(x.steps, step{Item: item})
	}
	return x, nil
}

// wellFormed refuses a text that has no meaning before anything of it runs. Whether its names do is seen when the statements before have run.
func (x *execution) wellFormed(ctx context.Context) error {
	for i := range x.steps {
		st := &x.steps[i]
		err := x.analyse(ctx, st)
		st.analysis = nil
		var d *duck.Error
		if fault.CodeOf(err) == fault.SyntaxError || errors.As(err, &d) && duckCode(d) == fault.SyntaxError {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// prepare analyses and describes the last statement.
func (x *execution) prepare(ctx context.Context) error {
	if err := x.analyse(ctx, x.last()); err != nil {
		return err
	}
	return x.describe(ctx)
}

// again analyses the last statement once more. Since it was described the lake's objects and the session's own may have changed, and with
// them what its names mean and what it reads.
func (x *execution) again(ctx context.Context) error {
	x.last().analysis = nil
	if err := x.analyse(ctx, x.last()); err != nil {
		return x.fail(ctx, err)
	}
	return nil
}

func (x *execution) last() *step { return &x.steps[len(x.steps)-1] }

// kind names the text for logs and figures: the last statement's head.
func (x *execution) kind() string {
	last := x.last()
	switch {
	case last.Stmt != nil:
		return last.Stmt.Verb()
	case last.analysis != nil:
		return last.analysis.Kind.String()
	}
	return "statement"
}

// analyse asks the gate about one of DuckDB's own statements.
func (x *execution) analyse(ctx context.Context, st *step) error {
	if st.Stmt != nil || st.analysis != nil {
		return nil
	}
	a, err := x.sess.lake.Analyze(ctx, st.Text)
	if err != nil {
		return misspelt(shifted(err, st.Offset), st.Text)
	}
	if n := len(a.Params); n > 0 && len(x.steps) > 1 {
		return fault.InvalidParameter.Newf("a statement of several in one text has parameters; it must stand alone")
	}
	st.analysis = a
	if x.rec != nil {
		x.rec.kind = x.kind()
	}
	return nil
}

// shifted moves an error's position from its statement to the whole text.
func shifted(err error, by int) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Position >= 0 {
		f.Position += by
	}
	var d *duck.Error
	if errors.As(err, &d) && d.Position >= 0 {
		d.Position += by
	}
	return err
}

// Schema is the result's schema. It is nil while statements have to run before it can be known.
func (x *execution) Schema() *arrow.Schema { return x.schema }

// IsQuery says that the last statement only reads, so that it may run when its rows are fetched.
func (x *execution) IsQuery() bool {
	a := x.last().analysis
	return a != nil && a.ReadOnly && a.Effect == nil && a.Returns() && !a.Kind.Transaction()
}

// Statement is the view statement that the text consists of, nil for any other text.
func (x *execution) Statement() ddl.Statement {
	if len(x.steps) != 1 {
		return nil
	}
	return x.steps[0].Stmt
}

// Prelude runs all statements but the last one, and describes that.
func (x *execution) Prelude(ctx context.Context) error {
	for x.ran < len(x.steps)-1 {
		st, err := x.step(ctx, &x.steps[x.ran])
		if err != nil {
			return x.fail(ctx, err)
		}
		x.ran++
		if err := drain(st); err != nil {
			return x.fail(ctx, err)
		}
	}
	if x.schema == nil {
		if err := x.prepare(ctx); err != nil {
			return x.fail(ctx, err)
		}
	}
	return nil
}

// drain runs a stream to its end without keeping it.
func drain(st *stream) error {
	for st.Next() {
	}
	return errors.Join(st.Err(), st.Close())
}

// Run runs what has not run yet and gives the last statement's rows. The work
// goes on while the rows are read, until ctx ends.
func (x *execution) Run(ctx context.Context) (*stream, error) {
	if err := x.Prelude(ctx); err != nil {
		return nil, err
	}
	st, err := x.step(ctx, x.last())
	if err != nil {
		return nil, x.fail(ctx, err)
	}
	x.ran = len(x.steps)
	st.ctx = ctx
	st.atEnd(func(err error) { x.rec.end(err, max(st.rows, st.affected)) })
	return st, nil
}

func (x *execution) fail(ctx context.Context, err error) error {
	err = genuine(ctx, err)
	x.rec.end(err, 0)
	return err
}

// Close lets go of the session. It is called once, after the stream was closed.
func (x *execution) Close() {
	if x.closed {
		return
	}
	x.closed = true
	x.sess.done()
}

// status is the result of a statement that says no more than that it was done.
func (x *execution) status(schema *arrow.Schema, text string) *stream {
	b := array.NewRecordBuilder(x.svc.Alloc, schema)
	defer b.Release()
	b.Field(0).(*array.StringBuilder).Append(text)
	return newStream(newBatches(schema, b.NewRecordBatch()), 0)
}

// count is the result of a statement that changed rows.
func (x *execution) count(rows int64) *stream {
	b := array.NewRecordBuilder(x.svc.Alloc, countSchema)
	defer b.Release()
	b.Field(0).(*array.Int64Builder).Append(rows)
	return newStream(newBatches(countSchema, b.NewRecordBatch()), rows)
}
