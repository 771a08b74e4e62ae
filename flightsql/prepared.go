package flightsql

import (
	"context"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"

	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/fault"
)

// prepared is a text that a client may run again and again. It is analysed anew
// each time, so it follows schema changes. Binding parameters gives a new
// handle, "id.n"; the one before is stale from then on, while the bare id,
// which clients keep that know nothing of new handles, means the last binding.
type prepared struct {
	id   string
	text string

	// guarded by the session's mu
	tx       []byte       // the transaction in which it was prepared
	outlives bool         // the client has ended that transaction: the statement runs in the one that is open, if there is one
	params   []gate.Param // of the last analysis
	binding  int          // counts bindings; 0 before the first
	rows     [][]any
	bytes    int64
}

// emptySchema says that a statement is an update, to clients that look only there.
var emptySchema = arrow.NewSchema(nil, nil)

// CreatePreparedStatement describes a text and keeps it. It takes every text
// that may be run, and runs nothing.
func (s *Service) CreatePreparedStatement(ctx context.Context, req flightsql.ActionCreatePreparedStatementRequest) (flightsql.ActionCreatePreparedStatementResult, error) {
	var res flightsql.ActionCreatePreparedStatementResult
	sess, err := s.session(ctx)
	if err != nil {
		return res, err
	}
	defer sess.done()
	ctx, stop := sess.within(ctx)
	defer stop()
	x, err := s.read(sess, req.GetQuery(), string(req.GetTransactionId()), nil)
	if err != nil {
		return res, err
	}
	defer x.Close()
	if err := x.inTransaction(); err != nil {
		return res, err
	}
	p := &prepared{id: newToken("vqp_"), text: req.GetQuery(), tx: req.GetTransactionId()}
	if err := x.prepare(ctx); err == nil {
		p.params = x.last().params()
		update := x.update()
		res.IsUpdate = &update
		res.DatasetSchema = x.schema
		if update || x.schema == nil {
			res.DatasetSchema = emptySchema
		}
		res.ParameterSchema = parameterSchema(p.params, fromJava(ctx))
	} else if len(x.steps) == 1 {
		return res, err
	}
	// In a text of several statements an earlier one may have to run before the last can be understood.
	if err := sess.keep(p); err != nil {
		return res, err
	}
	res.Handle = []byte(p.id)
	return res, nil
}

// update says that the text changes rows or schemas and gives no rows of its own.
func (x *execution) update() bool {
	a := x.last().analysis
	return a != nil && !a.Returns()
}

func (st *step) params() []gate.Param {
	if st.analysis == nil {
		return nil
	}
	return st.analysis.Params
}

func (sess *session) keep(p *prepared) error {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.closed {
		return fault.SessionNotFound.Newf("the session has ended")
	}
	if limit := sess.svc.limits.Prepared; len(sess.prepared) >= limit {
		return fault.QuotaExceeded.Newf("the session has %d prepared statements, the most it may have", limit).
			WithHint("close those that are not used")
	}
	sess.prepared[p.id] = p
	return nil
}

// preparedBy finds the session's statement and its bound rows by a handle.
func (sess *session) preparedBy(handle []byte) (p *prepared, rows [][]any, err error) {
	id, binding, _ := strings.Cut(string(handle), ".")
	sess.mu.Lock()
	defer sess.mu.Unlock()
	p = sess.prepared[id]
	if p == nil {
		return nil, nil, fault.HandleNotFound.Newf("the session has no such prepared statement").WithHint("prepare it again")
	}
	if binding != "" && binding != strconv.Itoa(p.binding) {
		return nil, nil, fault.InvalidParameter.Newf("the prepared statement's handle is stale: parameters were bound after it").
			WithHint("use the handle that the last binding returned")
	}
	return p, p.rows, nil
}

