package ddl

import (
	"math"
	"strings"
	"time"
)

const (
	day = int64(24 * time.Hour)
	mib = int64(1) << 20
	gib = int64(1) << 30
)

var (
	maxStaleness = OptionSpec{Name: "max_staleness", Kind: Duration, Max: 3650 * day, Stored: true,
		Doc: "Reads are refused while the content is staler than this, unless the session accepts stale results."}
	initialMode = OptionSpec{Name: "initial_mode", Kind: Text, OneOf: []string{"backfill", "future"}, Default: "'backfill'", Stored: true,
		Doc: "Whether the view starts from the sources' present content, or empty with later changes only."}
	wait = OptionSpec{Name: "wait", Kind: Bool, Default: "true",
		Doc: "Whether the statement waits for its job; otherwise it returns the job's id at once."}
)

// ViewOptions are the options of a traditional view.
var ViewOptions = []OptionSpec{
	{Name: "refresh_interval", Kind: Duration, Max: 365 * day, Stored: true,
		Doc: "Refresh this long after the end of the last refresh; '0s' refreshes after every commit to a source. Excludes refresh_cron."},
	{Name: "refresh_cron", Kind: Text, Stored: true, text: "five fields (minute, hour, day of month, month, day of week) or @hourly, @daily, @weekly, @monthly, @yearly", check: checkCron,
		Doc: "Refresh whenever the expression is due. Excludes refresh_interval."},
	{Name: "refresh_timezone", Kind: Text, Default: "'UTC'", Stored: true, text: "an IANA time zone such as 'Europe/Berlin'", check: checkZone,
		Doc: "The time zone in which refresh_cron is read."},
	maxStaleness,
	wait,
}

// RefreshOptions are the options of REFRESH.
var RefreshOptions = []OptionSpec{
	wait,
	{Name: "full", Kind: Bool, Default: "false",
		Doc: "Whether to rebuild even when no source changed."},
	{Name: "source_version", Kind: Int, Max: math.MaxInt64,
		Doc: "The lake snapshot to refresh from instead of the newest; it may be older than the present content."},
}

// JobOptions are the options of SHOW JOB.
var JobOptions = []OptionSpec{
	{Name: "wait", Kind: Bool, Default: "false",
		Doc: "Whether to answer when the job has ended. Giving the statement up ends the waiting only."},
}

// StreamingOptions are the options of a streaming view.
var StreamingOptions = []OptionSpec{
	initialMode,
	{Name: "source_batch_rows", Kind: Int, Min: 1, Max: 10_000_000, Default: "8192", Stored: true,
		Doc: "Changed rows that one step of the view takes at most; a commit that has more is taken whole."},
	{Name: "source_batch_bytes", Kind: Bytes, Min: 1 << 10, Max: gib, Default: "'4 MiB'", Stored: true,
		Doc: "Bytes of changed rows that one step of the view takes at most; a commit that has more is taken whole."},
	{Name: "source_batch_max_linger", Kind: Duration, Max: int64(time.Minute), Default: "INTERVAL '10 milliseconds'", Stored: true,
		Doc: "How long source changes wait for more, to be taken in one step, while a publication is on its way."},
	{Name: "publish_batch_bytes", Kind: Bytes, Min: 1 << 10, Max: gib, Default: "'4 MiB'", Stored: true,
		Doc: "Bytes of changes of the result from which on they are published before anything else is taken."},
	{Name: "publish_max_linger", Kind: Duration, Max: int64(time.Minute), Default: "INTERVAL '10 milliseconds'", Stored: true,
		Doc: "How long changes of the result wait to be published with those of source changes that are there already."},
	{Name: "checkpoint_interval", Kind: Duration, Min: int64(100 * time.Millisecond), Max: int64(time.Hour), Default: "INTERVAL '10 seconds'", Stored: true,
		Doc: "How often operator state is made durable."},
	{Name: "on_error", Kind: Text, OneOf: []string{"fail"}, Default: "'fail'", Stored: true,
		Doc: "What an erroring row does to the view."},
	{Name: "parallelism", Kind: Int, Min: 1, Max: 256, Stored: true,
		Doc: "Number of shards that operators run in; by default the number of cores."},
	maxStaleness,
	{Name: "wait_for_ready", Kind: Bool, Default: "false",
		Doc: "Whether CREATE waits until the view can be read."},
	{Name: "watermark_column", Kind: Text, Stored: true, text: "a column or table.column; several are divided by commas", check: nonEmpty,
		Doc: "The source columns that carry event time. Rows that come behind the watermark are dropped and counted in late_rows, so that the view is not the plain query then."},
	{Name: "watermark_delay", Kind: Duration, Max: 365 * day, Default: "INTERVAL '0 seconds'", Stored: true,
		Doc: "How far the watermark stays behind the newest event time, where watermark_column does not say."},
	{Name: "temporal_tick", Kind: Duration, Min: int64(10 * time.Millisecond), Max: int64(time.Hour), Default: "INTERVAL '1 second'", Stored: true,
		Doc: "How often the clock of a query with now() advances."},
	{Name: "memory_budget", Kind: Bytes, Min: 16 * mib, Max: 1 << 44, Stored: true,
		Doc: "Memory for the view's state; larger state is kept on disk."},
	{Name: "max_hold", Kind: Duration, Min: int64(time.Minute), Max: 365 * day, Stored: true,
		Doc: "How long a paused view keeps the lake's history from expiring."},
}

// RebuildOptions are the options of REBUILD.
var RebuildOptions = []OptionSpec{initialMode}

// SubscribeOptions are the options of SUBSCRIBE.
var SubscribeOptions = []OptionSpec{
	{Name: "snapshot", Kind: Bool, Default: "true", Doc: "Whether the present content comes first."},
	{Name: "progress", Kind: Bool, Default: "false", Doc: "Whether rows that only report progress are sent."},
	{Name: "mode", Kind: Text, OneOf: []string{"retract", "upsert"}, Default: "'retract'", Doc: "How changed rows are told."},
	{Name: "as_of", Kind: Int, Max: math.MaxInt64, Doc: "The lake snapshot that the subscriber has applied; what came later is sent."},
	{Name: "up_to", Kind: Int, Max: math.MaxInt64, Doc: "The lake snapshot after which the subscription ends."},
}

// Settings are the session settings vega.*.
var Settings = []OptionSpec{
	{Name: "accept_stale", Kind: Bool, Default: "false",
		Doc: "Read views beyond their max_staleness; only users with the property may_accept_stale may set it."},
	{Name: "isolation", Kind: Text, OneOf: []string{"newest", "snapshot"}, Default: "'newest'",
		Doc: "Whether each read of a transaction that has not written sees the newest commit, or all see what the first one saw."},
	{Name: "statement_timeout", Kind: Duration, Max: 365 * day, Default: "INTERVAL '0 seconds'",
		Doc: "How long a statement may run; 0 is as long as the server allows."},
}

func nonEmpty(text string) string {
	if strings.TrimSpace(text) == "" {
		return "is empty"
	}
	return ""
}

// LookupOption returns the option of that name, in any case of letters.
func LookupOption(specs []OptionSpec, name string) (OptionSpec, bool) {
	if s := find(specs, name); s != nil {
		return *s, true
	}
	return OptionSpec{}, false
}
