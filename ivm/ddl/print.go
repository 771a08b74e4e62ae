package ddl

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

func viewWords(streaming bool) string {
	if streaming {
		return "STREAMING MATERIALIZED VIEW"
	}
	return "MATERIALIZED VIEW"
}

// Verb names the statement.
func (s *CreateView) Verb() string {
	if s.Replace {
		return "CREATE OR REPLACE " + viewWords(s.Streaming)
	}
	return "CREATE " + viewWords(s.Streaming)
}

// Verb names the statement.
func (s *Refresh) Verb() string { return "REFRESH MATERIALIZED VIEW" }

// Verb names the statement.
func (s *AlterSet) Verb() string { return "ALTER " + viewWords(s.Streaming) }

// Verb names the statement.
func (s *AlterReset) Verb() string { return "ALTER " + viewWords(s.Streaming) }

// Verb names the statement.
func (s *AlterRename) Verb() string { return "ALTER " + viewWords(s.Streaming) }

// Verb names the statement.
func (s *AlterOwner) Verb() string { return "ALTER " + viewWords(s.Streaming) }

// Verb names the statement.
func (s *AlterRun) Verb() string { return "ALTER STREAMING MATERIALIZED VIEW" }

// Verb names the statement.
func (s *Rebuild) Verb() string { return "ALTER STREAMING MATERIALIZED VIEW" }

// Verb names the statement.
func (s *DropView) Verb() string { return "DROP " + viewWords(s.Streaming) }

// Verb names the statement.
func (s *ShowViews) Verb() string { return "SHOW " + viewWords(s.Streaming) + "S" }

// Verb names the statement.
func (s *ShowView) Verb() string { return "SHOW " + viewWords(s.Streaming) }

// Verb names the statement.
func (s *ShowCreate) Verb() string { return "SHOW CREATE " + viewWords(s.Streaming) }

// Verb names the statement.
func (s *ExplainStreaming) Verb() string { return "EXPLAIN STREAMING" }

// Verb names the statement.
func (s *ExplainAnalyze) Verb() string { return "EXPLAIN STREAMING ANALYZE" }

// Verb names the statement.
func (s *Subscribe) Verb() string { return "SUBSCRIBE" }

// Verb names the statement.
func (s *ShowJobs) Verb() string { return "SHOW JOBS" }

// Verb names the statement.
func (s *ShowJob) Verb() string { return "SHOW JOB" }

// Verb names the statement.
func (s *CancelJob) Verb() string { return "CANCEL JOB" }

// Verb names the statement.
func (s *SetVega) Verb() string { return "SET" }

// Verb names the statement.
func (s *ResetVega) Verb() string { return "RESET" }

// Verb names the statement.
func (s *ShowSettings) Verb() string { return "SHOW" }

func (s *CreateView) String() string {
	var b strings.Builder
	b.WriteString(s.Verb())
	if s.IfNotExists {
		b.WriteString(" IF NOT EXISTS")
	}
	b.WriteString(" " + s.Name.String())
	if s.Columns != nil {
		b.WriteString(" (" + identList(s.Columns) + ")")
	}
	b.WriteString(with(s.Options))
	b.WriteString(" AS " + s.Query)
	switch {
	case s.NoData:
		b.WriteString(" WITH NO DATA")
	case !s.Streaming:
		b.WriteString(" WITH DATA")
	}
	return b.String()
}

func (s *Refresh) String() string { return s.Verb() + " " + s.Name.String() + with(s.Options) }

func (s *AlterSet) String() string {
	return s.Verb() + " " + s.Name.String() + " SET (" + s.Options.String() + ")"
}

func (s *AlterReset) String() string {
	return s.Verb() + " " + s.Name.String() + " RESET (" + identList(s.Names) + ")"
}

func (s *AlterRename) String() string {
	return s.Verb() + " " + s.Name.String() + " RENAME TO " + QuoteIdent(s.NewName)
}

func (s *AlterOwner) String() string {
	return s.Verb() + " " + s.Name.String() + " OWNER TO " + QuoteIdent(s.Owner)
}

func (s *AlterRun) String() string {
	return s.Verb() + " " + s.Name.String() + " " + string(s.Action)
}

