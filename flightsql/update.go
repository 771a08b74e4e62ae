package flightsql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/fault"
)

// DoPutCommandStatementUpdate runs a text and gives the number of rows that its last statement changed.
func (s *Service) DoPutCommandStatementUpdate(ctx context.Context, cmd flightsql.StatementUpdate) (int64, error) {
	sess, err := s.session(ctx)
	if err != nil {
		return 0, err
	}
	defer sess.done()
	return s.runUpdate(ctx, sess, cmd.GetQuery(), cmd.GetTransactionId(), nil)
}

func (s *Service) runUpdate(ctx context.Context, sess *session, text string, tx []byte, params [][]any) (int64, error) {
	ctx, stop := sess.within(ctx)
	defer stop()
	x, err := s.plan(ctx, sess, text, tx, params)
	if err != nil {
		return 0, err
	}
	defer x.Close()
	st, err := x.Run(ctx)
	if err != nil {
		return 0, err
	}
	if err := drain(st); err != nil {
		return 0, err
	}
	return st.affected, nil
}

// DoPutPreparedStatementUpdate runs a prepared statement once for each row of
// parameters that comes, all of them in one transaction. Without columns it
// runs once, with what was bound before.
func (s *Service) DoPutPreparedStatementUpdate(ctx context.Context, cmd flightsql.PreparedStatementUpdate, r flight.MessageReader) (int64, error) {
	p, err := s.prepared(ctx, cmd.GetPreparedStatementHandle())
	if err != nil {
		return 0, err
	}
	defer p.sess.done()
	in, err := receive(r)
	if err != nil {
		return 0, err
	}
	if in.Schema().NumFields() == 0 {
		return s.runUpdate(ctx, p.sess, p.text, p.tx, p.rows)
	}
	ctx, stop := p.sess.within(ctx)
	defer stop()
	x, err := s.plan(ctx, p.sess, p.text, p.tx, nil)
	if err != nil {
		return 0, err
	}
	defer x.Close()
	n, err := x.each(ctx, in)
	err = genuine(ctx, err)
	x.rec.end(err, n)
	return n, err
}

// each runs the text's one statement for every row of parameters as it arrives.
func (x *execution) each(ctx context.Context, r *received) (int64, error) {
	st := x.last()
	if len(x.steps) > 1 || st.analysis == nil {
		return 0, fault.InvalidParameter.Newf("the statement takes no parameters")
	}
	columns, err := columnsOf(r.Schema(), st.params())
	if err != nil {
		return 0, err
	}
	if err := x.inTransaction(); err != nil {
		return 0, err
	}
	if err := x.admit(ctx, st.analysis); err != nil {
		return 0, err
	}
	return x.sess.many(ctx, st.analysis, func(ctx context.Context, lake *ducklake.Session) (int64, error) {
		m := lake.Many(st.analysis)
		defer func() { _ = m.Close() }()
		for r.Next() {
			batch := r.RecordBatch()
			x.svc.observe.Received(batchSize(batch))
			for row := range int(batch.NumRows()) {
				if err := m.Add(ctx, argumentsOf(batch, row, columns)); err != nil {
					return 0, err
				}
			}
			if err := m.Flush(ctx); err != nil { // the arguments are the batch's
				return 0, err
			}
		}
		return m.Total(), r.Err()
	})
}
