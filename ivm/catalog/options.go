package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/ddl"
)

// Options are the options stored with a view.
type Options struct {
	RefreshInterval *time.Duration // nil: no interval; 0: after every source commit
	RefreshCron     string         // "": no cron
	RefreshTimezone string         // "": UTC; only with RefreshCron
	MaxStaleness    *time.Duration // nil: any
	// Stream are those of a streaming view that were given, by name; max_staleness is not among them.
	Stream ddl.Options
}

// Set gives the options after SET (or the WITH of a CREATE, on the zero
// Options). An interval takes the place of a cron expression and the other way
// round; options that are not stored are passed over.
func (o Options) Set(given ddl.Options) (Options, error) {
	o, err := o.set(given)
	if err != nil {
		return o, err
	}
	if opt, ok := find(given, "watermark_delay"); ok {
		if _, ok := o.Stream.Get("watermark_column"); !ok {
			return o, fault.InvalidOption.Newf("option watermark_delay says how far behind watermark_column a watermark is, and there is no watermark_column").At(opt.Offset).
				WithHint("set watermark_column too")
		}
	}
	return o, nil
}

// set is Set for options that were stored, too.
func (o Options) set(given ddl.Options) (Options, error) {
	for _, opt := range given {
		v := opt.Value
		switch opt.Name {
		case "refresh_interval":
			d := v.Duration
			o.RefreshInterval, o.RefreshCron, o.RefreshTimezone = &d, "", ""
		case "refresh_cron":
			o.RefreshInterval, o.RefreshCron = nil, v.Text
		case "refresh_timezone":
			o.RefreshTimezone = v.Text
		case "max_staleness":
			d := v.Duration
			o.MaxStaleness = &d
		default:
			if _, ok := streamOption(opt.Name); ok {
				o.Stream = streamed(o.Stream, opt.Name, v)
			}
		}
	}
	if o.RefreshTimezone != "" && o.RefreshCron == "" {
		pos := fault.NoPosition
		if opt, ok := find(given, "refresh_timezone"); ok {
			pos = opt.Offset
		}
		return o, fault.InvalidOption.Newf("option refresh_timezone says when refresh_cron is due, and there is no refresh_cron").At(pos).
			WithHint("set refresh_cron too")
	}
	return o, nil
}

func find(given ddl.Options, name string) (ddl.Option, bool) {
	i := slices.IndexFunc(given, func(opt ddl.Option) bool { return opt.Name == name })
	if i < 0 {
		return ddl.Option{}, false
	}
	return given[i], true
}

// Reset gives the options after RESET. Without a cron expression there is no time zone, and without a watermark no delay.
func (o Options) Reset(names []string) Options {
	for _, name := range names {
		switch name {
		case "refresh_interval":
			o.RefreshInterval = nil
		case "refresh_cron":
			o.RefreshCron, o.RefreshTimezone = "", ""
		case "refresh_timezone":
			o.RefreshTimezone = ""
		case "max_staleness":
			o.MaxStaleness = nil
		default:
			o.Stream = slices.DeleteFunc(slices.Clone(o.Stream), func(opt ddl.Option) bool {
				return opt.Name == name || name == "watermark_column" && opt.Name == "watermark_delay"
			})
			if len(o.Stream) == 0 {
				o.Stream = nil
			}
		}
	}
	return o
}

// streamOption is an option that streaming views alone have and keep. How the first generation begins is no part of the definition: the
// view's control row says how the wanted one does.
func streamOption(name string) (ddl.OptionSpec, bool) {
	spec, ok := ddl.LookupOption(ddl.StreamingOptions, name)
	return spec, ok && spec.Stored && spec.Name == name && name != "max_staleness" && name != "initial_mode"
}

// streamed gives the options with another value of one, in the order in which they are documented.
func streamed(o ddl.Options, name string, v ddl.Value) ddl.Options {
	var out ddl.Options
	for _, spec := range ddl.StreamingOptions {
		if spec.Name == name {
			out = append(out, ddl.Option{Name: name, Value: v})
		} else if old, ok := o.Get(spec.Name); ok {
			out = append(out, ddl.Option{Name: spec.Name, Value: old})
		}
	}
	return out
}

// List gives the options that are set, as they would be written in SQL.
func (o Options) List() ddl.Options {
	var out ddl.Options
	duration := func(name string, d *time.Duration) {
		if d != nil {
			out = append(out, ddl.Option{Name: name, Value: ddl.Value{Kind: ddl.Duration, Duration: *d}})
		}
	}
	text := func(name, s string) {
		if s != "" {
			out = append(out, ddl.Option{Name: name, Value: ddl.Value{Kind: ddl.Text, Text: s}})
		}
	}
	duration("refresh_interval", o.RefreshInterval)
	text("refresh_cron", o.RefreshCron)
	text("refresh_timezone", o.RefreshTimezone)
	out = append(out, o.Stream...)
	duration("max_staleness", o.MaxStaleness)
	return out
}

// MarshalJSON writes an object of texts in the order of List.
func (o Options) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, opt := range o.List() {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(opt.Value.Plain())
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", opt.Name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. An option this server does not know was written by a newer one.
func (o *Options) UnmarshalJSON(text []byte) error {
	var texts map[string]string
	if err := json.Unmarshal(text, &texts); err != nil {
		return fault.DefinitionInvalid.Wrap(err, "the stored options")
	}
	var given ddl.Options
	for name, text := range texts {
		spec, ok := streamOption(name)
		if !ok {
			spec, ok = ddl.LookupOption(ddl.ViewOptions, name)
		}
		if !ok || !spec.Stored || spec.Name != name {
			return fault.DefinitionTooNew.Newf("the definition has the option %q, which this server does not know", name)
		}
		v, err := spec.Parse(text)
		if err != nil {
			return fault.DefinitionInvalid.Wrap(err, "the stored options")
		}
		given = append(given, ddl.Option{Name: name, Value: v, Offset: fault.NoPosition})
	}
	if texts["refresh_interval"] != "" && texts["refresh_cron"] != "" {
		return fault.DefinitionInvalid.Newf("the stored options have both refresh_interval and refresh_cron")
	}
	set, err := Options{}.set(given)
	if err != nil {
		return fault.DefinitionInvalid.Wrap(err, "the stored options")
	}
	*o = set
	return nil
}
