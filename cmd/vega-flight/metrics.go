package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/job"
)

// metrics is the figures of a server. It is told what happens by the protocol
// edge and the job runner, and reads the rest when it is asked.
type metrics struct {
	registry   *prometheus.Registry
	sessions   prometheus.Gauge
	statements *prometheus.HistogramVec
	rows       *prometheus.CounterVec
	bytes      *prometheus.CounterVec
	refreshes  *prometheus.HistogramVec
	commits    *prometheus.HistogramVec
	waits      *prometheus.HistogramVec
}

func newMetrics() *metrics {
	// Buckets from half a millisecond to ten minutes.
	seconds := []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		sessions: prometheus.NewGauge(prometheus.GaugeOpts{Name: "vega_flight_sessions", Help: "Open sessions."}),
		statements: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "vega_flight_statement_seconds",
			Help: "Statements by kind and outcome: the error's name, or ok.", Buckets: seconds}, []string{"kind", "outcome"}),
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "vega_flight_statement_rows_total",
			Help: "Rows sent or changed by statements, by kind."}, []string{"kind"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "vega_flight_arrow_bytes_total",
			Help: "Bytes of Arrow data, by direction."}, []string{"direction"}),
		refreshes: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "vega_flight_refresh_seconds",
			Help: "Refreshes from submission to end, by outcome.", Buckets: seconds}, []string{"outcome"}),
		commits: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "vega_flight_commit_seconds",
			Help: "How long commits held the lake's commit lock, by kind: publish (a view's content) or write (a user's).", Buckets: seconds}, []string{"kind"}),
		waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "vega_flight_commit_wait_seconds",
			Help: "How long commits waited for the lake's commit lock, by kind.", Buckets: seconds}, []string{"kind"}),
	}
	m.registry.MustRegister(m.sessions, m.statements, m.rows, m.bytes, m.refreshes, m.commits, m.waits,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func outcome(code string) string {
	if code == "" {
		return "ok"
	}
	return code
}

// The protocol edge tells these.

func (m *metrics) Sessions(open int) { m.sessions.Set(float64(open)) }

func (m *metrics) Statement(kind, code string, took time.Duration, rows int64) {
	m.statements.WithLabelValues(kind, outcome(code)).Observe(took.Seconds())
	m.rows.WithLabelValues(kind).Add(float64(max(rows, 0)))
}

func (m *metrics) Sent(n int64)     { m.bytes.WithLabelValues("sent").Add(float64(n)) }
func (m *metrics) Received(n int64) { m.bytes.WithLabelValues("received").Add(float64(n)) }

// committed is what the lake tells of its commits.
func (m *metrics) committed(kind string, waited, held time.Duration) {
	m.commits.WithLabelValues(kind).Observe(held.Seconds())
	m.waits.WithLabelValues(kind).Observe(waited.Seconds())
}

// lakeFigures reads figures from the catalog when they are asked for.
type lakeFigures struct {
	store                                     metadata.Store
	files, deletes, pending, snapshots, bytes *prometheus.Desc
	jobs                                      *prometheus.Desc
}

func newLakeFigures(store metadata.Store) *lakeFigures {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("vega_flight_"+name, help, labels, nil)
	}
	return &lakeFigures{
		store:     store,
		files:     d("lake_data_files", "Data files of the newest snapshot."),
		deletes:   d("lake_delete_files", "Delete files of the newest snapshot."),
		pending:   d("lake_inlined_tables", "Tables that keep small changes in the catalog."),
		snapshots: d("lake_snapshots", "Snapshots that can be read."),
		bytes:     d("lake_data_bytes", "Bytes of the data files of the newest snapshot."),
		jobs:      d("jobs", "Jobs in the history, by state.", "state"),
	}
}

// Describe lists what Collect gives.
func (f *lakeFigures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{f.files, f.deletes, f.pending, f.snapshots, f.bytes, f.jobs} {
		ch <- d
	}
}

// Collect reads the catalog; figures that cannot be read are left out and the reason is logged.
func (f *lakeFigures) Collect(ch chan<- prometheus.Metric) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	err := f.store.View(ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(ctx, `SELECT
			(SELECT count(*) FROM {M}ducklake_data_file WHERE end_snapshot IS NULL),
			(SELECT count(*) FROM {M}ducklake_delete_file WHERE end_snapshot IS NULL),
			(SELECT count(*) FROM {M}ducklake_inlined_data_tables),
			(SELECT count(*) FROM {M}ducklake_snapshot),
			(SELECT CAST(coalesce(sum(file_size_bytes), 0) AS BIGINT) FROM {M}ducklake_data_file WHERE end_snapshot IS NULL)`)
		if err != nil {
			return err
		}
		for i, d := range []*prometheus.Desc{f.files, f.deletes, f.pending, f.snapshots, f.bytes} {
			if n, ok := rows[0][i].(int64); ok {
				ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n))
			}
		}
		rows, err = tx.Query(ctx, "SELECT state, count(*) FROM {M}vega_jobs GROUP BY state")
		if err != nil {
			return err
		}
		jobs := map[string]int64{} // a state without jobs is told as 0
		for _, r := range rows {
			state, _ := r[0].(string)
			jobs[state], _ = r[1].(int64)
		}
		for _, state := range job.States() {
			ch <- prometheus.MustNewConstMetric(f.jobs, prometheus.GaugeValue, float64(jobs[string(state)]), string(state))
		}
		return nil
	})
	if err != nil {
		slog.Warn("the catalog's figures cannot be read", "error", err)
	}
}
