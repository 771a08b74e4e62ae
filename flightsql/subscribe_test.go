package flightsql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/vegadb/vega-flight/fault"
)

// tailed is a client's copy of a view, kept up to date by a subscription.
type tailed struct {
	c      *client
	view   string
	reader *flight.Reader
	stop   context.CancelFunc
	rows   map[string]int
	framed bool
	whole  bool  // the content came, or was there before
	at     int64 // of the last batch: where to go on; -1
	marks  []string
	empty  int
}

// subscribe runs a SUBSCRIBE statement.
func (c *client) subscribe(view, with string) *tailed {
	c.t.Helper()
	s, err := c.trySubscribe(view, with)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

func (c *client) trySubscribe(view, with string) (*tailed, error) {
	c.t.Helper()
	sql := "SUBSCRIBE TO " + view
	if with != "" {
		sql += " WITH (" + with + ")"
	}
	info, err := c.Execute(c.ctx(), sql)
	if err != nil {
		return nil, err
	}
	return c.tail(view, info)
}

func (c *client) tail(view string, info *flight.FlightInfo) (*tailed, error) {
	c.t.Helper()
	ctx, stop := context.WithCancel(c.ctx())
	c.t.Cleanup(stop)
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		return nil, err
	}
	c.t.Cleanup(r.Release)
	announced, err := flight.DeserializeSchema(info.Schema, c.Alloc)
	if err != nil || !announced.Equal(r.Schema()) {
		c.t.Errorf("%v: the stream has the schema %s, announced was %s", err, r.Schema(), announced)
	}
	return &tailed{c: c, view: view, reader: r, stop: stop, rows: map[string]int{}, at: -1}, nil
}

