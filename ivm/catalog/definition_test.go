package catalog

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/ddl"
)

func of[T any](v T) *T { return &v }

func TestDefinitionText(t *testing.T) {
	d := Definition{
		Kind: Traditional, Query: `SELECT a < 'ü & "x"' FROM lake.main.t`, TimeZone: "Europe/Berlin", Consistent: true,
		Options: Options{RefreshCron: "*/15 * * * *", RefreshTimezone: "UTC", MaxStaleness: of(90 * time.Minute)},
		Pinned:  []Pinned{{Type: "view", Name: "lake.main.w", SQL: "SELECT 1"}},
	}
	want := `{"kind":"query","format":1,"query":"SELECT a < 'ü & \"x\"' FROM lake.main.t",` +
		`"vega":{"mode":"traditional","time_zone":"Europe/Berlin","consistent":true,` +
		`"options":{"refresh_cron":"*/15 * * * *","refresh_timezone":"UTC","max_staleness":"1 hour 30 minutes"},` +
		`"pinned":[{"type":"view","name":"lake.main.w","sql":"SELECT 1"}]}}`
	if got := d.Encode(); got != want {
		t.Errorf("the durable format changed:\n%s\nwant\n%s", got, want)
	}
	for _, d := range []Definition{d, {Kind: Traditional, Query: "SELECT 1"},
		{Kind: Traditional, Query: "SELECT 1", Options: Options{RefreshInterval: of(time.Duration(0))}}} {
		got, err := Decode(d.Encode())
		if err != nil || !reflect.DeepEqual(got, d) {
			t.Errorf("%s decodes to %+v, %v", d.Encode(), got, err)
		}
		if !LooksLikeDefinition(d.Encode()) {
			t.Errorf("%s does not look like a definition", d.Encode())
		}
	}
}

func TestStreamingDefinitionText(t *testing.T) {
	o, err := Options{}.Set(streamOptions(t, "parallelism = 4, max_staleness = '1 minute', initial_mode = 'future', wait_for_ready = true, "+
		"on_error = 'fail', source_batch_bytes = '1 MiB', watermark_column = 'at', watermark_delay = '5s'"))
	if err != nil {
		t.Fatal(err)
	}
	d := Definition{Kind: Streaming, Query: "SELECT 1", TimeZone: "UTC", Consistent: true, Options: o}
	want := `{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"streaming","time_zone":"UTC","consistent":true,` +
		`"options":{"source_batch_bytes":"1 MiB","on_error":"fail","parallelism":"4","watermark_column":"at","watermark_delay":"5 seconds","max_staleness":"1 minute"}}}`
	if got := d.Encode(); got != want {
		t.Errorf("the durable format changed:\n%s\nwant\n%s", got, want)
	}
	got, err := Decode(d.Encode())
	if err != nil || !reflect.DeepEqual(got, d) {
		t.Errorf("%s decodes to %+v, %v", d.Encode(), got, err)
	}
	if got := o.Reset([]string{"parallelism", "source_batch_bytes", "on_error", "watermark_column", "watermark_delay"}); got.Stream != nil || got.MaxStaleness == nil {
		t.Errorf("after RESET: %+v", got)
	}
	if len(o.Stream) != 5 {
		t.Errorf("RESET changed the options before it: %+v", o.Stream)
	}
	if got := o.Reset([]string{"watermark_column"}); len(got.Stream) != 3 {
		t.Errorf("a delay without a watermark is left: %+v", got.Stream)
	}
	if _, err := (Options{}).Set(streamOptions(t, "watermark_delay = '5s'")); fault.CodeOf(err) != fault.InvalidOption {
		t.Errorf("a delay without a watermark: %v", err)
	}
	if d, err := Decode(`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"streaming","options":{"watermark_delay":"5 seconds"}}}`); err != nil || len(d.Options.Stream) != 1 {
		t.Errorf("one that was stored: %+v, %v", d, err)
	}
	o, err = o.Set(streamOptions(t, "parallelism = 8"))
	if v, _ := o.Stream.Get("parallelism"); err != nil || v.Int != 8 || len(o.Stream) != 5 {
		t.Errorf("after SET: %+v, %v", o.Stream, err)
	}
}

