package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// streamFigures tells of the streaming views that this server runs, when it is asked.
type streamFigures struct {
	h           *house
	states      *prometheus.Desc
	lag         *prometheus.Desc
	late        *prometheus.Desc
	subscribers *prometheus.Desc
	each        []streamFigure
}

// streamFigure is one figure of one view.
type streamFigure struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(f *stream.Figures) float64
}

func newStreamFigures(h *house) *streamFigures {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("vega_flight_stream_"+name, help, labels, nil)
	}
	s := &streamFigures{
		h:           h,
		subscribers: prometheus.NewDesc("vega_flight_subscriptions", "Open subscriptions to views of both kinds.", nil, nil),
		states:      d("views", "Streaming views that this server runs, by state.", "state"),
		lag:         d("lag_seconds", "How far the content of a streaming view is behind its sources; 0 when it reflects all.", "view"),
		late:        d("late_rows_total", "Changes that came behind the watermark of a streaming view and were dropped.", "view"),
	}
	count := func(name, help string, of func(f *stream.Figures) int64) {
		s.each = append(s.each, streamFigure{d(name, help, "view"), prometheus.CounterValue, func(f *stream.Figures) float64 { return float64(of(f)) }})
	}
	now := func(name, help string, of func(f *stream.Figures) float64) {
		s.each = append(s.each, streamFigure{d(name, help, "view"), prometheus.GaugeValue, of})
	}
	count("epochs_total", "Steps of a streaming view from one state of its sources to the next.", func(f *stream.Figures) int64 { return f.Epochs.Load() })
	count("rows_in_total", "Changes of its sources that a streaming view took in.", func(f *stream.Figures) int64 { return f.RowsIn.Load() })
	count("rows_out_total", "Changes of the content of a streaming view.", func(f *stream.Figures) int64 { return f.RowsOut.Load() })
	count("publications_total", "Commits with changes of a streaming view.", func(f *stream.Figures) int64 { return f.Publications.Load() })
	count("healed_total", "Times that what another program wrote into a streaming view was taken back.", func(f *stream.Figures) int64 { return f.Healed.Load() })
	now("busy_seconds", "Time that the operators of a streaming view have worked.", func(f *stream.Figures) float64 { return time.Duration(f.Busy.Load()).Seconds() })
	now("rows", "Rows of a streaming view.", func(f *stream.Figures) float64 { return float64(f.Rows.Load()) })
	now("state_bytes", "Memory of the state of a streaming view.", func(f *stream.Figures) float64 { return float64(f.StateBytes.Load()) })
	now("publish_seconds", "How long the last publication of a streaming view took.", func(f *stream.Figures) float64 { return time.Duration(f.Publishing.Load()).Seconds() })
	now("checkpoint_seconds", "How long the last checkpoint of a streaming view took.", func(f *stream.Figures) float64 { return time.Duration(f.Checkpointed.Load()).Seconds() })
	now("checkpoint_age_seconds", "Age of the last checkpoint of a streaming view; 0 before the first.", func(f *stream.Figures) float64 {
		if f.SavedAt.Load() == 0 {
			return 0
		}
		return time.Since(time.UnixMicro(f.SavedAt.Load())).Seconds()
	})
	return s
}

// Describe lists what Collect gives.
func (s *streamFigures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.states, s.lag, s.late, s.subscribers} {
		ch <- d
	}
	for _, f := range s.each {
		ch <- f.desc
	}
}

// Collect asks the supervisor, and the catalog for what only that knows.
func (s *streamFigures) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(s.subscribers, prometheus.GaugeValue, float64(s.h.changes.Subscribers()))
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	set, records, err := s.h.views.Views(ctx)
	var now time.Time
	if err == nil {
		now, err = s.h.sink.Now(ctx)
	}
	if err != nil {
		slog.Warn("the figures of the streaming views cannot be read", "error", err)
		return
	}
	states := map[stream.State]int{}
	for _, v := range set.Views {
		st, here := s.h.streams.Status(v.UUID)
		if v.Kind != catalog.Streaming || !here {
			continue
		}
		name := v.Name().String()
		states[st.State]++
		ch <- prometheus.MustNewConstMetric(s.late, prometheus.CounterValue, float64(records[v.UUID].Late), name)
		if v.Published.Generation > 0 {
			if lag, err := set.Staleness(ctx, s.h.history, v, now); err == nil {
				ch <- prometheus.MustNewConstMetric(s.lag, prometheus.GaugeValue, lag.By.Seconds(), name)
			}
		}
		if st.Figures == nil {
			continue
		}
		for _, f := range s.each {
			ch <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value(st.Figures), name)
		}
	}
	for _, state := range []stream.State{
		stream.Starting, stream.Backfilling, stream.Running, stream.Paused, stream.Recovering, stream.SchemaBlocked, stream.PermissionBlocked,
		stream.ResourceBlocked, stream.Failed,
	} {
		ch <- prometheus.MustNewConstMetric(s.states, prometheus.GaugeValue, float64(states[state]), string(state))
	}
}
