package stream

import (
	"fmt"
	"runtime"
	"time"

	"github.com/vegadb/vega-flight/ivm/catalog"
)

// Options are those of a streaming view, with the defaults filled in.
type Options struct {
	BatchRows     int64         // changed rows of the sources in an epoch
	BatchBytes    int64         // likewise
	BatchLinger   time.Duration // how long an epoch waits for more, while a publication is on its way
	PublishBytes  int64         // of changes of the result that are published before the next epoch
	PublishLinger time.Duration // how long changes of the result wait for those of epochs that can be taken at once
	Checkpoint    time.Duration // between checkpoints
	Parallelism   int           // shards
	Tick          time.Duration // between steps of the clock
	Budget        int64         // bytes of state in memory; 0: the server's default
	MaxHold       time.Duration // of a paused view; 0: for ever
}

// optionsOf reads a view's options.
func optionsOf(v *catalog.View) Options {
	s := v.Def.Options.Stream
	o := Options{
		BatchRows: 8192, BatchBytes: 4 << 20, BatchLinger: 10 * time.Millisecond, PublishBytes: 4 << 20, PublishLinger: 10 * time.Millisecond,
		Checkpoint: 10 * time.Second, Parallelism: runtime.GOMAXPROCS(0), Tick: time.Second,
	}
	if x, ok := s.Get("source_batch_rows"); ok {
		o.BatchRows = x.Int
	}
	if x, ok := s.Get("source_batch_bytes"); ok {
		o.BatchBytes = x.Int
	}
	if x, ok := s.Get("source_batch_max_linger"); ok {
		o.BatchLinger = x.Duration
	}
	if x, ok := s.Get("publish_batch_bytes"); ok {
		o.PublishBytes = x.Int
	}
	if x, ok := s.Get("publish_max_linger"); ok {
		o.PublishLinger = x.Duration
	}
	if x, ok := s.Get("checkpoint_interval"); ok {
		o.Checkpoint = x.Duration
	}
	if x, ok := s.Get("parallelism"); ok {
		o.Parallelism = int(x.Int)
	}
	if x, ok := s.Get("temporal_tick"); ok {
		o.Tick = x.Duration
	}
	if x, ok := s.Get("memory_budget"); ok {
		o.Budget = x.Int
	}
	if x, ok := s.Get("max_hold"); ok {
		o.MaxHold = x.Duration
	}
	return o
}

// optionsText is equal for equal options; those of watermarks are part of the plan, which is made with them.
func optionsText(v *catalog.View) string {
	column, _ := v.Def.Options.Stream.Get("watermark_column")
	delay, _ := v.Def.Options.Stream.Get("watermark_delay")
	return fmt.Sprintf("%+v %q %s", optionsOf(v), column.Text, delay.Duration)
}
