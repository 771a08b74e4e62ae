package flightsql

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/flightsql/auth"
)

// resultPrefix starts the handles of results that are read once.
const resultPrefix = "vqr_"

// newToken is an unguessable name.
func newToken(prefix string) string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// result waits for the one DoGet that its ticket allows: rows that are there
// already, or a query that is still to run. Whoever takes it out of results
// owns it and must either run it or drop it.
type result struct {
	handle    string
	number    uint64 // results that came later have higher ones
	principal string
	sess      *session
	expires   time.Time
	schema    *arrow.Schema

	ready *stream            // rows of a statement that has run, or of a query that was started
	stop  context.CancelFunc // ends that query; nil when nothing runs
	run   *execution         // or a query to run
	tail  bool               // or a subscription to open
}

// drop lets go of a result that nobody will read.
func (r *result) drop() {
	if r.stop != nil {
		r.stop()
	}
	if r.ready != nil {
		r.ready.Close()
	}
	if r.run != nil {
		r.run.Close()
	}
}

// open gives the rows. The stream owns what the result owned.
func (r *result) open(ctx context.Context) (*stream, error) {
	if r.ready != nil {
		if r.stop != nil {
			unhook := context.AfterFunc(ctx, r.stop)
			r.ready.atEnd(func(error) { unhook(); r.stop() })
		}
		return r.ready, nil
	}
	if err := r.run.again(ctx); err != nil {
		r.run.Close()
		return nil, err
	}
	st, err := r.run.Run(ctx)
	if err != nil {
		r.run.Close()
		return nil, err
	}
	st.atEnd(func(error) { r.run.Close() })
	if !st.Schema().Equal(r.schema) {
		st.Close()
		return nil, fault.SourceChanged.Newf("the result's columns changed after the statement was described").
			WithHint("run the statement again")
	}
	return st, nil
}

// results are those waiting, by handle.
type results struct {
	mu      sync.Mutex
	last    uint64
	waiting map[string]*result
	reading map[string]reading
}

// reading is a result that a DoGet is streaming.
type reading struct {
	principal string
	cancel    context.CancelFunc
	ended     chan struct{} // closed when its work has stopped
}

func newResults() *results {
	return &results{waiting: map[string]*result{}, reading: map[string]reading{}}
}

// keep puts the result under a new handle. When as many as a session may have wait already, the one that has waited
// longest goes: clients that close a query before they read it do not say so, and must not run out of room by it.
func (rs *results) keep(r *result, limit int) {
	if old := rs.put(r, limit); old != nil {
		old.drop()
	}
}

func (rs *results) put(r *result, limit int) (old *result) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	n := 0
	for _, other := range rs.waiting {
		if other.sess != r.sess {
			continue
		}
		if n++; old == nil || other.number < old.number {
			old = other
		}
	}
	if n < limit {
		old = nil
	} else {
		delete(rs.waiting, old.handle)
	}
	rs.last++
	r.handle, r.number = newToken(resultPrefix), rs.last
	rs.waiting[r.handle] = r
	return old
}

// take removes the caller's result and marks it as being read; done ends that.
func (rs *results) take(handle string, p auth.Principal, cancel context.CancelFunc) (r *result, done func(), err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r = rs.waiting[handle]
	if r == nil || r.principal != p.Name {
		return nil, nil, fault.HandleNotFound.Newf("there is no result for this ticket").
			WithHint("results are read once and soon after the statement, before many others of the session; run the statement again")
	}
	delete(rs.waiting, handle)
	rs.reading[handle] = reading{principal: p.Name, cancel: cancel, ended: make(chan struct{})}
	return r, func() { rs.finish(handle) }, nil
}

func (rs *results) finish(handle string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	close(rs.reading[handle].ended)
	delete(rs.reading, handle)
}

// cancel stops the reading of a caller's result and waits until its work has
// stopped, or ctx ends; a result that waits is forgotten.
func (rs *results) cancel(ctx context.Context, handle string, p auth.Principal) (found, stopped bool) {
	rs.mu.Lock()
	r := rs.waiting[handle]
	now, reads := rs.reading[handle]
	if r != nil && (r.principal == p.Name || p.Admin) {
		delete(rs.waiting, handle)
	} else {
		r = nil
	}
	rs.mu.Unlock()
	if r != nil {
		r.drop()
		return true, true
	}
	if !reads || now.principal != p.Name && !p.Admin {
		return false, false
	}
	now.cancel()
	select {
	case <-now.ended:
		return true, true
	case <-ctx.Done():
		return true, false
	}
}

// expired removes and returns the results whose time is over.
func (rs *results) expired(now time.Time) []*result {
	return rs.remove(func(r *result) bool { return now.After(r.expires) })
}

// of removes and returns the results of a session.
func (rs *results) of(sess *session) []*result {
	return rs.remove(func(r *result) bool { return r.sess == sess })
}

func (rs *results) remove(which func(*result) bool) []*result {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var out []*result
	for handle, r := range rs.waiting {
		if which(r) {
			delete(rs.waiting, handle)
			out = append(out, r)
		}
	}
	return out
}

// cancelResult cancels a direct statement by its ticket's handle, for
// CancelFlightInfo: whether the caller has it, and whether it has stopped.
func (s *Service) cancelResult(ctx context.Context, handle string) (found, stopped bool) {
	p, ok := auth.FromContext(ctx)
	if !ok {
		return false, false
	}
	return s.results.cancel(ctx, handle, p)
}

// info describes a result: its schema and the one endpoint that reads it.
func (s *Service) info(r *result, desc *flight.FlightDescriptor, records int64) (*flight.FlightInfo, error) {
	ticket, err := flightsql.CreateStatementQueryTicket([]byte(r.handle))
	if r.tail {
		ticket, err = append(bytes.Clone(subscriptionPrefix), r.handle...), nil
	}
	if err != nil {
		return nil, err
	}
	return &flight.FlightInfo{
		Schema:           flight.SerializeSchema(r.schema, s.Alloc),
		FlightDescriptor: desc,
		Endpoint:         []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: ticket}}},
		TotalRecords:     records,
		TotalBytes:       -1,
	}, nil
}
