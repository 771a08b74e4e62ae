package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/ivm"
	"github.com/vegadb/vega-flight/ivm/bind"
	"github.com/vegadb/vega-flight/ivm/changelog"
	"github.com/vegadb/vega-flight/ivm/check"
	"github.com/vegadb/vega-flight/ivm/eval/evaluator"
	"github.com/vegadb/vega-flight/ivm/job"
	"github.com/vegadb/vega-flight/ivm/sink/lake"
	source "github.com/vegadb/vega-flight/ivm/source/lake"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// house is a lake and the engine over it, put together.
type house struct {
	lake       *ducklake.Lake
	engine     *ivm.Engine
	publisher  *publish.Publisher
	sink       *lake.Sink
	rows       *store.Store
	history    *store.History
	views      *store.Streams
	streams    *stream.Supervisor
	source     *source.Source
	evaluator  *evaluator.Instance
	binder     *bind.Binder
	scratch    string // the state folder of a server that will not come back under its name
	users      knower // nil: everybody may use the server
	log        *slog.Logger
	text       *bind.Text
	servers    *maintain.Servers
	pins       *maintain.Pins
	maintainer *maintain.Maintainer
	figures    *metrics
	owner      atomic.Pointer[publish.Fence]

	subscribed *source.Source // read by subscribers
	changes    *changelog.Changelog
}

// fence is this server's registration.
func (h *house) fence() publish.Fence { return *h.owner.Load() }

// healthy says whether the process is fit to live.
func (h *house) healthy() error {
	select {
	case <-h.lake.Fatal():
		return errors.New("the DuckDB instance has failed")
	default:
		return nil
	}
}

// serverID names this server for others of the same lake. An embedded lake has one process, which is always the same server.
func (c *Config) serverID() string {
	switch {
	case c.ServerID != "":
		return c.ServerID
	case !strings.HasPrefix(c.Lake, "postgres"):
		return "embedded"
	case c.Listen == "" || strings.HasSuffix(c.Listen, ":0"):
		return uuid.NewString()
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return host + "/" + c.Listen
}

func openHouse(ctx context.Context, c *Config, address string, figures *metrics, log *slog.Logger) (_ *house, err error) {
	h := &house{figures: figures, pins: maintain.NewPins(), log: log}
	h.lake, err = ducklake.Open(ctx, ducklake.Config{
		Catalog: c.Lake, DataPath: c.DataPath, MetadataSchema: c.MetadataSchema, ExtensionDir: c.ExtensionDir, TempDir: c.TempDir,
		MemoryLimit: c.MemoryLimit, MemoryCeiling: c.ceilingBytes(), Threads: c.Threads, ServerID: c.serverID(), SpoolQuota: c.spoolBytes(), Vega: ivm.VegaDDL(), Log: log,
		Pin: func() func() { return h.pins.Pin(0) }, Committed: figures.committed,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.closeChanges(), h.closeStreams(), h.lake.Close())
		}
	}()
	if h.publisher, err = h.lake.NewPublisher(ctx); err != nil {
		return nil, err
	}
	if h.rows, err = store.Open(ctx, h.lake.Store()); err != nil {
		return nil, err
	}
	rows := h.rows
	h.servers = &maintain.Servers{Store: h.lake.Store(), Lease: c.Lease}
	owner, err := h.servers.Register(ctx, h.lake.ServerID(), address)
	if err != nil {
		return nil, err
	}
	h.owner.Store(&owner)
	live := h.others()
	h.sink = lake.New(lake.Config{Lake: h.lake, Store: rows, Publisher: h.publisher, Fence: h.fence, Live: live, Pins: h.pins, Change: h.change, Log: log})
	h.binder, h.history = &bind.Binder{Lake: h.lake}, rows.History()
	h.text = &bind.Text{Lake: h.lake.Name(), Parse: h.binder.Parse}
	if err = h.openStreams(ctx, c); err != nil {
		return nil, err
	}
	h.openChanges(c)
	h.engine, err = ivm.New(ivm.Config{
		LakeName: h.lake.Name(), ServerID: h.lake.ServerID(),
		Views: rows.Views(), History: h.history, Jobs: rows.Jobs(), Schedules: rows.Schedules(),
		Binder: h.binder, Tables: h.sink, Upkeep: h.sink, Sources: h.sink, Lake: h.sink, Clock: h.sink,
		Text: h.text, Control: rows.Control(), Streams: h.streams, Changes: h.changes,
		Fence: func() int64 { return h.fence().Epoch }, Live: live, Commits: h.lake.Watch,
		Workers: c.JobWorkers, Keep: c.JobHistory, KeepFor: c.JobRetention, Ended: figures.jobEnded, Barred: h.barred, Log: log,
	})
	if err != nil {
		return nil, err
	}
	h.maintainer = maintain.New(maintain.Config{
		Store: h.lake.Store(), Lock: h.lake.CommitLock(), Lake: h.lake.Name(), Publisher: h.publisher,
		Servers: h.servers, Owner: owner, Pins: h.pins,
		Acquire: func(ctx context.Context) (*duck.Conn, func(), error) {
			return h.lake.Acquire(ctx, ducklake.Aside(""))
		},
		TakenOver: func(ctx context.Context, _ publish.Fence) error { return h.sink.Settle(ctx) },
		Unread:    rows.Unread,
		Flushable: h.lake.Flushable,
		Strays:    h.strays(),
		Log:       log, Every: c.MaintenanceInterval, PublicationRetention: c.PublicationRetention, UserRetention: c.SnapshotRetention,
	})
	return h, nil
}

// strays removes files of statements that were cut off, where no process has the lake to itself.
func (h *house) strays() func(context.Context, time.Time) (int64, error) {
	if !h.lake.Shared() {
		return nil
	}
	return h.lake.RemoveStrays
}

// check verifies the views and looks for leftovers. With alone, no server serves the lake.
func (h *house) check(ctx context.Context, alone bool) (check.Report, error) {
	return check.Run(ctx, check.Config{Lake: h.lake, Store: h.rows, Text: h.text, Servers: h.servers, Alone: alone, Plans: h.binder})
}

// others tells which servers live, nil when there can be no other one.
func (h *house) others() func(context.Context) (map[string]bool, error) {
	if !h.lake.Shared() {
		return nil
	}
	return h.live
}

// live are the servers whose lease holds.
func (h *house) live(ctx context.Context) (map[string]bool, error) {
	all, err := h.servers.List(ctx)
	if err != nil {
		return nil, err
	}
	live := map[string]bool{}
	for _, s := range all {
		if !s.Expired {
			live[s.ID] = true
		}
	}
	return live, nil
}

// close puts running jobs and streaming views down, gives the lease up and closes the lake.
func (h *house) close(ctx context.Context) error {
	err := h.engine.Close(ctx)
	return errors.Join(err, h.closeChanges(), h.closeStreams(), h.servers.Leave(ctx, h.fence()), h.lake.Close())
}

// jobEnded counts a refresh.
func (m *metrics) jobEnded(j job.Job) {
	m.refreshes.WithLabelValues(outcome(j.ErrorCode)).Observe(j.FinishedAt.Sub(j.SubmittedAt).Seconds())
}