func (s *Rebuild) String() string {
	return s.Verb() + " " + s.Name.String() + " REBUILD" + with(s.Options)
}

func (s *DropView) String() string {
	t := s.Verb()
	if s.IfExists {
		t += " IF EXISTS"
	}
	t += " " + s.Name.String()
	if s.Cascade {
		t += " CASCADE"
	}
	return t
}

func (s *ShowViews) String() string {
	if s.In != nil {
		return s.Verb() + " IN " + s.In.String()
	}
	return s.Verb()
}

func (s *ShowView) String() string { return s.Verb() + " " + s.Name.String() }

func (s *ShowCreate) String() string { return s.Verb() + " " + s.Name.String() }

func (s *ExplainStreaming) String() string {
	if s.Format != ExplainRows {
		return s.Verb() + " (FORMAT " + string(s.Format) + ") " + s.Query
	}
	return s.Verb() + " " + s.Query
}

func (s *ExplainAnalyze) String() string { return s.Verb() + " " + s.Name.String() }

func (s *Subscribe) String() string { return "SUBSCRIBE TO " + s.Name.String() + with(s.Options) }

func (s *ShowJobs) String() string {
	t := s.Verb()
	if s.View != nil {
		t += " FOR MATERIALIZED VIEW " + s.View.String()
	}
	return t + " LIMIT " + strconv.FormatInt(s.Limit, 10)
}

func (s *ShowJob) String() string { return s.Verb() + " " + QuoteString(s.ID) + with(s.Options) }

func (s *CancelJob) String() string { return s.Verb() + " " + QuoteString(s.ID) }

func (s *SetVega) String() string { return "SET vega." + s.Setting + " = " + s.Value.String() }

func (s *ResetVega) String() string { return "RESET vega." + s.Setting }

func (s *ShowSettings) String() string {
	if s.Setting != "" {
		return "SHOW vega." + s.Setting
	}
	return "SHOW vega.settings"
}

func with(o Options) string {
	if len(o) == 0 {
		return ""
	}
	return " WITH (" + o.String() + ")"
}

// String prints the options as they stand between the parentheses.
func (o Options) String() string {
	parts := make([]string, len(o))
	for i, opt := range o {
		parts[i] = opt.Name + " = " + opt.Value.String()
	}
	return strings.Join(parts, ", ")
}

// String prints the value as a SQL literal.
func (v Value) String() string {
	switch v.Kind {
	case Bool:
		return strconv.FormatBool(v.Bool)
	case Int, Bytes:
		if v.Kind == Bytes {
			return QuoteString(FormatBytes(v.Int))
		}
		return strconv.FormatInt(v.Int, 10)
	case Text:
		return QuoteString(v.Text)
	case Duration:
		return "INTERVAL " + QuoteString(FormatDuration(v.Duration))
	}
	return fmt.Sprintf("<kind %d>", v.Kind)
}

// durationUnits from the largest; weeks are left out because few people think in them.
var durationUnits = []struct {
	size time.Duration
	name string
}{
	{24 * time.Hour, "day"},
	{time.Hour, "hour"},
	{time.Minute, "minute"},
	{time.Second, "second"},
	{time.Millisecond, "millisecond"},
	{time.Microsecond, "microsecond"},
}

// FormatDuration prints a duration as DuckDB reads an INTERVAL: '1 hour 30 minutes'.
func FormatDuration(d time.Duration) string {
	if d == 0 {
		return "0 seconds"
	}
	var parts []string
	for _, u := range durationUnits {
		if n := int64(d / u.size); n != 0 {
			d -= time.Duration(n) * u.size
			name := u.name
			if n != 1 {
				name += "s"
			}
			parts = append(parts, strconv.FormatInt(n, 10)+" "+name)
		}
	}
	return strings.Join(parts, " ")
}

// FormatBytes prints a size with the largest unit that divides it.
func FormatBytes(n int64) string {
	for i := len(byteUnits) - 1; i > 0; i-- {
		if u := byteUnits[i]; u.binary && n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " B"
}

func identList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = QuoteIdent(n)
	}
	return strings.Join(quoted, ", ")
}
