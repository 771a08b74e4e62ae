package ducklake

import (
	"context"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// The values of vega.isolation.
const (
	isolationNewest   = "newest"   // before its first write, each statement of a transaction sees the newest commit
	isolationSnapshot = "snapshot" // all statements of a transaction see what its first one saw
)

// options are a session's settings.
type options struct {
	settings    ConnSettings
	acceptStale bool
	isolation   string
	timeout     time.Duration
}

// optionNames are the settings a session has, as users write them.
var optionNames = []string{"catalog", "schema", "search_path", "TimeZone", "vega.accept_stale", "vega.isolation", "vega.statement_timeout"}

// Settings are the session's settings that connections get.
func (s *Session) Settings() ConnSettings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.settings
}

// Options are all settings by name.
func (s *Session) Options() map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.options
	return map[string]any{
		"catalog":                o.settings.Catalog,
		"schema":                 o.settings.Schema,
		"search_path":            o.settings.Schema,
		"TimeZone":               o.settings.TimeZone,
		"vega.accept_stale":      o.acceptStale,
		"vega.isolation":         o.isolation,
		"vega.statement_timeout": o.timeout.String(),
	}
}

// SetOption changes a setting; nil is its default. Unknown names are fault.UnknownOption, wrong values
// fault.InvalidOption.
func (s *Session) SetOption(ctx context.Context, name string, value any) error {
	defaults := s.lake.complete(s.config.Settings)
	switch strings.ToLower(name) {
	case "catalog":
		text, err := textOption(name, value, defaults.Catalog)
		if err != nil {
			return err
		}
		if !strings.EqualFold(text, s.lake.config.Name) {
			return fault.InvalidOption.Newf("catalog can only be %q, the lake of this server", s.lake.config.Name)
		}
		return nil
	case "schema", "search_path":
		text, err := textOption(name, value, defaults.Schema)
		if err != nil {
			return err
		}
		return s.setSchema(ctx, name, text)
	case "timezone":
		text, err := textOption(name, value, defaults.TimeZone)
		if err != nil {
			return err
		}
		return s.setTimeZone(ctx, text)
	case "vega.accept_stale":
		accept, err := boolOption(name, value)
		if err != nil {
			return err
		}
		s.set(func(o *options) { o.acceptStale = accept })
		return nil
	case "vega.isolation":
		text, err := textOption(name, value, isolationNewest)
		if err != nil {
			return err
		}
		text = strings.ToLower(text)
		if text != isolationNewest && text != isolationSnapshot {
			return fault.InvalidOption.Newf("vega.isolation can be 'newest' or 'snapshot', not %q", text)
		}
		s.set(func(o *options) { o.isolation = text })
		return nil
	case "vega.statement_timeout":
		limit, err := durationOption(name, value)
		if err != nil {
			return err
		}
		s.set(func(o *options) { o.timeout = limit })
		return nil
	}
	return fault.UnknownOption.Newf("there is no session option %q", name).WithHint("there are %s", strings.Join(optionNames, ", "))
}

// Use makes a schema of the lake the search path.
func (s *Session) Use(ctx context.Context, catalog, schema string) error {
	if catalog != "" && !strings.EqualFold(catalog, s.lake.config.Name) {
		return fault.InvalidOption.Newf("only schemas of %q can be used", s.lake.config.Name)
	}
	return s.setSchema(ctx, "schema", metadata.QuoteIdent(schema))
}

func (s *Session) set(change func(*options)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.options)
}

// setSchema takes a name, quoted or not, with or without the lake's.
func (s *Session) setSchema(ctx context.Context, option, text string) error {
	parts, ok := splitName(text)
	if ok && len(parts) == 2 && strings.EqualFold(parts[0], s.lake.config.Name) {
		parts = parts[1:]
	}
	if !ok || len(parts) != 1 {
		return fault.InvalidOption.Newf("%s must be one schema of %q, not %q", option, s.lake.config.Name, text)
	}
	found := ""
	err := s.lake.store.View(ctx, func(tx metadata.Tx) (err error) {
		found, err = metadata.SchemaName(ctx, tx, parts[0])
		return err
	})
	if err != nil {
		return err
	}
	if found == "" {
		return fault.ObjectNotFound.Newf("the schema %s does not exist", metadata.QuoteIdent(parts[0]))
	}
	s.set(func(o *options) { o.settings.Schema = found })
	return nil
}

func (s *Session) setTimeZone(ctx context.Context, zone string) error {
	want := s.Settings()
	want.TimeZone = zone
	// DuckDB knows which names there are. The attempt needs a connection that no schema change can have broken.
	c, err := s.lake.pool.take(ctx, s.lake.complete(ConnSettings{TimeZone: zone}))
	if err != nil {
		return fault.InvalidOption.Newf("%q is no time zone", zone).WithHint("use a name such as 'Europe/Berlin'")
	}
	s.lake.pool.give(c)
	s.set(func(o *options) { o.settings.TimeZone = zone })
	return nil
}

func textOption(name string, value any, unset string) (string, error) {
	switch v := value.(type) {
	case nil:
		return unset, nil
	case string:
		return v, nil
	case []string:
		if len(v) == 1 {
			return v[0], nil
		}
	}
	return "", fault.InvalidOption.Newf("%s must be a text, not %v", name, value)
}

func boolOption(name string, value any) (bool, error) {
	switch v := value.(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	case int64:
		if v == 0 || v == 1 {
			return v == 1, nil
		}
	case string:
		switch strings.ToLower(v) {
		case "true", "on", "1", "yes":
			return true, nil
		case "false", "off", "0", "no":
			return false, nil
		}
	}
	return false, fault.InvalidOption.Newf("%s must be true or false, not %v", name, value)
}

func durationOption(name string, value any) (time.Duration, error) {
	var d time.Duration
	switch v := value.(type) {
	case nil:
		return 0, nil
	case int64:
		d = time.Duration(v) * time.Millisecond
	case string:
		parsed, err := time.ParseDuration(strings.ReplaceAll(v, " ", ""))
		if v != "0" && err != nil {
			return 0, fault.InvalidOption.Newf("%s must be a duration such as '30s' or '5m', not %q", name, v)
		}
		d = parsed
	default:
		return 0, fault.InvalidOption.Newf("%s must be a duration such as '30s', or milliseconds, not %v", name, value)
	}
	if d < 0 {
		return 0, fault.InvalidOption.Newf("%s cannot be negative", name)
	}
	return d, nil
}

// splitName takes a dotted name with SQL quoting apart.
func splitName(text string) (parts []string, ok bool) {
	text = strings.TrimSpace(text)
	for text != "" {
		var part string
		if text[0] == '"' {
			var b strings.Builder
			i := 1
			for ; ; i++ {
				if i >= len(text) {
					return nil, false
				}
				if text[i] == '"' {
					if i+1 < len(text) && text[i+1] == '"' {
						i++
					} else {
						break
					}
				}
				b.WriteByte(text[i])
			}
			part, text = b.String(), text[i+1:]
		} else {
			end := strings.IndexByte(text, '.')
			if end < 0 {
				end = len(text)
			}
			part, text = text[:end], text[end:]
		}
		if part == "" {
			return nil, false
		}
		parts = append(parts, part)
		if text == "" {
			return parts, true
		}
		if text[0] != '.' || len(text) == 1 {
			return nil, false
		}
		text = text[1:]
	}
	return nil, false
}