func streamOptions(t *testing.T, with string) ddl.Options {
	t.Helper()
	items, err := ddl.Parse("CREATE STREAMING MATERIALIZED VIEW v WITH (" + with + ") AS SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	return items[0].Stmt.(*ddl.CreateView).Options
}

func TestDecodeForeign(t *testing.T) {
	for _, c := range []struct {
		text string
		want *fault.Code // nil: it decodes
	}{
		{`{"kind":"query","format":1,"query":"SELECT 1"}`, nil},
		{`{"kind":"query","format":1,"query":"SELECT 1","author":"somebody"}`, nil},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"traditional","consistent":false,"options":{}}}`, nil},
		{`{"kind":"query","format":2,"query":"SELECT 1"}`, fault.DefinitionTooNew},
		{`{"kind":"query","format":2}`, fault.DefinitionTooNew},
		{`{"kind":"select_v3","format":1,"query":"SELECT 1"}`, fault.DefinitionTooNew},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"streaming","consistent":false,"options":{}}}`, nil},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"streaming","options":{"parallelism":"4","source_batch_bytes":"1 MiB"}}}`, nil},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"replicating","consistent":false,"options":{}}}`, fault.DefinitionTooNew},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"streaming","options":{"refresh_interval":"5 seconds"}}}`, fault.DefinitionTooNew},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"traditional","options":{"parallelism":"4"}}}`, fault.DefinitionTooNew},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"streaming","options":{"parallelism":"0"}}}`, fault.DefinitionInvalid},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"streaming","options":{"wait_for_ready":"true"}}}`, fault.DefinitionTooNew},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"streaming","options":{"initial_mode":"future"}}}`, fault.DefinitionTooNew},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"traditional","sharding":{"n":3}}}`, fault.DefinitionTooNew},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"traditional","options":{"colour":"blue"}}}`, fault.DefinitionTooNew},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"traditional","options":{"wait":"true"}}}`, fault.DefinitionTooNew},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"traditional","options":{"max_staleness":"blue"}}}`, fault.DefinitionInvalid},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"traditional","options":{"refresh_timezone":"UTC"}}}`, fault.DefinitionInvalid},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"traditional","options":{"refresh_cron":"@daily","refresh_interval":"5 seconds"}}}`, fault.DefinitionInvalid},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"traditional","options":[]}}`, fault.DefinitionInvalid},
		{`{"kind":"query","format":1,"query":"SELECT 1","vega":7}`, fault.DefinitionInvalid},
		{`{"kind":"query","format":1,"query":""}`, fault.DefinitionInvalid},
		{`{"kind":"query","format":1}`, fault.DefinitionInvalid},
		{`{"kind":"query","format":0,"query":"SELECT 1"}`, fault.DefinitionInvalid},
		{`{"kind":"query","query":"SELECT 1"}`, fault.DefinitionInvalid},
		{`{"kind":"query","format":"1","query":"SELECT 1"}`, fault.DefinitionInvalid},
		{`[]`, fault.DefinitionInvalid},
		{`SELECT 1`, fault.DefinitionInvalid},
		{``, fault.DefinitionInvalid},
		{"{\"kind\":\"query\",\"format\":1,\"query\":\"\x00", fault.DefinitionInvalid},
	} {
		if _, err := Decode(c.text); fault.CodeOf(err) != c.want {
			t.Errorf("%s: %v", c.text, err)
		}
	}
	for _, comment := range []string{"", "total sales", "{}", `{"kind":"query"}`, `{"kind":"query","format":1}`, "{broken", `{"format":1,"query":"x"}`} {
		if LooksLikeDefinition(comment) {
			t.Errorf("%q looks like a definition", comment)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"kind":"query","format":1,"query":"SELECT 1","vega":{"mode":"traditional","options":{"max_staleness":"1 hour"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Decode(text)
		if err != nil {
			if c := fault.CodeOf(err); c != fault.DefinitionInvalid && c != fault.DefinitionTooNew {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := Decode(d.Encode())
		if err != nil || again.Encode() != d.Encode() {
			t.Fatalf("%q: %+v becomes %+v, %v", text, d, again, err)
		}
	})
}

func options(t *testing.T, with string) ddl.Options {
	t.Helper()
	items, err := ddl.Parse("CREATE MATERIALIZED VIEW v WITH (" + with + ") AS SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	return items[0].Stmt.(*ddl.CreateView).Options
}

func TestOptionsFollowStatements(t *testing.T) {
	o, err := Options{}.Set(options(t, "refresh_interval = '15 minutes', max_staleness = '1 hour', wait = false"))
	check := func(want string) {
		t.Helper()
		if err != nil || o.List().String() != want {
			t.Fatalf("%s, %v; want %s", o.List(), err, want)
		}
	}
	check("refresh_interval = INTERVAL '15 minutes', max_staleness = INTERVAL '1 hour'")
	// The manual's own example: a cron expression for a view that had an interval.
	o, err = o.Set(options(t, "refresh_cron = '0 */15 * * *', refresh_timezone = 'UTC'"))
	check("refresh_cron = '0 */15 * * *', refresh_timezone = 'UTC', max_staleness = INTERVAL '1 hour'")
	o = o.Reset([]string{"max_staleness"})
	check("refresh_cron = '0 */15 * * *', refresh_timezone = 'UTC'")
	o, err = o.Set(options(t, "refresh_cron = '@daily'"))
	check("refresh_cron = '@daily', refresh_timezone = 'UTC'")
	o, err = o.Set(options(t, "refresh_interval = '0s'"))
	check("refresh_interval = INTERVAL '0 seconds'")
	o = o.Reset([]string{"refresh_interval", "refresh_timezone"})
	check("")
	o, err = o.Set(options(t, "refresh_cron = '@daily', refresh_timezone = 'Asia/Tokyo'"))
	check("refresh_cron = '@daily', refresh_timezone = 'Asia/Tokyo'")
	o = o.Reset([]string{"refresh_cron"})
	check("")
	if _, err = o.Set(options(t, "refresh_timezone = 'UTC'")); !errors.Is(err, fault.InvalidOption.Sentinel()) || !strings.Contains(err.Error(), "refresh_timezone") {
		t.Errorf("a time zone without a cron expression: %v", err)
	}
}