// next applies a batch, and compares the copy with the view whenever it is complete.
func (s *tailed) next() error {
	s.c.t.Helper()
	if !s.reader.Next() {
		if err := s.reader.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	var note struct {
		Time     int64
		Progress string
		AsOf     *int64 `json:"as_of"`
	}
	if err := json.Unmarshal(s.reader.LatestAppMetadata(), &note); err != nil {
		s.c.t.Fatalf("%q: %v", s.reader.LatestAppMetadata(), err)
	}
	batch := s.reader.RecordBatch()
	if batch.NumRows() == 0 {
		s.empty++
	}
	for _, row := range texts(batch) {
		if row[0] != strconv.FormatInt(note.Time, 10) || row[2] != "(null)" && row[2] != note.Progress {
			s.c.t.Fatalf("row %v, beside it %+v", row, note)
		}
		if row[2] != "(null)" {
			s.marks = append(s.marks, row[2]+" "+row[0])
			if s.framed = row[2] == "begin"; s.framed {
				s.whole = true
				clear(s.rows)
			}
			continue
		}
		weight, err := strconv.Atoi(row[1])
		if err != nil {
			s.c.t.Fatal(err)
		}
		key := strings.Join(row[3:], "|")
		if s.rows[key] += weight; s.rows[key] == 0 {
			delete(s.rows, key)
		}
	}
	if note.AsOf == nil {
		return nil
	}
	s.at = *note.AsOf
	if s.whole && s.at == note.Time && !s.framed {
		s.compare()
	}
	return nil
}

// compare is the oracle.
func (s *tailed) compare() {
	s.c.t.Helper()
	want := map[string]int{}
	for _, row := range s.c.must(fmt.Sprintf("SELECT * FROM %s AT (VERSION => %d)", s.view, s.at)) {
		want[strings.Join(row, "|")]++
	}
	if !maps.Equal(s.rows, want) {
		s.c.t.Fatalf("at %d: applied %.1000s, the view has %.1000s", s.at, fmt.Sprint(s.rows), fmt.Sprint(want))
	}
}

// until applies what comes until everything up to a snapshot is there.
func (s *tailed) until(at int64) {
	s.c.t.Helper()
	for s.at < at {
		if err := s.next(); err != nil {
			s.c.t.Fatalf("waiting for %d at %d: %v", at, s.at, err)
		}
	}
}

// fails reads until the stream fails.
func (s *tailed) fails(code *fault.Code) string {
	s.c.t.Helper()
	for {
		if err := s.next(); err != nil {
			wants(s.c.t, err, code)
			return err.Error()
		}
	}
}

// rest reads to the end.
func (s *tailed) rest() {
	s.c.t.Helper()
	for {
		if err := s.next(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			s.c.t.Fatal(err)
		}
	}
}

// version refreshes a view and gives the publishing snapshot.
func (c *client) version(view string) int64 {
	c.t.Helper()
	rows := c.must("REFRESH MATERIALIZED VIEW " + view)
	n, err := strconv.ParseInt(rows[0][6], 10, 64)
	if err != nil {
		c.t.Fatal(rows, err)
	}
	return n
}

func sample(t *testing.T, change ...func(*Config)) (*house, *client) {
	h := open(t, change...)
	c := h.client("ann")
	c.must("CREATE TABLE t (a INTEGER, s VARCHAR)")
	c.must("INSERT INTO t VALUES (1, 'one'), (2, NULL), (2, NULL)")
	c.must("CREATE MATERIALIZED VIEW v AS SELECT a, s, count(*) AS n FROM t GROUP BY ALL")
	return h, c
}

func TestSubscriptionSendsEachGeneration(t *testing.T) {
	_, c := sample(t)
	s := c.subscribe("v", "progress = true")
	for i := range 4 {
		c.must(fmt.Sprintf("INSERT INTO t VALUES (%d, 'more'), (1, 'one')", i))
		s.until(c.version("v"))
		equal(t, "the session is usable meanwhile", c.value("SELECT count(*) > 0 FROM v"), "true")
	}
	if len(s.marks) < 10 || !strings.HasPrefix(s.marks[0], "begin") || !strings.HasPrefix(s.marks[1], "end") {
		t.Errorf("marks: %v", s.marks)
	}
	if s.empty == 0 {
		t.Error("the schema did not come first")
	}
	// An earlier snapshot has been applied: only what is newer comes.
	last := s.at
	c.must("INSERT INTO t VALUES (9, 'nine')")
	v := c.version("v")
	later := c.subscribe("v", fmt.Sprintf("as_of = %d, up_to = %d", last, v))
	later.rest()
	equal(t, "applied", later.at, v)
	none := c.subscribe("v", fmt.Sprintf("as_of = %d, up_to = %d", v, v))
	none.rest()
	equal(t, "marks of a subscriber that has all", len(none.marks), 0)
	bounded := c.subscribe("v", fmt.Sprintf("up_to = %d, progress = true", last))
	bounded.rest()
	equal(t, "applied up to", bounded.at, last)
	later = c.subscribe("v", "snapshot = false")
	c.must("INSERT INTO t VALUES (10, 'ten')")
	later.until(c.version("v"))
	equal(t, "marks without the content", len(later.marks), 2)
}

func TestSubscribeIsRefusedAsSelectIs(t *testing.T) {
	h, c := sample(t)
	c.must("CREATE MATERIALIZED VIEW empty AS SELECT * FROM t WITH NO DATA")
	c.fails("SUBSCRIBE TO empty", fault.NotPopulated)
	c.fails("SUBSCRIBE TO t", fault.NotAView)
	c.fails("SUBSCRIBE TO nothing", fault.ViewNotFound)
	c.fails("SUBSCRIBE TO v WITH (mode = 'upsert')", fault.InvalidOption)
	c.fails("SUBSCRIBE TO v WITH (as_of = 100000)", fault.InvalidOption)
	c.fails("SUBSCRIBE TO v WITH (as_of = 3, snapshot = true)", fault.InvalidOption)
	_, err := c.trySubscribe("v", "as_of = 0")
	wants(t, err, fault.ResumeExpired)
	c.fails("SUBSCRIBE TO v; SELECT 1", fault.InvalidParameter)
	_, err = c.ExecuteUpdate(c.ctx(), "SUBSCRIBE TO v")
	wants(t, err, fault.InvalidParameter)
	c.must("CREATE MATERIALIZED VIEW clash AS SELECT a AS _time FROM t")
	c.fails("SUBSCRIBE TO clash", fault.ReservedName)
	info, err := c.Execute(c.ctx(), "SUBSCRIBE TO v")
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.client("bob").tail("v", info)
	wants(t, err, fault.HandleNotFound)
	// A text that makes the view first.
	info, err = c.Execute(c.ctx(), "CREATE MATERIALIZED VIEW w AS SELECT 1 AS one; SUBSCRIBE TO w")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.tail("w", info)
	if err != nil {
		t.Fatal(err)
	}
	s.until(1)
}

func TestSubscriptionEndsWithItsView(t *testing.T) {
	_, c := sample(t)
	s := c.subscribe("v", "")
	s.until(1)
	c.must("INSERT INTO t VALUES (3, 'three')")
	v := c.version("v")
	c.must("DROP MATERIALIZED VIEW v")
	for s.at < v {
		// The view is gone, so nothing can be compared; what came must be there all the same.
		if !s.reader.Next() {
			t.Fatal(s.reader.Err())
		}
		var note struct {
			AsOf *int64 `json:"as_of"`
		}
		if err := json.Unmarshal(s.reader.LatestAppMetadata(), &note); err != nil {
			t.Fatal(err)
		}
		if note.AsOf != nil {
			s.at = *note.AsOf
		}
	}
	for s.reader.Next() {
	}
	wants(t, s.reader.Err(), fault.ViewNotFound)
}

func TestSubscriptionIsCancelled(t *testing.T) {
	h, c := sample(t)
	for _, end := range []struct {
		name string
		code *fault.Code
		do   func(*client, *flight.FlightInfo, *tailed)
	}{
		{"by CancelFlightInfo", fault.Cancelled, func(c *client, info *flight.FlightInfo, _ *tailed) {
			res, err := c.CancelFlightInfo(c.ctx(), &flight.CancelFlightInfoRequest{Info: info})
			if err != nil || res.Status != flight.CancelStatusCancelled {
				t.Errorf("%v, %v", res, err)
			}
		}},
		{"by CloseSession", fault.Cancelled, func(c *client, _ *flight.FlightInfo, _ *tailed) {
			if _, err := c.CloseSession(c.ctx(), &flight.CloseSessionRequest{}); err != nil {
				t.Error(err)
			}
		}},
		{"by its reader", fault.Cancelled, func(_ *client, _ *flight.FlightInfo, s *tailed) { s.stop() }},
	} {
		t.Run(end.name, func(t *testing.T) {
			c := h.client("ann")
			info, err := c.Execute(c.ctx(), "SUBSCRIBE TO v")
			if err != nil {
				t.Fatal(err)
			}
			s, err := c.tail("v", info)
			if err != nil {
				t.Fatal(err)
			}
			s.until(1)
			end.do(c, info, s)
			for s.reader.Next() {
			}
			if err := s.reader.Err(); err == nil || !strings.Contains(strings.ToUpper(err.Error()), "CANCEL") {
				t.Errorf("it ended with %v", err)
			}
		})
	}
	equal(t, "it can be read", c.value("SELECT count(*) FROM v"), "2")
}

// Who is taken out of the users file, or whose keys expire, gets nothing more, and is told where to go on.
func TestSubscriberWhoMayNoMore(t *testing.T) {
	var barred atomic.Value
	barred.Store("")
	_, c := sample(t, func(c *Config) {
		c.Barred = func(user string) string {
			if user != "ann" {
				return ""
			}
			return barred.Load().(string)
		}
	})
	s := c.subscribe("v", "")
	s.until(c.version("v"))
	barred.Store("is no user of this server any more")
	c.must("INSERT INTO t VALUES (7, 'seven')")
	c.must("REFRESH MATERIALIZED VIEW v")
	said := s.fails(fault.Unauthorized)
	if !strings.Contains(said, "user ann is no user of this server any more") || !strings.Contains(said, fmt.Sprintf("as_of = %d", s.at)) {
		t.Errorf("it says %s", said)
	}
	equal(t, "rows that came afterwards", s.rows["7|seven|1"], 0)
}

func TestSubscriptionThroughPreparedAndPolled(t *testing.T) {
	_, c := sample(t)
	p, err := c.Prepare(c.ctx(), "SUBSCRIBE TO v WITH (progress = true)")
	if err != nil {
		t.Fatal(err)
	}
	if p.DatasetSchema().NumFields() != 6 || p.DatasetSchema().Field(3).Name != "a" {
		t.Errorf("prepared with %s", p.DatasetSchema())
	}
	info, err := p.Execute(c.ctx())
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.tail("v", info)
	if err != nil {
		t.Fatal(err)
	}
	s.until(1)
	poll, err := c.ExecutePoll(c.ctx(), "SUBSCRIBE TO v", nil)
	if err != nil || poll.FlightDescriptor != nil {
		t.Fatalf("%v, %v", poll, err)
	}
	polled, err := c.tail("v", poll.Info)
	if err != nil {
		t.Fatal(err)
	}
	polled.until(1)
	// A transaction does not matter to it.
	tx, err := c.BeginTransaction(c.ctx())
	if err != nil {
		t.Fatal(err)
	}
	info, err = tx.Execute(c.ctx(), "SUBSCRIBE TO v")
	if err != nil {
		t.Fatal(err)
	}
	if s, err = c.tail("v", info); err != nil {
		t.Fatal(err)
	}
	s.until(1)
}

// cutOff hears of subscribers that were too slow.
type cutOff struct {
	nobody
	heard chan struct{}
}

func (o cutOff) Statement(_, code string, _ time.Duration, _ int64) {
	if code == fault.SubscriberTooSlow.Name() {
		o.heard <- struct{}{}
	}
}

// A reader that takes nothing is cut off, whatever was on its way is there, and it goes on where it was.
func TestSlowSubscriberIsCutOff(t *testing.T) {
	slow := cutOff{heard: make(chan struct{}, 9)}
	_, c := sample(t, func(c *Config) { c.Limits.SlowSubscriber, c.Observe = 3*time.Second, slow })
	c.must("INSERT INTO t SELECT i, repeat('x', 600) || i FROM range(100000) r(i)")
	s := c.subscribe("v", "")
	s.until(1)
	c.must("INSERT INTO t VALUES (-1, 'minus')")
	v := c.version("v") // it is sent, and nobody takes it
	other := c.subscribe("v", "snapshot = false")
	latest := v
	for cut := false; !cut; { // somebody else takes all that comes meanwhile
		c.must("INSERT INTO t VALUES (-2, 'minus')")
		latest = c.version("v")
		other.until(latest)
		select {
		case <-slow.heard:
			cut = true
		default:
		}
	}
	said := s.fails(fault.SubscriberTooSlow)
	if !strings.Contains(said, "SUBSCRIBE TO main.v WITH (as_of =") {
		t.Errorf("it does not say where to go on: %s", said)
	}
	again := c.subscribe("v", fmt.Sprintf("as_of = %d", s.at))
	again.until(latest)
}