// ClosePreparedStatement forgets a statement. Closing an unknown one is no error.
func (s *Service) ClosePreparedStatement(ctx context.Context, req flightsql.ActionClosePreparedStatementRequest) error {
	sess := s.existing(ctx)
	if sess == nil {
		return nil
	}
	defer sess.done()
	id, _, _ := strings.Cut(string(req.GetPreparedStatementHandle()), ".")
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if p := sess.prepared[id]; p != nil {
		sess.bytes -= p.bytes
		delete(sess.prepared, id)
	}
	return nil
}

// DoPutPreparedStatementQuery binds parameters and gives the new handle.
func (s *Service) DoPutPreparedStatementQuery(ctx context.Context, cmd flightsql.PreparedStatementQuery, r flight.MessageReader, _ flight.MetadataWriter) ([]byte, error) {
	sess, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	defer sess.done()
	p, _, err := sess.preparedBy(cmd.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	sess.mu.Lock()
	params, left := p.params, s.limits.ParameterBytes-sess.bytes+p.bytes
	sess.mu.Unlock()
	in, err := receive(r)
	if err != nil {
		return nil, err
	}
	rows, size, err := bound(in, params, left)
	if err != nil {
		return nil, err
	}
	s.observe.Received(size)
	sess.mu.Lock()
	defer sess.mu.Unlock()
	sess.bytes += size - p.bytes
	p.bytes, p.rows = size, rows
	p.binding++
	return []byte(p.id + "." + strconv.Itoa(p.binding)), nil
}

// boundText is a prepared statement with the rows bound to it, as plan takes it, and its session.
type boundText struct {
	sess *session
	text string
	tx   []byte
	rows [][]any
}

// prepared finds a statement of the caller's session, which is held.
func (s *Service) prepared(ctx context.Context, handle []byte) (*boundText, error) {
	sess, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	p, rows, err := sess.preparedBy(handle)
	if err != nil {
		sess.done()
		return nil, err
	}
	return &boundText{sess, p.text, sess.transactionOf(p), rows}, nil
}

// transactionOf is the transaction that a prepared statement runs in. Drivers keep statements over commits and rollbacks.
func (sess *session) transactionOf(p *prepared) []byte {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if !p.outlives {
		return p.tx
	}
	open, _ := sess.lake.InTransaction()
	return []byte(open)
}

// outlive lets the statements that were prepared in a transaction go on when the client has ended it.
func (sess *session) outlive(tx string) {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	for _, p := range sess.prepared {
		if string(p.tx) == tx {
			p.outlives = true
		}
	}
}

// GetFlightInfoPreparedStatement runs what changes something, and describes what only reads.
func (s *Service) GetFlightInfoPreparedStatement(ctx context.Context, cmd flightsql.PreparedStatementQuery, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	p, err := s.prepared(ctx, cmd.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	defer p.sess.done()
	return s.flightInfo(ctx, p.sess, p.text, p.tx, p.rows, desc)
}

// GetSchemaPreparedStatement describes the result.
func (s *Service) GetSchemaPreparedStatement(ctx context.Context, cmd flightsql.PreparedStatementQuery, _ *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	p, err := s.prepared(ctx, cmd.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	defer p.sess.done()
	return s.schemaOf(ctx, p.sess, p.text, p.tx, p.rows)
}

// DoGetPreparedStatement serves clients that fetch by the statement instead of
// by its ticket. A fetch changes nothing, so only queries can be had like this.
func (s *Service) DoGetPreparedStatement(ctx context.Context, cmd flightsql.PreparedStatementQuery) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	p, err := s.prepared(ctx, cmd.GetPreparedStatementHandle())
	if err != nil {
		return nil, nil, err
	}
	defer p.sess.done()
	x, err := s.plan(ctx, p.sess, p.text, p.tx, p.rows)
	if err != nil {
		return nil, nil, err
	}
	if len(x.steps) > 1 || !x.IsQuery() {
		x.Close()
		return nil, nil, fault.InvalidParameter.Newf("DoGet reads only, and the statement does more").
			WithHint("call GetFlightInfo and fetch the ticket it gives")
	}
	return s.fetch(ctx, &result{sess: p.sess, schema: x.schema, run: x})
}
