package flightsql

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ivm"
)

// Config is what a Service is made of.
type Config struct {
	Lake    *ducklake.Lake
	Engine  *ivm.Engine
	Log     *slog.Logger // default: slog.Default()
	Observe Observer     // default: nobody
	Limits  Limits
	Handles HandleLimits
	Version string // the program's, for SqlInfo
	// SpoolDir is where results of polled statements are kept; default: the system's folder for temporary files.
	SpoolDir string
	// HiddenPaths are host folders whose names only administrators see, besides those of the lake.
	HiddenPaths []string
	// ServerID names this server among those of one lake; default: the lake's name for it.
	ServerID string
	// Check verifies the lake and returns a report that becomes JSON; nil: the server offers none.
	Check func(ctx context.Context) (any, error)
	// Live tells which servers of the lake have a lease; nil when there can be no other.
	Live func(context.Context) (map[string]bool, error)
	// Barred says why nobody of that name may use the server any more, "" when somebody may; nil: everybody may.
	Barred func(user string) string
}

// Limits bound what clients may hold. A zero means the default.
type Limits struct {
	SessionsPerUser int           // default 200
	Sessions        int           // default 2000
	SessionIdle     time.Duration // a session without a call for so long is ended; default 8 h
	TransactionIdle time.Duration // an idle transaction that has written is rolled back; default 10 min
	Statement       time.Duration // the longest a statement may run; default: no limit
	ResultWait      time.Duration // a result that nobody fetches is dropped; default 2 min
	Results         int           // results waiting per session; default 64
	Prepared        int           // prepared statements per session; default 1000
	ParameterBytes  int64         // bound parameters kept per session; default 64 MiB
	ReturnedBytes   int64         // rows a changing statement may return; default 64 MiB
	Subscriptions   int           // open subscriptions of a user; default 200
	SlowSubscriber  time.Duration // a subscriber that does not take a batch for so long is cut off; default 60 s
}

func (l Limits) withDefaults() Limits {
	number(&l.SessionsPerUser, 200)
	number(&l.Sessions, 2000)
	number(&l.SessionIdle, 8*time.Hour)
	number(&l.TransactionIdle, 10*time.Minute)
	number(&l.ResultWait, 2*time.Minute)
	number(&l.Results, 64)
	number(&l.Prepared, 1000)
	number(&l.ParameterBytes, 64<<20)
	number(&l.ReturnedBytes, 64<<20)
	number(&l.Subscriptions, 200)
	number(&l.SlowSubscriber, time.Minute)
	return l
}

func number[N int | int64 | time.Duration](n *N, fallback N) {
	if *n <= 0 {
		*n = fallback
	}
}

// Observer is told what happens, for metrics. Its methods must not block.
type Observer interface {
	// Sessions is the number of open sessions, each time it changes.
	Sessions(open int)
	// Statement is one finished statement; code is "" or the stable name of its error.
	Statement(kind, code string, took time.Duration, rows int64)
	// Sent and Received count the bytes of rows to and from clients.
	Sent(bytes int64)
	Received(bytes int64)
}

type nobody struct{}

func (nobody) Sessions(int)                                   {}
func (nobody) Statement(string, string, time.Duration, int64) {}
func (nobody) Sent(int64)                                     {}
func (nobody) Received(int64)                                 {}

// Service answers Flight SQL for one lake. It implements flightsql.Server; its
// methods return fault errors, which the gRPC interceptors turn into statuses.
type Service struct {
	flightsql.BaseServer

	lake    *ducklake.Lake
	engine  *ivm.Engine
	log     *slog.Logger
	observe Observer
	limits  Limits
	config  Config
	hidden  redactor // of what callers read
	infos   []uint32 // the numbers of SqlInfo that have an answer, sorted

	connections *connections
	sessions    *sessions
	results     *results
	tails       tails
	handles     *handles

	running sync.WaitGroup // pumps, sessions, the sweeper
	ctx     context.Context
	stop    context.CancelFunc
}

// New makes the service and starts its sweeper. Close ends it.
func New(ctx context.Context, c Config) (*Service, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Observe == nil {
		c.Observe = nobody{}
	}
	if c.ServerID == "" {
		c.ServerID = c.Lake.ServerID()
	}
	s := &Service{
		lake: c.Lake, engine: c.Engine, log: c.Log, observe: c.Observe, limits: c.Limits.withDefaults(), config: c,
		hidden: newRedactor(append([]string{c.Lake.DataPath(), c.Lake.TempDir(), c.SpoolDir}, c.HiddenPaths...)...),
	}
	s.Alloc = memory.DefaultAllocator // the base would set it lazily, from several calls at once
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.connections = &connections{ended: s.connectionEnded}
	s.sessions = newSessions()
	s.results = newResults()
	if err := s.registerInfo(ctx); err != nil {
		s.stop()
		return nil, err
	}
	handles, err := newHandles(s)
	if err != nil {
		s.stop()
		return nil, err
	}
	s.handles = handles
	s.running.Add(1)
	go s.sweep()
	return s, nil
}

// sweep ends what nobody comes back for.
func (s *Service) sweep() {
	defer s.running.Done()
	every := max(min(s.limits.SessionIdle, s.limits.TransactionIdle, s.limits.ResultWait)/4, 10*time.Millisecond)
	tick := time.NewTicker(min(every, 15*time.Second))
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case now := <-tick.C:
			s.expire(now)
		}
	}
}

// expire ends the results, transactions and sessions that are idle too long at the given time.
func (s *Service) expire(now time.Time) {
	for _, r := range s.results.expired(now) {
		r.drop()
	}
	for _, sess := range s.sessions.all() {
		sess.expireTransaction(now.Add(-s.limits.TransactionIdle))
	}
	for _, sess := range s.sessions.idle(now.Add(-s.limits.SessionIdle)) {
		s.log.Info("session ended", "session", sess.label(), "user", sess.principal.Name, "reason", "idle")
		s.end(sess)
	}
}

// Close ends every handle, session and stream and waits for them, as long as ctx allows.
func (s *Service) Close(ctx context.Context) error {
	s.stop()
	err := s.handles.close(ctx)
	for _, sess := range s.sessions.all() {
		s.end(sess)
	}
	done := make(chan struct{})
	go s.wait(done)
	select {
	case <-done:
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	return err
}

func (s *Service) wait(done chan<- struct{}) {
	s.running.Wait()
	close(done)
}
